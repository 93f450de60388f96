from datetime import datetime, timedelta

import pytest

from telegram_assistant.ai.local.vocabulary import packaged_vocabulary
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId
from telegram_assistant.domain.understanding.policy import AiPolicy, Tier
from telegram_assistant.errors import Missing, Rejected
from telegram_assistant.features.understanding.recent import Recent
from telegram_assistant.features.understanding.tags import (
    choose_tag,
    most_used,
    posts_by_tag,
    recently_used,
    vocabulary,
)
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.posts.posts import Derived
from telegram_assistant.stores.postgres.stores import SystemStores, TenantStores
from telegram_assistant.stores.postgres.understanding.enrichments import Enrichment, Kind
from telegram_assistant.stores.postgres.understanding.tag_use import TagCount
from testkit.factories import World, make_page, make_post

DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
async def seeded_vocabulary(system: SystemStores) -> None:
    await system.vocabularies.seed(packaged_vocabulary())


async def tag(
    system: SystemStores,
    channel_id: ChannelId,
    message_id: int,
    *tags: str,
    tier: Tier = Tier.LOCAL,
    revision: int = 1,
) -> PostId:
    post_id = PostId(channel_id, MessageId(message_id))
    await system.enrichments.save([Enrichment(post_id, revision, Kind.TAGS, tier, {"tags": list(tags)})])
    return post_id


async def list_used(world: World, now: datetime) -> list[tuple[str, int, int]]:
    return [
        (tag_count.tag, tag_count.posts, tag_count.channels)
        for tag_count in await most_used(now - 10 * DAY, now + DAY, stores=world.stores_a)
    ]


async def find_posts(world: World, name: str, now: datetime) -> list[PostId]:
    return [
        post.stored.post.id
        for post in (await posts_by_tag(name, since=now - 10 * DAY, stores=world.stores_a)).posts
    ]


async def test_tags_are_counted_in_what_the_tenant_sees_and_called_as_it_calls_them(
    system: SystemStores, world: World, now: datetime
) -> None:
    for channel_id in (world.only_a[0], world.shared[0], world.only_b[0]):
        await tag(system, channel_id, 1, "спорт", "погода")
    await tag(system, world.only_a[0], 2, "спорт")
    assert await list_used(world, now) == [("спорт", 3, 2), ("погода", 2, 2)]
    await choose_tag("Спорт", stores=world.stores_a, shown_as="Игры")
    await choose_tag("погода", stores=world.stores_a, is_hidden=True)
    assert await list_used(world, now) == [("игры", 3, 2)]
    assert len(await find_posts(world, "игры", now)) == 3
    for gone in ("спорт", "погода", "чепуха"):
        with pytest.raises(Missing):
            await find_posts(world, gone, now)
    listed = {
        tenant_tag.tag: tenant_tag for tenant_tag in await vocabulary(stores=world.stores_a, language="ru")
    }
    assert (listed["спорт"].shown_as, listed["погода"].hidden) == ("игры", True)
    await choose_tag("спорт", stores=world.stores_a)
    assert len(await find_posts(world, "спорт", now)) == 3


async def test_a_post_counts_by_the_best_result_that_the_tenant_may_see(
    system: SystemStores, world: World, now: datetime
) -> None:
    paid, local, off = world.only_a[0], world.only_a[1], world.shared[0]
    await system.ai_policies.consent(world.a, given_by="owner")
    await world.stores_a.ai.choose([paid], AiPolicy.PROVIDER)
    await world.stores_a.ai.choose([off], AiPolicy.OFF)
    for channel_id in (paid, local, off):
        await tag(system, channel_id, 1, "спорт")
        await tag(system, channel_id, 1, "погода", tier=Tier.PROVIDER)
    assert await find_posts(world, "спорт", now) == [PostId(local, MessageId(1))]
    assert await find_posts(world, "погода", now) == [PostId(paid, MessageId(1))]
    assert await list_used(world, now) == [("погода", 1, 1), ("спорт", 1, 1)]
    await world.stores_a.ai.withdraw()
    assert len(await find_posts(world, "спорт", now)) == 2
    assert await find_posts(world, "погода", now) == []


async def test_posts_by_tag_come_newest_first_page_by_page(
    system: SystemStores, world: World, now: datetime
) -> None:
    tagged = {
        await tag(system, channel_id, message_id, "спорт")
        for channel_id in world.of_a
        for message_id in range(1, 6)
    }
    seen, place = [], None
    while True:
        page = await posts_by_tag("спорт", since=now - 10 * DAY, stores=world.stores_a, limit=3, before=place)
        seen += [post.stored for post in page.posts]
        place = page.next
        if place is None:
            break
    assert [stored.post.posted_at for stored in seen] == sorted(
        (stored.post.posted_at for stored in seen), reverse=True
    )
    assert len(seen) == len(tagged)
    assert {stored.post.id for stored in seen} == tagged


async def test_pages_of_a_frequent_tag_are_those_of_its_index_though_posts_share_a_second(
    system: SystemStores, world: World, now: datetime
) -> None:
    for channel_id in world.of_a:
        posts = [
            make_post(
                channel_id=channel_id,
                message_id=100 + number,
                text="матч",
                posted_at=now - DAY - (number // 3) * MINUTE,
            )
            for number in range(40)
        ]
        await system.landing.land(make_page(*posts), Claim(channel_id, 0))
        await system.posts.save_derived([Derived(post, 1, "ru", ()) for post in posts])
        for post in posts:
            await tag(system, channel_id, post.message_id, "спорт" if post.message_id % 4 else "погода")
    whole = await world.stores_a.tag_use.places(["спорт"], since=now - 10 * DAY, limit=1000)
    seen, place = [], None
    while True:
        page = await posts_by_tag("спорт", since=now - 10 * DAY, stores=world.stores_a, limit=7, before=place)
        seen += [post.stored for post in page.posts]
        place = page.next
        if place is None:
            break
    assert [stored.post.id for stored in seen] == [
        PostId(tagged_post.channel_id, tagged_post.message_id) for tagged_post in whole
    ]


async def test_a_name_that_is_none_and_a_time_that_is_too_long_are_refused(
    world: World, now: datetime
) -> None:
    with pytest.raises(Rejected, match="is not a valid name"):
        await choose_tag("спорт", stores=world.stores_a, shown_as="https://x")
    for since, until in ((now, now - DAY), (now - 40 * DAY, now)):
        with pytest.raises(Rejected, match="at most 31 days"):
            await most_used(since, until, stores=world.stores_a)


async def test_recent_tags_are_counted_once_a_minute_for_each_tenant(
    system: SystemStores, world: World, now: datetime
) -> None:
    recent = Recent[tuple[TagCount, ...]]()

    async def list_recent(tenant_id: TenantId, stores: TenantStores, at: datetime) -> list[str]:
        return [
            tag_count.tag
            for tag_count in await recently_used(tenant_id, recent=recent, stores=stores, now=at, limit=10)
        ]

    await tag(system, world.only_a[0], 1, "спорт")
    assert await list_recent(world.a, world.stores_a, now) == ["спорт"]
    await tag(system, world.only_a[0], 2, "погода")
    assert await list_recent(world.a, world.stores_a, now + timedelta(seconds=59)) == ["спорт"]
    assert await list_recent(world.b, world.stores_b, now) == []
    assert await list_recent(world.a, world.stores_a, now + timedelta(seconds=61)) == ["погода", "спорт"]
