"""The stage stories: posts that tell the same are one story, whoever tells it,
in whichever order they come.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import batched, count, permutations

import asyncpg
import pytest

from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId
from telegram_assistant.domain.posts.post import Origin, Post
from telegram_assistant.domain.stories.story import LinkKind, StoryChange
from telegram_assistant.domain.stories.terms import MIN_TEXTS
from telegram_assistant.events import PostGrouped, PostIndexed, StoryChanged
from telegram_assistant.features.stories.trends import trends_since
from telegram_assistant.stages.stories import stories
from telegram_assistant.stores.postgres.database import Pool, SystemTransactions
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores, tenant_stores
from telegram_assistant.stores.postgres.stories.neighbours import MAX_FOUND
from telegram_assistant.stores.postgres.stories.post_terms import PostTerms
from telegram_assistant.understanding.stories import StoryBuilder
from testkit.factories import make_channel, make_page, make_post, make_subscription, make_tenant
from testkit.harness import own_cpu_seconds

INDEXED = datetime(2026, 11, 16, 8, 0, tzinfo=UTC)
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
    return INDEXED - timedelta(days=next(_days))


async def tell(system: SystemStores, *posts: Post, is_private: bool = False) -> None:
    for post in posts:
        if is_private:
            await system.channels.register(
                Channel(channel_id=post.channel_id, title="private", is_private=True)
            )
        await system.landing.land(make_page(post), Claim(post.channel_id, 0))


async def group(builder: StoryBuilder, *posts: Post) -> list[StoryChanged]:
    """How stories have changed."""
    emitted = await stories(
        [PostIndexed.about(post.id, 1, occurred_at=INDEXED) for post in posts], story_builder=builder
    )
    return [event for event in emitted if isinstance(event, StoryChanged)]


async def land_texts(system: SystemStores, morning: datetime, *texts: str) -> list[Post]:
    made = []
    for place, text in enumerate(texts):
        channel_id = await make_channel(system)
        made.append(
            make_post(
                channel_id=channel_id, message_id=1, text=text, posted_at=morning + timedelta(minutes=place)
            )
        )
    await tell(system, *made)
    return made


def edit_post(text: str, post: Post) -> Post:
    return make_post(
        channel_id=post.channel_id,
        message_id=1,
        text=text,
        posted_at=post.posted_at,
        edited_at=post.posted_at + timedelta(minutes=9),
    )


async def test_posts_that_tell_the_same_are_one_story_and_others_are_not(
    system: SystemStores, builder: StoryBuilder, morning: datetime
) -> None:
    fire, match, again = await land_texts(system, morning, FIRE, MATCH, FIRE_AGAIN)
    changed = await group(builder, fire, match, again)
    story_ids = await system.stories.of_posts([fire.id, match.id, again.id])
    assert story_ids[fire.id] == story_ids[again.id] != story_ids[match.id]
    assert {(event.post, event.change) for event in changed} == {
        (fire.id, StoryChange.JOINED),
        (again.id, StoryChange.JOINED),
        (match.id, StoryChange.CREATED),
    }


async def test_every_post_is_announced_as_grouped_with_its_story_if_it_has_one(
    system: SystemStores, builder: StoryBuilder, morning: datetime
) -> None:
    fire, silent, again = await land_texts(system, morning, FIRE, "", FIRE_AGAIN)
    events = [PostIndexed.about(post.id, 1, occurred_at=INDEXED) for post in (fire, silent, again)]
    for _ in range(2):  # also where everything is grouped already
        emitted = await stories(events, story_builder=builder)
        of_posts = await system.stories.of_posts([fire.id, again.id])
        assert {event.post: event.story_id for event in emitted if isinstance(event, PostGrouped)} == {
            fire.id: str(of_posts[fire.id]),
            silent.id: None,
            again.id: str(of_posts[fire.id]),
        }


async def test_a_post_with_two_revisions_in_one_batch_is_announced_with_the_newer_one(
    system: SystemStores, builder: StoryBuilder, morning: datetime
) -> None:
    (fire,) = await land_texts(system, morning, FIRE)
    emitted = await stories(
        [PostIndexed.about(fire.id, revision, occurred_at=INDEXED) for revision in (2, 1)],
        story_builder=builder,
    )
    assert [event.revision for event in emitted if isinstance(event, PostGrouped)] == [2]


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 1, 3, 0, 2)])
async def test_a_story_is_a_trend_for_whoever_follows_five_channels_that_told_it_within_half_an_hour(
    system: SystemStores, pool: Pool, builder: StoryBuilder, morning: datetime, order: tuple[int, ...]
) -> None:
    posts = await land_texts(system, morning, FIRE, FIRE_AGAIN, FIRE, FIRE_AGAIN, FIRE)
    everyone, somebody = [tenant_stores(pool, await follows(system, some)) for some in (posts, posts[1:])]
    trends = []
    for place in order:
        await group(builder, posts[place])
        trends.append(len(await trends_since(morning, stores=everyone)))
        assert await trends_since(morning, stores=somebody) == ()
    assert trends == [0, 0, 0, 0, 1]
    (trend,) = await trends_since(morning, stores=everyone)
    assert (trend.burst.found_at, trend.burst.channels) == (posts[4].posted_at, 5)
    assert await trends_since(posts[4].posted_at + timedelta(seconds=1), stores=everyone) == ()


async def follows(system: SystemStores, posts: Sequence[Post]) -> TenantId:
    tenant_id = await make_tenant(system)
    for post in posts:
        await system.channels.subscribe(tenant_id, make_subscription(post.channel_id))
    return tenant_id


async def test_running_twice_changes_nothing_and_tells_the_same(
    system: SystemStores, builder: StoryBuilder, morning: datetime
) -> None:
    posts = await land_texts(system, morning, FIRE, FIRE_AGAIN)
    first = await group(builder, *posts)
    story = next(iter(set((await system.stories.of_posts([post.id for post in posts])).values())))
    before = await system.stories.whole(story)
    assert {event.event_id for event in await group(builder, *posts)} == {event.event_id for event in first}
    assert await system.stories.whole(story) == before


async def test_stories_do_not_depend_on_the_order_in_which_posts_come(
    system: SystemStores, builder: StoryBuilder
) -> None:
    seen = set()
    for order in permutations(range(3)):
        posts = await land_texts(system, INDEXED - timedelta(days=next(_days)), FIRE, MATCH, FIRE_AGAIN)
        for place in order:
            await group(builder, posts[place])
        story_ids = await system.stories.of_posts([post.id for post in posts])
        seen.add(
            (
                order,
                story_ids[posts[0].id] == story_ids[posts[2].id],
                story_ids[posts[0].id] == story_ids[posts[1].id],
            )
        )
    assert {(same, other) for _, same, other in seen} == {(True, False)}


async def test_in_a_crowd_of_similar_posts_the_order_does_not_matter_either(
    system: SystemStores, builder: StoryBuilder
) -> None:
    """More posts share terms than each is compared with, so a late one takes another's place."""
    texts = [
        (
            f"В Нортвике на Заводской улице {'горит склад' if number % 3 else 'тушат гараж'}, "
            f"ранены {number % 7 + 2}, выехали {number % 5 + 3} расчётов"
        )
        for number in range(MAX_FOUND + 8)
    ]
    seen = set()
    for seed in range(3):
        posts = await land_texts(system, INDEXED - timedelta(days=next(_days)), *texts)
        order = list(range(len(posts)))
        if seed:
            random.Random(seed).shuffle(order)
        for start in range(0, len(order), 9):
            await group(builder, *(posts[place] for place in order[start : start + 9]))
        story_ids = await system.stories.of_posts([post.id for post in posts])
        stories_of = [story_ids[post.id] for post in posts]
        seen.add(tuple(stories_of.index(story) for story in stories_of))
    assert len(seen) == 1


