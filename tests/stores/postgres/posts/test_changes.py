"""Quiet changes as a tenant sees them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.posts.differences import difference
from telegram_assistant.domain.posts.meaning import MeaningChange, MeaningKind
from telegram_assistant.domain.posts.post import fingerprint
from telegram_assistant.language.meaning_changes import meaning_changes
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.posts.changes import (
    ChangeKind,
    ChangeOrder,
    QuietChange,
    change_cursor,
)
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores, TenantStores, tenant_stores
from testkit.factories import follow_long_ago, make_channel, make_deleted, make_page, make_post, make_tenant
from tests.conftest import Admin

START = datetime(2026, 11, 10, tzinfo=UTC)


async def follow_channel(system: SystemStores, admin: Admin, pool: Pool) -> tuple[TenantStores, ChannelId]:
    tenant_id, channel_id = await make_tenant(system), await make_channel(system)
    await follow_long_ago(system, admin, tenant_id, channel_id)
    return tenant_stores(pool, tenant_id), channel_id


async def publish(
    system: SystemStores,
    channel_id: ChannelId,
    message_id: int,
    text: str,
    *,
    at: datetime,
    views: int | None = None,
) -> None:
    """A post, or its edit, as it was read at that moment."""
    facts: dict[str, Any] = {} if views is None else {"counts": {"views": views}}
    post = make_post(
        channel_id=channel_id, message_id=message_id, text=text, posted_at=START, edited_at=at, facts=facts
    )
    await system.landing.land(make_page(post, read_at=at), Claim(channel_id, 0))


async def test_each_edit_is_told_with_what_stood_there_before_and_after(
    system: SystemStores, admin: Admin, pool: Pool
) -> None:
    stores, channel_id = await follow_channel(system, admin, pool)
    for hour, text in enumerate(("раз", "два", "три")):
        await publish(system, channel_id, 1, text, at=START + timedelta(hours=hour))
    changes = await stores.changes.since(START)
    assert [(change.before, change.after, change.changed_at.hour) for change in changes] == [
        ("два", "три", 2),
        ("раз", "два", 1),
    ]
    assert {change.kind for change in changes} == {ChangeKind.EDITED}


async def test_a_revision_that_changed_no_text_stands_between_no_two_texts(
    system: SystemStores, admin: Admin, pool: Pool
) -> None:
    stores, channel_id = await follow_channel(system, admin, pool)
    by_preview = {"source": "preview", "edited": True}
    for hour, (text, facts) in enumerate(
        (("раз", by_preview), ("два", by_preview), ("два", {}), ("три", {}))
    ):
        at = START + timedelta(hours=hour)
        seen = fingerprint(text, media_ids=() if facts else (1,))
        post = make_post(
            channel_id=channel_id, text=text, posted_at=START, edited_at=at, facts=facts, content_hash=seen
        )
        await system.landing.land(make_page(post, read_at=at), Claim(channel_id, 0))
    assert [(change.before, change.after) for change in await stores.changes.since(START)] == [
        ("два", "три"),
        ("раз", "два"),
    ]


@pytest.mark.parametrize("order", ChangeOrder)
async def test_pages_hold_every_change_once_also_of_one_moment(
    system: SystemStores, admin: Admin, pool: Pool, order: ChangeOrder
) -> None:
    stores, channel_id = await follow_channel(system, admin, pool)
    for text in ("раз", "два", "три"):
        for message_id in (1, 2):
            await publish(
                system,
                channel_id,
                message_id,
                text,
                at=START + timedelta(hours=len(text)),
                views=message_id % 2,
            )
    await make_deleted(system, channel_id, at=START + timedelta(hours=4))
    everything = await stores.changes.since(START, order=order, limit=1000)
    assert len(everything) == 6
    paged: list[QuietChange] = []
    while page := await stores.changes.since(
        START, order=order, limit=2, after=change_cursor(paged[-1]) if paged else None
    ):
        paged += page
    assert tuple(paged) == everything


async def test_a_deletion_is_told_with_what_is_gone(system: SystemStores, admin: Admin, pool: Pool) -> None:
    stores, channel_id = await follow_channel(system, admin, pool)
    await publish(system, channel_id, 1, "тайна", at=START)
    await make_deleted(system, channel_id, at=START + timedelta(hours=1))
    (deletion,) = await stores.changes.since(START)
    assert (deletion.kind, deletion.before, deletion.after) == (ChangeKind.DELETED, "тайна", "")
    assert await stores.changes.since(START, kinds=[ChangeKind.EDITED]) == ()
    assert await stores.changes.since(START + timedelta(hours=2)) == ()


async def test_by_reach_the_most_seen_comes_first_by_what_had_been_counted_before_the_change(
    system: SystemStores, admin: Admin, pool: Pool
) -> None:
    stores, channel_id = await follow_channel(system, admin, pool)
    for message_id, views in ((1, 900), (2, 50), (3, 400)):
        await publish(system, channel_id, message_id, f"пост {message_id}", at=START, views=views)
    grown = make_post(channel_id=channel_id, message_id=2, facts={"counts": {"views": 7000}})
    await system.counts.keep([grown], seen_at=START + timedelta(minutes=10))
    for message_id in (1, 2, 3):
        await publish(system, channel_id, message_id, "исправлено", at=START + timedelta(hours=1), views=1)
    changes = await stores.changes.since(START, order=ChangeOrder.REACH)
    assert [change.message_id for change in changes][:1] == [2]
    assert changes[0].views == 7000


async def test_only_the_channels_asked_for_are_told(system: SystemStores, admin: Admin, pool: Pool) -> None:
    stores, channel_id = await follow_channel(system, admin, pool)
    await publish(system, channel_id, 1, "раз", at=START)
    await publish(system, channel_id, 1, "два", at=START + timedelta(hours=1))
    assert len(await stores.changes.since(START, channel_ids=[channel_id])) == 1
    assert await stores.changes.since(START, channel_ids=[ChannelId(1)]) == ()


async def test_revisions_are_counted_from_when_the_tenant_began_to_follow(
    system: SystemStores, admin: Admin, pool: Pool
) -> None:
    stores, channel_id = await follow_channel(system, admin, pool)
    for hour, text in enumerate(("раз", "два", "три", "четыре")):
        await publish(system, channel_id, 1, text, at=START + timedelta(hours=hour))
    await admin.execute(
        "UPDATE subscriptions SET created_at = $2 WHERE channel_id = $1",
        channel_id,
        START + timedelta(minutes=90),
    )
    changes = await stores.changes.since(START)
    assert [(change.before, change.revision) for change in changes] == [("три", 2), ("два", 1)]
    first = (await stores.changes.since(START, limit=1))[0]
    assert (first, *await stores.changes.since(START, limit=1, after=change_cursor(first))) == changes


async def test_changes_of_the_meaning_come_first_and_can_be_asked_for(
    system: SystemStores, admin: Admin, pool: Pool
) -> None:
    stores, channel_id = await follow_channel(system, admin, pool)
    texts = (
        ("Пострадали 12", "Пострадали 17"),
        ("Завод закроют", "Завод не закроют"),
        ("Снег шёл", "Снег идёт"),
    )
    for message_id, (before, after) in enumerate(texts, start=1):
        await publish(system, channel_id, message_id, before, at=START)
        await publish(
            system,
            channel_id,
            message_id,
            after,
            at=START + timedelta(hours=message_id),
            views=10 * message_id,
        )
    replaced = await system.versions.list_uncompared(
        [PostId(channel_id, MessageId(number)) for number in (1, 2, 3)]
    )
    await system.versions.keep(
        [
            (change, difference(change.before, change.after), meaning_changes(change.before, change.after))
            for change in replaced
        ]
    )
    first = await stores.changes.since(START, order=ChangeOrder.MEANING, limit=1)
    rest = await stores.changes.since(START, order=ChangeOrder.MEANING, after=change_cursor(first[0]))
    assert [change.message_id for change in (*first, *rest)] == [2, 1, 3]
    (only,) = await stores.changes.since(START, meanings=(MeaningKind.NUMBER,))
    assert only.meaning == (MeaningChange(MeaningKind.NUMBER, "12", "17"),)
