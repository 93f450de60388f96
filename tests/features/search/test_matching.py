"""Edited and deleted posts are found when they are asked for; results come in the order that is chosen."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.domain.search.query import SearchOrder
from telegram_assistant.errors import Rejected
from telegram_assistant.features.search.results import SearchPage
from telegram_assistant.features.search.search import search
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.posts.posts import Derived
from telegram_assistant.stores.postgres.stores import SystemStores, tenant_stores
from testkit.factories import (
    follow_long_ago,
    make_channel,
    make_deleted,
    make_page,
    make_post,
    make_subscription,
    make_tenant,
)
from tests.conftest import Admin

START = datetime(2026, 11, 10, tzinfo=UTC)
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


class Reader:
    """A tenant with a channel that it has followed since January."""

    def __init__(self, system: SystemStores, pool: Pool, tenant_id: TenantId, channel_id: ChannelId) -> None:
        self.system, self.tenant_id, self.channel_id = system, tenant_id, channel_id
        self.stores = tenant_stores(pool, tenant_id)

    async def reads(self, message_id: int, text: str, *, at: datetime, posted_at: datetime = START) -> None:
        """A post, or its edit, as it was read at that moment."""
        post = make_post(
            channel_id=self.channel_id, message_id=message_id, text=text, posted_at=posted_at, edited_at=at
        )
        await self.system.landing.land(make_page(post, read_at=at), Claim(self.channel_id, 0))
        revision = await self.system.posts.load([post.id])
        await self.system.posts.save_derived([Derived(post, revision[0].revision, None, ())])

    async def asks(self, typed: str, **more: Any) -> SearchPage:
        return await search(typed, tenant_id=self.tenant_id, stores=self.stores, index=None, now=NOW, **more)

    async def finds(self, typed: str, **more: Any) -> list[int]:
        return [result.post_id.message_id for result in (await self.asks(typed, **more)).results]


@pytest.fixture
async def reader(system: SystemStores, admin: Admin, pool: Pool) -> Reader:
    tenant_id, channel_id = await make_tenant(system), await make_channel(system)
    await follow_long_ago(system, admin, tenant_id, channel_id)
    return Reader(system, pool, tenant_id, channel_id)


async def test_edited_posts_are_found_by_what_they_say_now(reader: Reader) -> None:
    await reader.reads(1, "Мост закрыт на 13 дней", at=START)
    await reader.reads(2, "Мост открыт, гулянья до утра", at=START)
    await reader.reads(1, "Мост закрыт на 10 дней", at=START + timedelta(hours=1))
    assert await reader.finds("мост edited:yes") == [1]
    assert await reader.finds("edited:yes") == [1]
    results = (await reader.asks("мост")).results
    assert {result.post_id.message_id: result.is_edited for result in results} == {1: True, 2: False}


async def test_deleted_posts_are_found_only_when_they_are_asked_for(reader: Reader) -> None:
    await reader.reads(1, "Мост закрыт", at=START)
    await reader.reads(2, "Каток открыт", at=START + timedelta(minutes=1))
    await make_deleted(reader.system, reader.channel_id, at=START + timedelta(hours=4))
    assert await reader.finds("мост") == []
    page = await reader.asks("мосты deleted:yes")
    assert [(result.post_id.message_id, result.text) for result in page.results] == [(1, "Мост закрыт")]
    assert page.results[0].deleted_at == START + timedelta(hours=4)
    assert sorted(await reader.finds("deleted:yes")) == [1, 2]
    assert await reader.finds("deleted:yes -мост lang:en") == []
    assert await reader.finds("deleted:yes edited:yes") == []


async def test_what_was_changed_before_a_tenant_followed_is_not_found(
    reader: Reader, pool: Pool, system: SystemStores
) -> None:
    await reader.reads(1, "Мост закрыт", at=START)
    await reader.reads(1, "Мост открыт", at=START + timedelta(hours=1))
    await reader.reads(2, "Мост снесён", at=START)
    await make_deleted(system, reader.channel_id, at=START + timedelta(hours=4))
    later = Reader(system, pool, await make_tenant(system), reader.channel_id)
    await system.channels.subscribe(later.tenant_id, make_subscription(reader.channel_id))
    assert await reader.finds("deleted:yes edited:yes") == [1]
    assert await later.finds("deleted:yes") == []
    assert await later.finds("edited:yes") == []


async def test_deleted_posts_have_neither_tags_nor_kinds(reader: Reader) -> None:
    with pytest.raises(Rejected, match="remove tag:, kind: and has:"):
        await reader.asks("deleted:yes has:image")


async def test_the_newest_post_that_has_the_words_comes_first(reader: Reader) -> None:
    for number, text in enumerate(
        (
            "Какао, какао и ещё раз какао",
            "В порту обсуждали погоду, урожай, дороги и цены, и среди прочего назвали какао",
            "Пшеница",
        ),
        start=1,
    ):
        moment = START + timedelta(hours=number)
        await reader.reads(number, text, at=moment, posted_at=moment)
    assert await reader.finds("какао") == [1, 2]
    assert await reader.finds("какао", order=SearchOrder.NEWEST) == [2, 1]


async def test_posts_with_some_of_the_words_follow_those_with_all_in_the_order_of_time(
    reader: Reader,
) -> None:
    texts = ("Ледоход на Каме", "Ледоход на Каме сломал причал", "Причал закрыт", "Ледоход начался")
    for number, text in enumerate(texts, start=1):
        moment = START + timedelta(hours=number)
        await reader.reads(number, text, at=moment, posted_at=moment)
    assert await reader.finds("ледоход причал", order=SearchOrder.NEWEST) == [2, 4, 3, 1]


async def test_pages_in_the_order_of_time_hold_every_post_once(reader: Reader) -> None:
    for number in range(1, 8):
        moment = START + timedelta(hours=number)
        await reader.reads(number, f"Паром {'ждёт ' * number}рейса {number}", at=moment, posted_at=moment)
    listed: list[int] = []
    cursor = None
    for _ in range(4):
        page = await reader.asks("паром", order=SearchOrder.NEWEST, limit=2, cursor=cursor)
        listed += [result.post_id.message_id for result in page.results]
        cursor = page.cursor
    assert (listed, cursor) == ([7, 6, 5, 4, 3, 2, 1], None)
    first = await reader.asks("паром", order=SearchOrder.NEWEST, limit=2)
    with pytest.raises(Rejected, match="another query"):
        await reader.asks("паром", limit=2, cursor=first.cursor)