async def test_a_channel_that_posts_the_same_all_day_costs_no_more_and_more(
    system: SystemStores, builder: StoryBuilder, morning: datetime
) -> None:
    """Only new posts are grouped where too many are connected; private ones still lead nowhere."""
    channel_id = await make_channel(system)
    posts = [
        make_post(
            channel_id=channel_id,
            message_id=n,
            text=f"{FIRE} Выпуск {n}.",
            posted_at=morning + timedelta(minutes=n),
        )
        for n in range(1, 605)
    ]
    for some in batched(posts, 200):
        await system.landing.land(make_page(*some), Claim(channel_id, 0))
        await group(builder, *some)
    before = await system.stories.of_posts([post.id for post in posts])
    hidden = make_post(
        channel_id=await make_channel(system),
        message_id=1,
        text=f"{FIRE} {MATCH}",
        posted_at=morning + timedelta(minutes=700),
    )
    await tell(system, hidden, is_private=True)
    last, other = await land_texts(system, morning + timedelta(minutes=701), FIRE, MATCH)
    used = own_cpu_seconds()
    for grouped in (hidden, last, other):
        await group(builder, grouped)
    assert own_cpu_seconds() - used < 2
    after = await system.stories.of_posts([post.id for post in (*posts, last, other)])
    assert {post: after[post] for post in before} == before
    assert after[last.id] in before.values()
    assert after[other.id] not in before.values()


