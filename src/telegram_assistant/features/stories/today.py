"""Today: what is new for a person since their last visit, in figures, and what else happened meanwhile."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from itertools import groupby
from zoneinfo import ZoneInfo

from telegram_assistant.domain.digests.plan import next_moment
from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.posts.meaning import MeaningKind
from telegram_assistant.domain.stories.keeping import kept_with_story
from telegram_assistant.domain.stories.reading_time import minutes_to_read
from telegram_assistant.domain.stories.visible import Grouping, VisibleStory
from telegram_assistant.features.posts.changes import DescribedChange, quiet_changes
from telegram_assistant.features.stories.keyword_trends import ExplainedTrend
from telegram_assistant.features.stories.stories import MAX_AGE, ListedStory, recent_stories
from telegram_assistant.features.stories.telling import summary_of
from telegram_assistant.stores.postgres.digests.digests import PersonDigests
from telegram_assistant.stores.postgres.feed.choices import Mutes, ReadingVisit
from telegram_assistant.stores.postgres.feed.person_feed import PostTally, ReadingScope
from telegram_assistant.stores.postgres.posts.changes import ChangeKind, ChangeOrder
from telegram_assistant.stores.postgres.stores import PersonStores, TenantStores
from telegram_assistant.stores.postgres.watches.alerts import Alert

DAY = timedelta(days=1)
FIRST_REACH = timedelta(days=3)
"""How far a first visit looks back."""
AWAY_AFTER = timedelta(days=2)
"""A person who comes back later than this was away, and is offered to catch up."""
MAX_AWAY = timedelta(days=14)
MAX_STORIES = 20
STORIES_AFTER_ABSENCE = 60
QUIET_REACH = DAY
EVENTS_KEPT_FOR = timedelta(minutes=5)
"""Names that rise take long to count."""
MAX_CHANGES = 2
MAX_ALERTS = 3
MAX_RISING = 3
SPARE_CHANGES = 10
"""Read beside those that are told, in place of those from channels that the person mutes."""
TELLING_CHANGES = tuple(kind for kind in MeaningKind if kind is not MeaningKind.SPELLING)


@dataclass(frozen=True, slots=True)
class UnreadAlerts:
    """The newest alerts that nobody has seen, and how many there are."""

    alerts: tuple[Alert, ...]
    count: int


@dataclass(frozen=True, slots=True)
class DisputedNumber:
    """A number that others contradict, with the first post that gives it and its channel."""

    number: str
    channel: str
    post_id: PostId


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """Events in the tenant's channels beside the stories. They are the same for everybody in the tenant."""

    changes: tuple[DescribedChange, ...]
    """Edits that changed the meaning, those with the most readers first."""
    rising: tuple[ExplainedTrend, ...]

    def changes_for(self, mutes: Mutes) -> tuple[DescribedChange, ...]:
        muted_channel_ids = {channel.channel_id for channel in mutes.channels}
        return tuple(change for change in self.changes if change.change.channel_id not in muted_channel_ids)[
            :MAX_CHANGES
        ]


@dataclass(frozen=True, slots=True)
class MissedStories:
    """Stories that began and ended while a person was away, by the day of their end, the oldest first."""

    days_away: int
    stories: int
    minutes: int
    days: tuple[tuple[date, tuple[ListedStory, ...]], ...]


@dataclass(frozen=True, slots=True)
class Today:
    """The news that a person finds when they come back."""

    before_at: datetime | None
    """When they were here before; None on the first visit."""
    grouping: Grouping
    stories: tuple[ListedStory, ...]
    """Those with news first, without those of `catch_up`."""
    catch_up: MissedStories | None
    """None for who was here within two days."""
    tally: PostTally
    alerts: UnreadAlerts
    next_digest_at: datetime | None
    """None without a plan."""

    @property
    def new_stories(self) -> tuple[ListedStory, ...]:
        return tuple(story for story in self.stories if story.new)

    @property
    def minutes(self) -> int:
        """To read the stories with news, or else all."""
        return minutes_to_read(text for story in self.new_stories or self.stories for text in _texts(story))


async def peek_today(
    *,
    stores: TenantStores,
    own: PersonStores,
    now: datetime,
    zone: tzinfo,
    folder: str | None = None,
    language: str | None = None,
) -> Today:
    """The news that the person would find now. No visit is recorded."""
    visit = await own.choices.last_visit(now)
    return await read_today(
        visit, stores=stores, own=own, now=now, zone=zone, folder=folder, language=language
    )


