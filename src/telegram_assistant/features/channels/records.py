"""The records of channels: counts them for a tenant from the posts that it sees, and shows the posts behind
each number.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import batched

from telegram_assistant.domain.channels.record import (
    ChannelRecord,
    RecordedPost,
    RecordFact,
    first_report,
    pairs_of_owners,
    tellers_of,
)
from telegram_assistant.domain.ids import ChannelId, PostId
from telegram_assistant.domain.stories.visible import VisibleStory
from telegram_assistant.features.channels.channels import get_followed
from telegram_assistant.features.stories.telling import first_sentence
from telegram_assistant.stores.postgres.channels.channels import FollowedChannel
from telegram_assistant.stores.postgres.channels.records import PostBehindNumber
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.stories.own_stories import StoryMaterial
from telegram_assistant.summaries.denials import corrects_openly, denial_in, is_denied_by

PERIOD = timedelta(days=30)
STORIES_AT_ONCE = 100
CHANNELS_AT_ONCE = 20
MAX_LISTED = 200
"""Posts behind one number that are listed, the newest."""
MAX_FIRST_REPORTS = 10
"""Stories that a channel told first that stand beside its record, the newest."""


@dataclass(frozen=True, slots=True)
class StoryFacts:
    """Facts from stories about the channels that tell them."""

    stories: Counter[ChannelId]
    posts: tuple[RecordedPost, ...]


@dataclass(frozen=True, slots=True)
class RecordPosts:
    """The posts behind a number of a channel's record."""

    channel: FollowedChannel
    record: ChannelRecord | None
    """None: not counted yet."""
    posts: tuple[PostBehindNumber, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstReport:
    """A story that a channel told before the channels of all other owners, as the tenant sees it now."""

    post: PostId
    headline: str
    """The first sentence of the first post; empty for a picture."""
    posted_at: datetime
    deleted_at: datetime | None
    next_post: PostId | None
    """The first post of another owner."""
    next_channel: str
    """Empty if the tenant does not see it."""
    lead: timedelta | None
    """How much earlier the channel was; None if the tenant does not see the next post."""


@dataclass(frozen=True, slots=True)
class FullRecord:
    """The record of a channel, with the newest stories that it told first."""

    channel: FollowedChannel
    record: ChannelRecord | None
    """None: not counted yet."""
    first_reports: tuple[FirstReport, ...]


async def count_records(*, stores: TenantStores, now: datetime) -> int:
    """Replaces the records of a tenant. Returns how many channels were counted."""
    since = now - PERIOD
    facts = StoryFacts(Counter(), ())
    for story_ids in batched(await stores.records.find_stories(since, now), STORIES_AT_ONCE):
        material = await stores.stories.some(story_ids, until=now)
        story_facts = await asyncio.to_thread(_read_stories, material, since)
        facts = StoryFacts(facts.stories + story_facts.stories, facts.posts + story_facts.posts)
    records: list[ChannelRecord] = []
    posts = list(facts.posts)
    followed_channel_ids = [
        channel.channel_id for channel in await stores.followed.channels() if channel.active
    ]
    for channel_ids in batched(followed_channel_ids, CHANNELS_AT_ONCE):
        new_records, corrections = await _count_channels(channel_ids, stores=stores, since=since, now=now)
        records += new_records
        posts += corrections
    counts = Counter((post.fact, post.post.channel_id) for post in set(posts))
    await stores.records.keep([_complete(record, facts.stories, counts) for record in records], posts)
    return len(records)


async def load_records(
    channel_ids: Collection[ChannelId], *, stores: TenantStores
) -> Mapping[ChannelId, ChannelRecord]:
    """The records of these channels; those that were not counted yet have none."""
    return await stores.records.some(channel_ids) if channel_ids else {}


async def load_record(channel_id: ChannelId, *, stores: TenantStores) -> FullRecord:
    """Raises Missing if the tenant does not follow the channel."""
    channel, (record, reports) = await asyncio.gather(
        get_followed(channel_id, followed=stores.followed),
        load_first_reports(channel_id, stores=stores),
    )
    return FullRecord(channel, record, reports)


async def load_first_reports(
    channel_id: ChannelId, *, stores: TenantStores
) -> tuple[ChannelRecord | None, tuple[FirstReport, ...]]:
    """The record of a channel, and the newest stories that it told first; None and none if it was not
    counted yet.
    """
    record, posts = await stores.records.with_posts(channel_id, RecordFact.FIRST, limit=MAX_FIRST_REPORTS)
    return record, tuple(_first_report(post) for post in posts)


async def posts_behind_number(
    channel_id: ChannelId, fact: RecordFact, *, stores: TenantStores, limit: int = MAX_LISTED
) -> RecordPosts:
    """Raises Missing if the tenant does not follow the channel."""
    channel, (record, posts) = await asyncio.gather(
        get_followed(channel_id, followed=stores.followed),
        stores.records.with_posts(channel_id, fact, limit=limit),
    )
    return RecordPosts(channel, record, posts)


def _first_report(post: PostBehindNumber) -> FirstReport:
    return FirstReport(
        post=post.post,
        headline=first_sentence(post.text),
        posted_at=post.posted_at,
        deleted_at=post.deleted_at,
        next_post=post.other,
        next_channel=post.other_title,
        lead=None if post.other_at is None else post.other_at - post.posted_at,
    )


def _read_stories(material: StoryMaterial, since: datetime) -> StoryFacts:
    stories = Counter[ChannelId]()
    posts: list[RecordedPost] = []
    for story in material.stories():
        teller_ids = tellers_of(story, since)
        stories.update(teller_ids)
        if teller_ids:
            posts += _facts_of(story)
    return StoryFacts(stories, tuple(posts))


def _facts_of(story: VisibleStory) -> Sequence[RecordedPost]:
    first_post = first_report(story)
    denials = {post.post_id: denial for post in story.posts if (denial := denial_in(post.text))}
    denying = [post for post in story.posts if post.post_id in denials]
    denied_posts = {
        earlier_post.post_id: RecordedPost(RecordFact.DENIED, earlier_post.post_id, post.post_id)
        for earlier_post, post in reversed(list(pairs_of_owners(story, denying)))
        if is_denied_by(earlier_post.text, denials[post.post_id])
    }
    return [*([first_post] if first_post else []), *denied_posts.values()]


async def _count_channels(
    channel_ids: Sequence[ChannelId], *, stores: TenantStores, since: datetime, now: datetime
) -> tuple[list[ChannelRecord], list[RecordedPost]]:
    counts_by_channel = await stores.records.count_posts(since, now, channel_ids)
    candidates = await stores.records.find_corrections(since, now, channel_ids)
    corrected_ids = {post_id for post_id, text in candidates if corrects_openly(text)}
    edit_counts = Counter(
        post_id.channel_id
        for post_id in await stores.records.find_edits(since, now, channel_ids)
        if post_id not in corrected_ids
    )
    records = [
        ChannelRecord(
            channel_id=counts.channel_id,
            since=counts.since,
            counted_at=now,
            posts=counts.posts,
            forwarded=counts.forwarded,
            copied=counts.copied,
            edited=edit_counts[counts.channel_id],
            deleted=counts.deleted,
        )
        for counts in counts_by_channel
    ]
    return records, [RecordedPost(RecordFact.CORRECTED, post_id) for post_id in sorted(corrected_ids)]


def _complete(
    record: ChannelRecord,
    stories: Mapping[ChannelId, int],
    counts: Mapping[tuple[RecordFact, ChannelId], int],
) -> ChannelRecord:
    channel_id = record.channel_id
    return replace(
        record,
        stories=stories.get(channel_id, 0),
        first=counts.get((RecordFact.FIRST, channel_id), 0),
        corrected=counts.get((RecordFact.CORRECTED, channel_id), 0),
        denied=counts.get((RecordFact.DENIED, channel_id), 0),
    )
