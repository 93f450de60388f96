"""Open pages learn from one row that their tenant's channels have new posts."""

from datetime import UTC, datetime

import pytest

from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.feed.news import News
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores, tenant_stores
from testkit.factories import World, make_page, make_post
from testkit.relaying import announce_all
from tests.conftest import Admin


async def arrive(
    system: SystemStores, channel_id: ChannelId, *, text: str = "new", lane: Lane = Lane.LIVE
) -> None:
    """Lands a post and announces it, as ingest and the relay do."""

    post = make_post(channel_id=channel_id, message_id=900, text=text, posted_at=datetime.now(UTC))
    await system.landing.land(make_page(post, lane=lane), Claim(channel_id, 0))
    await announce_all(system.outbox)


@pytest.fixture
async def calm(system: SystemStores, world: World) -> World:
    """A world whose posts are all announced already."""
    await arrive(system, world.only_b[0], lane=Lane.BULK)
    return world


def news_of(pool: Pool, tenant_id: TenantId) -> News:
    return tenant_stores(pool, tenant_id).news


async def forget_pages(admin: Admin, tenant_id: TenantId) -> None:
    await admin.execute(
        "UPDATE tenant_news SET awaited_until = now() - interval '1 second' WHERE tenant_id = $1", tenant_id
    )


async def test_a_new_post_changes_the_state_of_its_followers_only(
    system: SystemStores, pool: Pool, calm: World
) -> None:
    before = [await news_of(pool, tenant_id).state() for tenant_id in (calm.a, calm.b)]
    await arrive(system, calm.only_a[0])
    after = [await news_of(pool, tenant_id).state() for tenant_id in (calm.a, calm.b)]
    assert after[0] != before[0]
    assert after[1] == before[1]


async def test_a_post_of_a_shared_channel_changes_the_state_of_both(
    system: SystemStores, pool: Pool, calm: World
) -> None:
    before = [await news_of(pool, tenant_id).state() for tenant_id in (calm.a, calm.b)]
    await arrive(system, calm.shared[0])
    after = [await news_of(pool, tenant_id).state() for tenant_id in (calm.a, calm.b)]
    assert all(new != old for new, old in zip(after, before, strict=True))


async def test_edits_and_history_change_no_state(system: SystemStores, pool: Pool, calm: World) -> None:
    await arrive(system, calm.only_a[0])
    before = await news_of(pool, calm.a).state()
    await arrive(system, calm.only_a[0], text="edited")
    await arrive(system, calm.only_a[1], lane=Lane.BULK)
    assert await news_of(pool, calm.a).state() == before


async def test_a_suspended_channel_changes_no_state(
    system: SystemStores, pool: Pool, calm: World, admin: Admin
) -> None:
    before = await news_of(pool, calm.a).state()
    await admin.execute(
        "UPDATE subscriptions SET active = false WHERE tenant_id = $1 AND channel_id = $2",
        calm.a,
        calm.only_a[0],
    )
    await arrive(system, calm.only_a[0])
    assert await news_of(pool, calm.a).state() == before


async def test_nothing_is_counted_for_a_tenant_without_an_open_page(
    system: SystemStores, pool: Pool, calm: World, admin: Admin
) -> None:
    await news_of(pool, calm.a).state()
    await forget_pages(admin, calm.a)
    load = "SELECT arrivals FROM tenant_news WHERE tenant_id = $1"
    before = await admin.fetchval(load, calm.a)
    await arrive(system, calm.only_a[0])
    assert await admin.fetchval(load, calm.a) == before


async def test_a_page_that_asks_again_after_a_long_time_sees_another_state(
    pool: Pool, calm: World, admin: Admin
) -> None:
    before = await news_of(pool, calm.a).state()
    await forget_pages(admin, calm.a)
    after = await news_of(pool, calm.a).state()
    assert after != before
    assert await news_of(pool, calm.a).state() == after
