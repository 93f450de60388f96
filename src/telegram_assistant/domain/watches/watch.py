"""Watches: what a tenant wants to be told about, how urgently, and when not."""

from dataclasses import dataclass, field
from datetime import datetime, time
from enum import StrEnum
from uuid import UUID

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.search.query import Query
from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason

MAX_NAME_LETTERS = 100
MAX_SILENT_HOURS = 24 * 90
MAX_STORY_POSTS = 10_000
RECENT_DAYS = 7
"""For so many days back the alerts of a watch are counted day by day."""


class WatchKind(StrEnum):
    """The kind of event that a watch looks for."""

    WORDS = "words"
    """New posts that match a query."""
    MEANING = "meaning"
    """New posts that mean the same as a text. Needs vectors."""
    MENTION = "mention"
    """The first post of each channel that matches a query."""
    CHANGES = "changes"
    """Edits and deletions of posts that match a query."""
    SILENCE = "silence"
    """Channels that have published nothing for some hours."""
    STORY = "story"
    """Stories that reach a number of posts."""


class AlertSeverity(StrEnum):
    """How urgent an alert is. Critical alerts are delivered in quiet hours too."""

    LOW = "low"
    NORMAL = "normal"
    CRITICAL = "critical"


class AlertKind(StrEnum):
    """The kind of event that raised an alert."""

    POSTED = "posted"
    MENTIONED = "mentioned"
    EDITED = "edited"
    DELETED = "deleted"
    SILENT = "silent"
    GROWN = "grown"
    FOLLOWED = "followed"
    """A new post, no copy, of a story that a person follows. Only that person sees the alert."""


@dataclass(frozen=True, slots=True)
class QuietHours:
    """The part of each day in which nothing is delivered; it may pass midnight."""

    begins: time
    ends: time


def parse_time_of_day(text: str) -> time | None:
    """Reads what a person typed; None if it is empty. Raises Rejected if it is no time like 22:00."""
    try:
        return time.fromisoformat(text.strip()).replace(tzinfo=None) if text.strip() else None
    except ValueError as error:
        raise Rejected(Reason("time_of_day_invalid", "write a time of day like 22:00")) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchTarget:
    """The posts or events that a watch looks for, as a person has entered them."""

    kind: WatchKind
    query: str
    """In the query language of search; for a meaning, a text. Empty where the kind allows it."""
    hours: int | None = None
    """How long a channel must be silent."""
    posts: int | None = None
    """How many posts a story must have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    """How the alerts of a watch are delivered."""

    severity: AlertSeverity = AlertSeverity.NORMAL
    quiet: QuietHours | None = None
    zone: str = "UTC"
    """The zone of the quiet hours: that of the person who chose them."""
    receivers: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """A stored watch."""

    watch_id: UUID
    name: str
    target: WatchTarget
    options: WatchOptions
    created_by: str
    created_at: datetime
    paused_at: datetime | None
    alerts: int = 0
    """How many alerts it has raised."""
    unread: int = 0
    recent_days: tuple[int, ...] = (0,) * RECENT_DAYS
    """How many alerts it has raised about each of the last seven times 24 hours, the newest at the end."""

    @property
    def recent(self) -> int:
        """How many alerts it has raised about the last seven days."""
        return sum(self.recent_days)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchConditions:
    """The conditions that a post must meet: a query with its channels and tags resolved for one tenant."""

    query: Query = field(default_factory=Query)
    channel_ids: tuple[ChannelId, ...] | None = None
    tags: tuple[str, ...] = ()

    @property
    def alternatives(self) -> list[str]:
        """Each alternative of the query as text."""
        return [" ".join(map(str, terms)) for terms in self.query.alternatives]

    @property
    def positives(self) -> list[str]:
        """The words of each alternative that a post must contain."""
        return [
            " ".join(term.text for term in terms if not term.is_excluded) for terms in self.query.alternatives
        ]

    def is_too_wide(self, kind: WatchKind) -> bool:
        """Whether neither words nor channels nor tags limit it.

        Words that PostgreSQL ignores (`and`) are found out when it is indexed.
        """
        return (
            kind in {WatchKind.WORDS, WatchKind.MENTION}
            and not self.other_terms(kind)
            and not (self.positives and all(self.positives))
        )

    def other_terms(self, kind: WatchKind) -> list[str]:
        """The terms by which the watch is found where no word can be required of a post."""
        if self.channel_ids is not None:
            return [f"c:{channel_id}" for channel_id in self.channel_ids]
        if self.tags:
            return [f"t:{tag}" for tag in self.tags]
        return ["a:"] if kind is WatchKind.CHANGES else []


TOO_WIDE = Reason(
    "watch_too_wide",
    "this would match almost every post; add a word, a channel (from:@name) or a tag (tag:name)",
)


def check_target(target: WatchTarget, query: Query) -> None:
    """Raises Rejected, with what to write instead, if such a watch makes no sense."""
    if query.since is not None or query.until is not None:
        raise Rejected(
            Reason(
                "watch_has_days",
                "a watch checks only new posts; remove since:, until:, after:, before: and on:",
            )
        )
    if query.is_edited or query.is_deleted:
        raise Rejected(
            Reason(
                "watch_has_changes",
                "to hear of edits and deletions, choose a watch for changes, and remove edited: and deleted:",
            )
        )
    match target.kind:
        case WatchKind.WORDS | WatchKind.MENTION if query == Query(with_ads=query.with_ads):
            raise Rejected(Reason("watch_empty", "write a word, a phrase or a filter such as from:@channel"))
        case WatchKind.MENTION if not query.meaning:
            raise Rejected(
                Reason("mention_needs_words", "write the name whose first mention you want to hear of")
            )
        case WatchKind.MEANING if not query.meaning:
            raise Rejected(
                Reason("meaning_needs_words", "describe in a few words what the posts should be about")
            )
        case WatchKind.SILENCE if query != Query(channels=query.channels):
            raise Rejected(
                Reason(
                    "silence_only_channels",
                    "silence is about channels; write only from:@name, or nothing for all channels",
                )
            )
        case WatchKind.SILENCE if target.hours is None or not 0 < target.hours <= MAX_SILENT_HOURS:
            raise Rejected(
                Reason(
                    "silence_needs_hours",
                    "enter the hours of silence, from 1 to {max_hours}",
                    max_hours=MAX_SILENT_HOURS,
                )
            )
        case WatchKind.STORY if target.posts is None or not 1 < target.posts <= MAX_STORY_POSTS:
            raise Rejected(
                Reason(
                    "story_needs_posts",
                    "enter the number of posts in the story, from 2 to {max_posts}",
                    max_posts=MAX_STORY_POSTS,
                )
            )
        case _:
            return
