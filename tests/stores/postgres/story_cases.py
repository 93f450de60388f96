"""Isolation cases of stories, method by method."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.media.similarity import Look
from telegram_assistant.domain.stories.keywords import (
    Keyword,
    KeywordKind,
    KeywordTrend,
    TrendDay,
    WrittenKeyword,
)
from telegram_assistant.domain.stories.story import LinkKind
from telegram_assistant.domain.stories.visible import Grouping, VisiblePost
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.stories.own_stories import StoryMaterial
from telegram_assistant.summaries.values import CitedSentence, WrittenSummary
from testkit.factories import World
from testkit.stories import show_picture, store_story
from tests.conftest import Admin
from tests.stores.postgres.more_cases import Case

MATERIAL = b"what every tenant has sent"


async def _stories_recent(stores: TenantStores, _world: World) -> set[ChannelId]:
    return channels_of(await stores.stories.recent(datetime(2026, 1, 1, tzinfo=UTC)))


async def _stories_bursting(stores: TenantStores, world: World) -> set[ChannelId]:
    """Six channels told the story at once, but each tenant sees four of them."""
    assert (await stores.stories.bursting(datetime(2026, 1, 1, tzinfo=UTC))).groups == ()
    return await _stories_recent(stores, world)


async def _stories_around(stores: TenantStores, world: World) -> set[ChannelId]:
    """For any post, the tenant finds only its own posts and links between them."""
    materials = [
        await stores.stories.around(PostId(channel_id, MessageId(1))) for channel_id in world.channels
    ]
    return set().union(*map(channels_of, materials))


async def _stories_around_some(stores: TenantStores, world: World) -> set[ChannelId]:
    posts = [PostId(channel_id, MessageId(1)) for channel_id in world.channels]
    return channels_of(await stores.stories.around_some(posts))


async def _stories_some(stores: TenantStores, _world: World) -> set[ChannelId]:
    now = datetime.now(UTC)
    story_ids = await stores.records.find_stories(datetime(2026, 1, 1, tzinfo=UTC), now)
    return channels_of(await stores.stories.some(story_ids, until=now))


async def _stories_read_pictures(stores: TenantStores, world: World) -> set[ChannelId]:
    """Every channel shows a picture of its own, with the channel's id written in it."""
    read = await stores.stories.read_pictures(
        [PostId(channel_id, MessageId(1)) for channel_id in world.channels]
    )
    return {ChannelId(int(picture.words)) for picture in read.values()}


async def _stories_has_any(stores: TenantStores, world: World) -> set[ChannelId]:
    return await _stories_recent(stores, world) if await stores.stories.has_any() else set()


async def _stories_choose_grouping(stores: TenantStores, _world: World) -> set[ChannelId]:
    followed = {channel.channel_id for channel in await stores.followed.channels()}
    assert (await stores.stories.recent(datetime.now(UTC))).grouping is Grouping.NORMAL, (
        "nobody else has chosen for this tenant"
    )
    await stores.stories.choose_grouping(Grouping.STRICT)
    assert (await stores.stories.recent(datetime.now(UTC))).grouping is Grouping.STRICT
    return followed


async def _stories_take_out(stores: TenantStores, world: World) -> set[ChannelId]:
    """Each tenant takes out every post that it can, and is shown none of those of others."""
    posts = [PostId(channel_id, MessageId(1)) for channel_id in world.channels]
    assert not any(post.is_apart for post in await _visible_posts(stores, world)), "others took them out"
    for post_id in posts:
        await stores.stories.take_out(post_id)
    apart = {post.channel_id for post in await _visible_posts(stores, world) if post.is_apart}
    assert await stores.stories.put_back(posts) == bool(apart)
    assert not await stores.stories.put_back(posts)
    return apart


async def _visible_posts(stores: TenantStores, world: World) -> list[VisiblePost]:
    materials = [
        await stores.stories.around(PostId(channel_id, MessageId(1))) for channel_id in world.channels
    ]
    return [post for material in materials for group in material.groups for post in group.posts]


async def _keyword_trends_counts(stores: TenantStores, world: World) -> set[ChannelId]:
    """Six channels mention the same name, but each tenant sees four of them."""
    now = datetime.now(UTC)
    counts, _ = await stores.keyword_trends.counts(now - timedelta(days=3), now + timedelta(hours=1))
    assert counts.counts == ()
    return await _keyword_trends_mentions(stores, world)


