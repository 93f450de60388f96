"""Batches that are grouped beside each other, and batches that die half-way, leave the stories that one
worker would have made in order.
"""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

import asyncpg
import pytest

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.posts.post import Post
from telegram_assistant.domain.stories.terms import weigh
from telegram_assistant.language.terms import terms_of
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.stores.postgres.stories.linking import PutPosts
from telegram_assistant.stores.postgres.stories.scope import MAX_PART
from telegram_assistant.stores.postgres.stories.story_groups import LEFT_BEHIND_AFTER
from telegram_assistant.understanding.stories import StoryBuilder
from testkit.factories import make_channel, make_page, make_post

NOW = datetime(2026, 11, 16, 8, 0, tzinfo=UTC)
_days = count(10, 10)
FIRE = (
    "В Нортвике на Заводской улице горит склад компании «Стройгрань», тушат 16 расчётов, "
    "пострадали 4 человека."
)
FIRE_AGAIN = (
    "Склад «Стройграни» на Заводской улице в Нортвике тушат 16 пожарных расчётов. Известно о 4 пострадавших."
)
MATCH = (
    "Матч в Краснолесье закончился со счётом 2:0, команда «Волнорез» обыграла «Ладью» при 18 тысячах "
    "зрителей."
)


@pytest.fixture
def builder(system: SystemStores) -> StoryBuilder:
    return StoryBuilder(system.story_sources, system.post_terms, system.story_groups)


@pytest.fixture
def morning() -> datetime:
    """Far from what other tests told."""
    return NOW + timedelta(days=1000 + next(_days))


async def land(system: SystemStores, *posts: Post) -> None:
    for post in posts:
        await system.landing.land(make_page(post), Claim(post.channel_id, 0))


async def land_texts(system: SystemStores, morning: datetime, *texts: str) -> list[Post]:
    posts = [
        make_post(
            channel_id=await make_channel(system),
            message_id=1,
            text=text,
            posted_at=morning + timedelta(minutes=place),
        )
        for place, text in enumerate(texts)
    ]
    await land(system, *posts)
    return posts


def edit_post(post: Post, text: str) -> Post:
    return make_post(
        channel_id=post.channel_id,
        message_id=post.message_id,
        text=text,
        posted_at=post.posted_at,
        edited_at=post.posted_at + timedelta(minutes=9),
    )


async def group(builder: StoryBuilder, *posts: Post) -> None:
    await builder.group([post.id for post in posts], now=NOW)


async def stories_of(system: SystemStores, posts: Sequence[Post]) -> set[frozenset[int]]:
    """The places of the posts of each story."""
    story_ids = await system.stories.of_posts([post.id for post in posts])
    stories: dict[object, set[int]] = {}
    for place, post in enumerate(posts):
        stories.setdefault(story_ids[post.id], set()).add(place)
    return {frozenset(story) for story in stories.values()}


async def put_only(system: SystemStores, builder: StoryBuilder, post: Post) -> PutPosts:
    """As far as a batch comes that dies before it looks."""
    (source,) = await system.story_sources.load([post.id])
    terms = terms_of(source.text)
    weights = (await builder.terms.weights(NOW, [post.posted_at])).of(post.posted_at)
    weighed = weigh(
        post.id, post.posted_at, terms, weights, is_private=False, username=0, terms_hash=terms.hash
    )
    put = await builder.groups.put([weighed], {post.id: source.revision})
    assert put is not None
    return put


TEXTS = [
    FIRE,
    MATCH,
    FIRE_AGAIN,
    f"{FIRE} Подробности уточняем.",
    f"{MATCH} Отчёт позже.",
    f"Срочно. {FIRE_AGAIN}",
]


async def test_batches_of_the_same_minute_see_each_other(
    system: SystemStores, builder: StoryBuilder, morning: datetime
) -> None:
    for minutes in range(5):
        posts = await land_texts(system, morning + timedelta(days=10 * minutes), *TEXTS)
        await asyncio.gather(*(group(builder, post) for post in posts))
        assert await stories_of(system, posts) == {frozenset({0, 2, 3, 5}), frozenset({1, 4})}


async def test_posts_that_are_edited_while_others_are_compared_with_them_end_in_the_same_stories(
    system: SystemStores, builder: StoryBuilder, morning: datetime
) -> None:
    for seed in range(6):
        posts = await land_texts(system, morning + timedelta(days=10 * seed), *TEXTS)
        await group(builder, *posts[:3])
        edited = [edit_post(posts[0], MATCH), edit_post(posts[3], MATCH), edit_post(posts[1], FIRE)]

        async def edit(post: Post) -> None:
            await land(system, post)
            await group(builder, post)

        work = [*(edit(post) for post in edited), *(group(builder, post) for post in posts)]
        random.Random(seed).shuffle(work)
        await asyncio.gather(*work)
        assert await stories_of(system, posts) == {frozenset({1, 2, 5}), frozenset({0, 3, 4})}


