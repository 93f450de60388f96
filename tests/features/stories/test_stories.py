"""Changes by a tenant to its stories: taking a post out."""

from datetime import UTC, datetime, timedelta

import pytest

from telegram_assistant.domain.ids import PostId, TenantId
from telegram_assistant.domain.watches.watch import WatchKind, WatchOptions, WatchTarget
from telegram_assistant.errors import Conflicting, Missing
from telegram_assistant.features.stories.stories import put_back, take_out, visible_story
from telegram_assistant.features.watches.previews import preview_watch
from telegram_assistant.features.watches.watches import create_watch
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores, TenantStores, tenant_stores
from telegram_assistant.understanding.stories import StoryBuilder
from testkit.factories import follow_long_ago, make_channel, make_page, make_post, make_tenant
from tests.conftest import Admin

FLOOD = "В Сосновке река Тихая затопила 37 домов на Речной улице, людей вывозят на лодках, сообщил Лебедев."
COPIES = (FLOOD, f"❗️ {FLOOD}", f"Срочно. {FLOOD}")


async def followed_story(
    system: SystemStores, admin: Admin, tenant_ids: tuple[TenantId, ...], builder: StoryBuilder
) -> list[PostId]:
    posts = list[PostId]()
    for place, text in enumerate(COPIES):
        channel_id = await make_channel(system)
        for tenant_id in tenant_ids:
            await follow_long_ago(system, admin, tenant_id, channel_id)
        posted_at = datetime.now(UTC) - timedelta(minutes=9 - place)
        post = make_post(channel_id=channel_id, message_id=1, text=text, posted_at=posted_at)
        await system.landing.land(make_page(post), Claim(channel_id, 0))
        posts.append(post.id)
    await builder.group(posts, now=datetime.now(UTC))
    return posts


async def posts_around(post_id: PostId, stores: TenantStores) -> list[PostId]:
    return [post.post_id for post in (await visible_story(post_id, stores=stores)).posts]


async def test_a_post_that_is_not_this_story_stays_alone_for_its_tenant_and_for_nobody_else(
    system: SystemStores, pool: Pool, admin: Admin
) -> None:
    builder = StoryBuilder(system.story_sources, system.post_terms, system.story_groups)
    tenant_ids = (await make_tenant(system), await make_tenant(system))
    first, other, third = await followed_story(system, admin, tenant_ids, builder)
    own, foreign = (tenant_stores(pool, tenant_id) for tenant_id in tenant_ids)
    before = await visible_story(first, stores=foreign)
    await take_out(other, stores=own)
    await take_out(other, stores=own)
    for _ in range(2):
        assert await posts_around(first, own) == [first, third]
        assert await posts_around(other, own) == [other]
        assert await visible_story(first, stores=foreign) == before
        await builder.group([first, other, third], now=datetime.now(UTC), compares_again=True)
    with pytest.raises(Missing):
        await put_back(other, stores=foreign)
    await put_back(other, stores=own)
    assert await posts_around(other, own) == [first, other, third]
    assert await visible_story(first, stores=own) == before


async def test_a_post_that_is_alone_or_invisible_cannot_be_taken_out(
    system: SystemStores, pool: Pool, admin: Admin
) -> None:
    builder = StoryBuilder(system.story_sources, system.post_terms, system.story_groups)
    tenant_id = await make_tenant(system)
    first, other, third = await followed_story(system, admin, (tenant_id,), builder)
    own, stranger = tenant_stores(pool, tenant_id), tenant_stores(pool, await make_tenant(system))
    with pytest.raises(Missing):
        await take_out(first, stores=stranger)
    await take_out(first, stores=own)
    await take_out(other, stores=own)
    with pytest.raises(Conflicting):
        await take_out(third, stores=own)


async def test_watches_on_stories_do_not_count_a_post_that_was_taken_out(
    system: SystemStores, pool: Pool, admin: Admin
) -> None:
    builder = StoryBuilder(system.story_sources, system.post_terms, system.story_groups)
    tenant_ids = (await make_tenant(system), await make_tenant(system))
    posts = await followed_story(system, admin, tenant_ids, builder)
    target = WatchTarget(kind=WatchKind.STORY, query="", posts=len(posts))
    await take_out(posts[1], stores=tenant_stores(pool, tenant_ids[0]))
    counts = []
    for tenant_id in tenant_ids:
        stores = tenant_stores(pool, tenant_id)
        preview = await preview_watch(
            target, tenant_id=tenant_id, stores=stores, index=None, now=datetime.now(UTC), zone=UTC
        )
        begins_at = datetime.now(UTC) - timedelta(hours=1)
        await create_watch(
            "floods",
            target,
            WatchOptions(),
            stores=stores,
            created_by="anna",
            now=datetime.now(UTC),
            zone=UTC,
            begins_at=begins_at,
        )
        await system.watch_matching.raise_grown(datetime.now(UTC))
        counts.append((preview.count, len(await stores.alerts.newest(limit=9))))
    assert counts == [(0, 0), (1, 1)]
