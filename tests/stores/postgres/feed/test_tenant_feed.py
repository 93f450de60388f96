import random
from datetime import UTC, datetime, timedelta

import pytest

from telegram_assistant.domain.ids import PostId
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.feed.tenant_feed import Feed, cursor_of
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores, tenant_stores
from testkit.factories import World, make_channel, make_page, make_post, make_subscription, make_tenant
from tests.conftest import Admin


async def read_to_the_end(feed: Feed, *, limit: int) -> list[PostId]:
    seen: list[PostId] = []
    page = await feed.newest(limit=limit)
    while page:
        seen += [stored.post.id for stored in page]
        page = await feed.newest(limit=limit, before=cursor_of(page[-1]))
    return seen


@pytest.mark.parametrize("limit", [1, 3, 7, 50])
async def test_pages_give_every_post_once_newest_first(system: SystemStores, pool: Pool, limit: int) -> None:
    tenant_id = await make_tenant(system)
    rng = random.Random(limit)
    expected: list[tuple[datetime, int, int]] = []
    for _ in range(8):
        channel_id = await make_channel(system)
        await system.channels.subscribe(tenant_id, make_subscription(channel_id))
        # Many posts share a second, as albums and busy channels do: the order must still be exact.
        posts = [
            make_post(
                channel_id=channel_id,
                message_id=n,
                posted_at=datetime(2026, 11, 1, tzinfo=UTC) + timedelta(seconds=rng.randrange(6)),
            )
            for n in range(1, rng.randint(2, 9))
        ]
        await system.landing.land(make_page(*posts), Claim(channel_id, 0))
        expected += [(post.posted_at, post.channel_id, post.message_id) for post in posts]
    seen = await read_to_the_end(tenant_stores(pool, tenant_id).feed, limit=limit)
    assert [(post_id.channel_id, post_id.message_id) for post_id in seen] == [
        key[1:] for key in sorted(expected, reverse=True)
    ]


async def test_a_post_comes_back_as_it_was_stored(world: World) -> None:
    newest = (await world.stores_a.feed.newest(limit=1))[0]
    again = await world.stores_a.feed.post(newest.post.id)
    assert again == newest
    assert newest.post.content_hash
    assert newest.revision == 1


async def test_a_deleted_post_stays_in_the_feed_and_is_marked(world: World, admin: Admin) -> None:
    newest, now = (await world.stores_a.feed.newest(limit=1))[0].post.id, datetime.now(UTC)
    await admin.execute(
        "UPDATE posts SET deleted_at = $3 WHERE channel_id = $1 AND message_id = $2",
        newest.channel_id,
        newest.message_id,
        now,
    )
    again = (await world.stores_a.feed.newest(limit=1))[0]
    assert (again.post.id, again.deleted_at) == (newest, now)