async def test_the_same_edit_in_two_batches_at_once_is_grouped_once(
    system: SystemStores, builder: StoryBuilder, morning: datetime, admin: asyncpg.Connection
) -> None:
    first, other = await land_texts(system, morning, FIRE, MATCH)
    await asyncio.gather(*(group(builder, first, other) for _ in range(4)))
    await land(system, edit_post(other, FIRE_AGAIN))
    await asyncio.gather(*(group(builder, other, first) for _ in range(4)))
    assert await stories_of(system, [first, other]) == {frozenset({0, 1})}
    stored = await admin.fetchval(
        "SELECT count(*) FROM post_terms WHERE channel_id = ANY ($1)", [first.channel_id, other.channel_id]
    )
    assert stored == 2


async def test_what_a_dying_batch_has_put_is_seen_by_others_and_grouped_when_it_comes_again(
    system: SystemStores, builder: StoryBuilder, morning: datetime
) -> None:
    first, other = await land_texts(system, morning, FIRE, FIRE_AGAIN)
    await put_only(system, builder, first)
    await group(builder, other)
    await group(builder, first)
    assert await stories_of(system, [first, other]) == {frozenset({0, 1})}


async def test_stories_that_an_edit_took_apart_are_grouped_a_minute_later_although_its_batch_died(
    system: SystemStores, builder: StoryBuilder, morning: datetime, admin: asyncpg.Connection
) -> None:
    first, other, third = await land_texts(system, morning, FIRE, FIRE_AGAIN, FIRE)
    await group(builder, first, other, third)
    await land(system, edit_post(third, MATCH))
    await put_only(system, builder, third)
    assert await builder.sweep(now=datetime.now(UTC)) == 0
    assert await builder.sweep(now=datetime.now(UTC) + 2 * LEFT_BEHIND_AFTER) > 0
    assert await stories_of(system, [first, other, third]) == {frozenset({0, 1}), frozenset({2})}
    assert await admin.fetchval("SELECT count(*) FROM story_dirty") == 0
    await group(builder, third)
    assert await stories_of(system, [first, other, third]) == {frozenset({0, 1}), frozenset({2})}


async def test_a_batch_that_comes_again_leaves_the_story_that_its_first_try_took_the_links_of(
    system: SystemStores, builder: StoryBuilder, morning: datetime
) -> None:
    first, other, third = await land_texts(system, morning, FIRE, FIRE_AGAIN, FIRE)
    await group(builder, first, other, third)
    before = await system.stories.of_posts([first.id])
    await land(system, edit_post(third, MATCH))
    await put_only(system, builder, third)
    await group(builder, third)
    assert await stories_of(system, [first, other, third]) == {frozenset({0, 1}), frozenset({2})}
    assert await system.stories.of_posts([first.id]) == before


async def test_a_post_that_is_edited_back_while_its_batch_dies_is_compared_again(
    system: SystemStores, builder: StoryBuilder, morning: datetime
) -> None:
    first, other = await land_texts(system, morning, FIRE, FIRE_AGAIN)
    await group(builder, first, other)
    await land(system, edit_post(other, MATCH))
    await put_only(system, builder, other)
    back = edit_post(other, FIRE_AGAIN)
    await land(system, replace(back, edited_at=other.posted_at + timedelta(minutes=20)))
    await group(builder, other)
    assert await stories_of(system, [first, other]) == {frozenset({0, 1})}


async def test_a_burst_in_a_story_that_is_too_large_to_be_grouped_again_is_marked(
    system: SystemStores, builder: StoryBuilder, morning: datetime, admin: asyncpg.Connection
) -> None:
    channel_id = await make_channel(system)
    crowd = [
        make_post(
            channel_id=channel_id,
            message_id=number,
            text=f"{FIRE} Выпуск {number}.",
            posted_at=morning + timedelta(minutes=number),
        )
        for number in range(1, MAX_PART + 5)
    ]
    await system.landing.land(make_page(*crowd), Claim(channel_id, 0))
    for start in range(0, len(crowd), 200):
        await group(builder, *crowd[start : start + 200])
    posts = await land_texts(system, morning + timedelta(minutes=MAX_PART + 10), *[FIRE] * 6)
    for post in posts:
        await group(builder, post)
    rows = await admin.fetch(
        "SELECT channel_id FROM story_posts WHERE channel_id = ANY ($1) AND is_bursting ORDER BY posted_at",
        [post.channel_id for post in posts],
    )
    assert [row["channel_id"] for row in rows] == [post.channel_id for post in posts[3:]]


async def test_what_is_forgotten_leaves_nothing_behind_that_was_needed_to_compare_it(
    system: SystemStores, builder: StoryBuilder, morning: datetime, admin: asyncpg.Connection
) -> None:
    posts: list[PostId] = [post.id for post in await land_texts(system, morning, FIRE, FIRE_AGAIN)]
    await builder.group(posts, now=NOW)
    assert await admin.fetchval("SELECT count(*) FROM story_looks") > 0
    await system.post_terms.forget(datetime.now(UTC) + timedelta(days=8), limit=100_000)
    for table in ("post_terms", "term_postings", "story_looks"):
        assert await admin.fetchval(f"SELECT count(*) FROM {table}") == 0