async def _keyword_trends_mentions(stores: TenantStores, world: World) -> set[ChannelId]:
    """All channels mention the name, and each has its own id for a tag."""
    now, snow = datetime.now(UTC), Keyword(KeywordKind.NAME, "sneg")
    tags = [Keyword(KeywordKind.TAG, str(channel_id)) for channel_id in world.channels]
    mentions = await stores.keyword_trends.mentions(
        [snow, *tags], now - timedelta(days=3), now + timedelta(hours=1)
    )
    channel_ids = {
        keyword: {post.channel_id for posts in mentions[keyword].posts.values() for post in posts}
        for keyword in mentions
    }
    assert {ChannelId(int(tag.key)) for tag in tags if channel_ids[tag]} == channel_ids[snow]
    return channel_ids[snow]


async def _keyword_trends_posts(stores: TenantStores, world: World) -> set[ChannelId]:
    posts = await stores.keyword_trends.posts(
        [PostId(channel_id, MessageId(1)) for channel_id in world.channels]
    )
    return {post.channel_id for post in posts}


async def _keyword_trends_days(stores: TenantStores, world: World) -> set[ChannelId]:
    """A tenant sees the day that it saved with its own posts alone, and no other tenant sees the day."""
    posts = tuple(PostId(channel_id, MessageId(1)) for channel_id in world.channels)
    assert (await stores.keyword_trends.days(date(2026, 1, 1))).days == ()
    snow = WrittenKeyword(Keyword(KeywordKind.TAG, "снег"), "снег")
    day = TrendDay(date(2026, 1, 1), (KeywordTrend((snow,), 5, 5, 0.1, (5,), (0.1,), posts),))
    await stores.keyword_trends.save_day(day)
    trends = await stores.keyword_trends.days(date(2026, 1, 1))
    assert trends.days == (day,)
    return {post.channel_id for post in trends.posts}


def channels_of(material: StoryMaterial) -> set[ChannelId]:
    posts = {post.post_id for group in material.groups for post in group.posts}
    assert all({link.post, link.other} <= posts for group in material.groups for link in group.links)
    return {post.channel_id for post in posts}


async def _written_summaries(stores: TenantStores, world: World) -> set[ChannelId]:
    """Every tenant keeps a text under the same key, and finds its own."""
    followed = {channel.channel_id for channel in await stores.followed.channels()}
    cited = tuple(PostId(channel_id, MessageId(1)) for channel_id in sorted(followed))
    text = WrittenSummary(
        sentences=(CitedSentence("…", cited),), provider="p", model="m", unit="RUB", cost_micro=1
    )
    assert not await stores.written_summaries.find([MATERIAL])
    await stores.written_summaries.keep(MATERIAL, text)
    await stores.written_summaries.keep(MATERIAL, replace(text, model="later"))
    assert await stores.written_summaries.find([MATERIAL]) == {MATERIAL: text}
    assert world.channels
    return {post.channel_id for post in text.sentences[0].posts}


STORY_METHODS: dict[str, Case] = {
    "written_summaries.find": _written_summaries,
    "written_summaries.keep": _written_summaries,
    "stories.recent": _stories_recent,
    "stories.bursting": _stories_bursting,
    "stories.around": _stories_around,
    "stories.around_some": _stories_around_some,
    "stories.some": _stories_some,
    "stories.read_pictures": _stories_read_pictures,
    "stories.has_any": _stories_has_any,
    "stories.choose_grouping": _stories_choose_grouping,
    "stories.take_out": _stories_take_out,
    "stories.put_back": _stories_take_out,
    "keyword_trends.counts": _keyword_trends_counts,
    "keyword_trends.mentions": _keyword_trends_mentions,
    "keyword_trends.posts": _keyword_trends_posts,
    "keyword_trends.days": _keyword_trends_days,
    "keyword_trends.save_day": _keyword_trends_days,
}


async def tell_story(admin: Admin, world: World) -> None:
    """Every channel tells one story at the same moment, each linked to all before it."""
    posts = [PostId(channel_id, MessageId(1)) for channel_id in world.channels]
    links = [
        (post, other, LinkKind.REWRITE, 3.0, False)
        for number, post in enumerate(posts)
        for other in posts[:number]
    ]
    story_id = await store_story(admin, posts, links)
    await admin.execute(
        "UPDATE story_posts SET posted_at = now(), is_bursting = true WHERE story_id = $1", story_id
    )
    await admin.execute(
        """
        INSERT INTO post_search (channel_id, message_id, posted_at, words)
        SELECT channel_id, message_id, posted_at, array_to_tsvector('{~sneg}') FROM posts
        WHERE channel_id = ANY($1) AND message_id = 7
        """,
        list(world.channels),
    )
    for channel_id in world.channels:
        await show_picture(admin, PostId(channel_id, MessageId(1)), Look(2**40 - 1, 7), str(channel_id))