async def test_an_edit_moves_a_post_and_the_story_keeps_its_id(
    system: SystemStores, builder: StoryBuilder, morning: datetime
) -> None:
    first, second, third = await land_texts(system, morning, FIRE, FIRE_AGAIN, FIRE)
    await group(builder, first, second, third)
    story = (await system.stories.of_posts([first.id]))[first.id]
    edited = edit_post(MATCH, third)
    await tell(system, edited)
    changed = await group(builder, edited)
    story_ids = await system.stories.of_posts([first.id, second.id, third.id])
    assert story_ids[first.id] == story_ids[second.id] == story != story_ids[third.id]
    assert StoryChange.CREATED in {event.change for event in changed}


async def test_an_edit_leaves_a_post_alone_that_nothing_links_any_more(
    system: SystemStores, builder: StoryBuilder, morning: datetime
) -> None:
    first, other = await land_texts(system, morning, FIRE, FIRE_AGAIN)
    await group(builder, first, other)
    edited = edit_post(MATCH, other)
    await tell(system, edited)
    await group(builder, edited)
    story_ids = await system.stories.of_posts([first.id, other.id])
    assert story_ids[first.id] != story_ids[other.id]


async def test_a_post_that_a_split_leaves_in_another_story_is_announced_again(
    system: SystemStores, builder: StoryBuilder, morning: datetime, admin: asyncpg.Connection
) -> None:
    first, other = await land_texts(system, morning, FIRE, FIRE_AGAIN)
    await group(builder, first, other)
    await tell(system, edited := edit_post(MATCH, first))
    await group(builder, edited)
    rows = await admin.fetch(
        "SELECT channel_id, payload::jsonb ->> 'story_id' AS story FROM notices "
        "WHERE event = 'posts.grouped' AND channel_id = ANY ($1)",
        [first.channel_id, other.channel_id],
    )
    story_ids = await system.stories.of_posts([other.id])
    assert [tuple(row) for row in rows] == [(other.channel_id, str(story_ids[other.id]))]


async def test_forwards_join_by_their_header_even_when_the_source_comes_later(
    system: SystemStores, builder: StoryBuilder, morning: datetime
) -> None:
    source = make_post(channel_id=await make_channel(system), message_id=7, text="Да", posted_at=morning)
    made = [
        replace(
            make_post(
                channel_id=await make_channel(system),
                message_id=1,
                text="Да",
                posted_at=morning + timedelta(minutes=place),
            ),
            forwarded_from=Origin(source.channel_id, MessageId(7)),
        )
        for place in (1, 2)
    ]
    await tell(system, *made)
    await group(builder, *made)
    story_ids = await system.stories.of_posts([post.id for post in made])
    assert len(set(story_ids.values())) == 1
    await tell(system, source)
    await group(builder, source)
    story_ids = await system.stories.of_posts([source.id, *(post.id for post in made)])
    assert len(story_ids) == 3
    assert len(set(story_ids.values())) == 1