async def read_today(
    visit: ReadingVisit,
    *,
    stores: TenantStores,
    own: PersonStores,
    now: datetime,
    zone: tzinfo,
    since: datetime | None = None,
    folder: str | None = None,
    language: str | None = None,
) -> Today:
    """The stories since then, or else since the last visit; figures of the same time; and what is unread."""
    before_at = visit.before_at
    was_away = since is None and before_at is not None and now - before_at >= AWAY_AFTER
    recent, tally, alerts, next_at = await asyncio.gather(
        recent_stories(
            since or _reach(before_at, now),
            stores=stores,
            now=now,
            seen_at=before_at,
            folder=folder,
            mutes=visit.mutes,
            language=language,
            limit=STORIES_AFTER_ABSENCE if was_away else MAX_STORIES,
            max_age=MAX_AWAY if was_away else MAX_AGE,
        ),
        own.reading.tally(ReadingScope(folder=folder), since=since or before_at or now - FIRST_REACH),
        unread_alerts(stores=stores),
        next_digest_at(digests=own.digests, now=now),
    )
    ended_stories = (
        [story for story in recent.stories if story.new and _has_ended(story, now=now)] if was_away else []
    )
    return Today(
        before_at,
        recent.grouping,
        tuple(story for story in recent.stories if story not in ended_stories)[:MAX_STORIES],
        _catch_up(ended_stories, now - before_at, zone) if was_away and before_at else None,
        tally,
        alerts,
        next_at,
    )


def _reach(before_at: datetime | None, now: datetime) -> datetime:
    """After a visit a day at least: whoever was here an hour ago still finds the stories of the day below the
    new ones.
    """
    return min(before_at, now - DAY) if before_at else now - FIRST_REACH


async def load_disputes(
    stories: Sequence[ListedStory], *, language: str | None = None
) -> dict[PostId, tuple[DisputedNumber, ...]]:
    """By story: the numbers of its first dispute. Stories on which channels agree are left out."""

    def find_all() -> dict[PostId, tuple[DisputedNumber, ...]]:
        disputes = {story.story.story_id: _disputed_numbers(story.story, language) for story in stories}
        return {story_id: numbers for story_id, numbers in disputes.items() if numbers}

    return await asyncio.to_thread(find_all)


@kept_with_story
def _disputed_numbers(story: VisibleStory, language: str | None) -> tuple[DisputedNumber, ...]:
    summary = summary_of(story, language=language)
    if summary is None or not summary.disputed:
        return ()
    channels = {post.post_id: post.channel for post in story.posts}
    dispute = summary.disputed[0]
    return tuple(
        DisputedNumber(claim.number, channels[claim.posts[0]], claim.posts[0])
        for claim in (dispute.stands, *dispute.others)
    )


async def unread_alerts(*, stores: TenantStores, limit: int = MAX_ALERTS) -> UnreadAlerts:
    return UnreadAlerts(*await stores.alerts.unread(limit=limit))


async def meanwhile(
    *, stores: TenantStores, now: datetime, rising: tuple[ExplainedTrend, ...] = ()
) -> Meanwhile:
    """The quiet changes of the last day, and the names that rise now."""
    page = await quiet_changes(
        now - QUIET_REACH,
        stores=stores,
        order=ChangeOrder.REACH,
        kinds=(ChangeKind.EDITED,),
        meanings=TELLING_CHANGES,
        limit=MAX_CHANGES + SPARE_CHANGES,
    )
    return Meanwhile(page.changes, rising[:MAX_RISING])


async def last_checked_at(*, stores: TenantStores) -> datetime | None:
    """When a channel of the tenant was read last."""
    return await stores.coverage_overview.last_checked_at()


async def next_digest_at(*, digests: PersonDigests, now: datetime) -> datetime | None:
    """When the person's next digest comes; None without a plan."""
    plan = await digests.plan()
    return next_moment(plan, zone=ZoneInfo(plan.zone), now=now)


def _catch_up(ended_stories: Sequence[ListedStory], absence: timedelta, zone: tzinfo) -> MissedStories:
    stories = sorted(ended_stories, key=lambda story: story.story.newest_news.posted_at)
    by_day = groupby(stories, key=lambda story: story.story.newest_news.posted_at.astimezone(zone).date())
    return MissedStories(
        absence.days,
        len(stories),
        minutes_to_read(story.telling.headline for story in stories),
        tuple((day, tuple(day_stories)) for day, day_stories in by_day),
    )


def _has_ended(story: ListedStory, *, now: datetime) -> bool:
    """Whether nobody has said anything new about it for a day."""
    return now - story.story.newest_news.posted_at >= DAY


def _texts(story: ListedStory) -> tuple[str, ...]:
    telling = story.telling
    return (telling.headline, telling.before, *(sentence.text for sentence in telling.sentences))