async def test_a_private_post_joins_and_holds_nothing_together(
    system: SystemStores, builder: StoryBuilder, morning: datetime
) -> None:
    fire, match = await land_texts(system, morning, FIRE, MATCH)
    private = make_post(
        channel_id=await make_channel(system),
        message_id=1,
        text=f"{FIRE} {MATCH}",
        posted_at=morning + timedelta(minutes=5),
    )
    await tell(system, private, is_private=True)
    await group(builder, fire, match, private)
    story_ids = await system.stories.of_posts([fire.id, match.id, private.id])
    assert story_ids[fire.id] != story_ids[match.id]
    assert story_ids[private.id] in {story_ids[fire.id], story_ids[match.id]}
    links = (await system.stories.whole(story_ids[private.id])).links
    assert links
    assert all(link.is_leaf for link in links)


async def test_a_private_post_takes_no_story_apart(
    system: SystemStores, builder: StoryBuilder, morning: datetime
) -> None:
    posts = await land_texts(system, morning, *(f"{FIRE} Выпуск {number}." for number in range(5)))
    await group(builder, *posts)
    before = await system.stories.of_posts([post.id for post in posts])
    hidden = make_post(
        channel_id=await make_channel(system),
        message_id=1,
        text=FIRE,
        posted_at=morning + timedelta(minutes=9),
    )
    await tell(system, hidden, is_private=True)
    await group(builder, hidden)
    after = await system.stories.of_posts([*before, hidden.id])
    assert {post: after[post] for post in before} == before
    assert after[hidden.id] in before.values()


async def test_a_post_without_anything_to_compare_passes_without_a_story(
    system: SystemStores, builder: StoryBuilder, morning: datetime
) -> None:
    (silent,) = await land_texts(system, morning, "")
    assert await group(builder, silent) == []
    assert await group(builder, make_post(channel_id=ChannelId(5), message_id=9)) == []
    assert await system.stories.of_posts([silent.id, PostId(ChannelId(5), MessageId(9))]) == {}


async def test_what_a_story_says_of_its_links_is_true(
    system: SystemStores, builder: StoryBuilder, morning: datetime
) -> None:
    posts = await land_texts(system, morning, FIRE, f"{FIRE} Подробности уточняем.")
    await group(builder, *posts)
    story = await system.stories.whole((await system.stories.of_posts([posts[0].id]))[posts[0].id])
    assert [(link.post, link.other, link.kind) for link in story.links] == [
        (posts[1].id, posts[0].id, LinkKind.COPY)
    ]
    assert {member.link for member in story.members} == {LinkKind.COPY}


async def test_words_are_counted_as_soon_as_posts_have_doubled_however_fast_they_come(
    system: SystemStores,
    system_pool: Pool,
    builder: StoryBuilder,
    morning: datetime,
    admin: asyncpg.Connection,
) -> None:
    for table in ("post_terms", "term_postings", "term_counts"):
        await admin.execute(f"DELETE FROM {table}")
    terms = PostTerms(SystemTransactions(system_pool))
    assert (await terms.weights(INDEXED, [INDEXED])).of(INDEXED).known == {}
    channel_id = await make_channel(system)
    posts = [
        make_post(channel_id=channel_id, message_id=n, text=f"Снова снег, выпуск {n}", posted_at=morning)
        for n in range(1, MIN_TEXTS + 1)
    ]
    await system.landing.land(make_page(*posts), Claim(channel_id, 0))
    await group(builder, *posts)
    assert (await terms.weights(INDEXED, [INDEXED])).of(INDEXED).known == {}
    assert len((await terms.weights(INDEXED, [INDEXED] * MIN_TEXTS)).of(INDEXED).known) > 1
