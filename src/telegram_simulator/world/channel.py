"""A channel: its posts newest first, its edits and deletions, and the log of what happened (pts)."""

from array import array
from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol

from telegram_simulator.world.post import Entity, Post

KEPT_EVENTS = 100_000


type Edited = tuple[str, tuple[Entity, ...] | None]
"""A text after an edit, and its marks; None: those that still fit."""


class Past(Protocol):
    """Posts that follow from a seed. They are computed when asked, not stored."""

    def post(self, number: int, message_id: int) -> Post: ...
    def edit(self, number: int, version: int) -> Edited: ...
    def date(self, number: int) -> int: ...
    def about(self, number: int) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Change:
    """An edit. Without a text of its own, the text follows from the post and the number of the edit."""

    at: int
    text: str | None = None
    hidden: bool = False
    reactions: tuple[tuple[str, int], ...] | None = None


class Kind(IntEnum):
    """The kind of an event of the log."""

    NEW = 0
    EDIT = 1
    DELETE = 2


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a channel; `pts` is the counter after it."""

    pts: int
    kind: Kind
    message_id: int


class Channel:
    """One channel.

    Message ids are 1, 2, 3 …; the first ones come from the past, later ones were posted while it lived.
    """

    def __init__(
        self, channel_id: int, *, title: str, username: str | None, created: int, past: Past, past_count: int
    ) -> None:
        self.channel_id = channel_id
        self.title = title
        self.username = username
        self.created = created
        self.members = 1000
        self.invite: str | None = None
        self.protected = False
        self.asks_before_joining = False
        self.has_preview = True
        """Whether a channel with a name has a public preview."""
        self.is_group = False
        """Everybody may write in it: a group that has grown, which Telegram calls a channel too."""
        self.changed_at = created
        self.banned: set[str] = set()
        """Phones of accounts that may not look any more."""
        self._past = past
        self._past_count = past_count
        self._later: list[Post | int] = []
        """Posts made while it lives, by id above the past: as they are,
        or the number of a post that the past foretold.
        """
        self._changes: dict[int, tuple[Change, ...]] = {}
        self._views: dict[int, int] = {}
        self._deleted: list[int] = []
        self._deleted_at: dict[int, int] = {}
        self._told_from = max(past_count - KEPT_EVENTS, 0)
        self._pts_before_log = past_count
        self._log: array[int] = array("q")

    # --- reading ---

    @property
    def group_id(self) -> int:
        """The discussion group in which comments would stand."""
        return self.channel_id + 500_000_000

    @property
    def is_private(self) -> bool:
        return self.username is None

    @property
    def newest_id(self) -> int:
        return self._past_count + len(self._later)

    @property
    def alive(self) -> int:
        return self.newest_id - len(self._deleted)

    @property
    def pts(self) -> int:
        return self._pts_before_log + len(self._log) or 1

    def get(self, message_id: int) -> Post | None:
        """The post as it is now; None when it does not exist (any more)."""
        if not 1 <= message_id <= self.newest_id or message_id in self._deleted_at:
            return None
        if message_id <= self._past_count and message_id not in self._changes:
            post = self._past.post(message_id - 1, message_id)
        else:
            post = self._at_version(message_id, len(self._changes.get(message_id, ())))
        return post._replace(views=self._views[message_id]) if message_id in self._views else post

    def date_of(self, message_id: int) -> int:
        if message_id <= self._past_count:
            return self._past.date(message_id - 1)
        later_post = self._later[message_id - self._past_count - 1]
        return later_post.date if isinstance(later_post, Post) else self._past.date(later_post)

    def window(self, start: int, limit: int) -> list[int]:
        """Ids of the alive messages at positions [start, start + limit), newest first;
        a negative start shows nothing above the newest.
        """
        first_index, end_index = max(start, 0), min(start + limit, self.alive)
        if not self._deleted:
            return list(range(self.newest_id - first_index, self.newest_id - end_index, -1))
        ids: list[int] = []
        message_id = self._nth_newest(first_index) if first_index < end_index else 0
        while len(ids) < end_index - first_index:
            if message_id not in self._deleted_at:
                ids.append(message_id)
            message_id -= 1
        return ids

    def alive_from(self, message_id: int) -> int:
        """How many alive messages have this id or a higher one."""
        message_id = max(message_id, 1)
        if message_id > self.newest_id:
            return 0
        return self.newest_id - message_id + 1 - (len(self._deleted) - bisect_left(self._deleted, message_id))

    def alive_since(self, date: int) -> int:
        """How many alive messages are not older than the date."""
        low, high = 1, self.newest_id + 1
        while low < high:
            middle = (low + high) // 2
            if self.date_of(middle) < date:
                low = middle + 1
            else:
                high = middle
        return self.alive_from(low)

    def versions(self, message_id: int) -> list[Post]:
        """Every text the post ever had, oldest first, deleted or not."""
        return [
            self._at_version(message_id, number)
            for number in range(len(self._changes.get(message_id, ())) + 1)
        ]

    def about(self, message_id: int) -> dict[str, Any]:
        """Facts about a post that only the maker of the world knows; empty for posts from outside."""
        number: Post | int = (
            message_id - 1
            if message_id <= self._past_count
            else self._later[message_id - self._past_count - 1]
        )
        return {} if isinstance(number, Post) else self._past.about(number)

    def deleted_at(self, message_id: int) -> int | None:
        return self._deleted_at.get(message_id)

    def events_after(self, pts: int, limit: int) -> list[Event] | None:
        """The events after the counter; None if the log no longer reaches back so far."""
        if pts < self._told_from:
            return None
        # In the past every post was one event, so its id is its pts.
        events = [
            Event(number, Kind.NEW, number)
            for number in range(pts + 1, min(self._pts_before_log, pts + limit) + 1)
        ]
        start = max(pts - self._pts_before_log, 0)
        for offset, code in enumerate(self._log[start : start + limit - len(events)]):
            events.append(Event(self._pts_before_log + start + offset + 1, Kind(code & 3), code >> 2))
        return events

    def _at_version(self, message_id: int, version: int) -> Post:
        if message_id <= self._past_count:
            number: int | None = message_id - 1
            post = self._past.post(message_id - 1, message_id)
        else:
            later_post = self._later[message_id - self._past_count - 1]
            number = None if isinstance(later_post, Post) else later_post
            post = later_post if isinstance(later_post, Post) else self._past.post(later_post, message_id)
        for index, change in enumerate(self._changes.get(message_id, ())[:version], 1):
            text, marks = self._apply_edit(change, post, number, index)
            entities = _still_marked(post, text) if marks is None else marks
            reactions = post.reactions if change.reactions is None else change.reactions
            post = post._replace(
                text=text,
                entities=entities,
                edit_date=change.at,
                edit_hidden=change.hidden,
                reactions=reactions,
            )
        return post

    def _apply_edit(self, change: Change, post: Post, number: int | None, version: int) -> Edited:
        if change.text is not None:
            return change.text, None
        return (post.text, None) if number is None else self._past.edit(number, version)

    def _nth_newest(self, position: int) -> int:
        """The id of the alive message at this position, counted from the newest."""
        low, high = 1, self.newest_id
        while low < high:
            middle = (low + high + 1) // 2
            if self.alive_from(middle) > position:
                low = middle
            else:
                high = middle - 1
        return low

    # --- living ---

    def add(self, make: Callable[[int], Post]) -> Post:
        """Post something; `make` is told the id that it gets."""
        post = make(self.newest_id + 1)
        self._later.append(post)
        self._log_event(Kind.NEW, post.message_id, post.date)
        return post

    def foretold(self, number: int) -> Post:
        """The past goes on: its next post appears."""
        message_id = self.newest_id + 1
        self._later.append(number)
        post = self._past.post(number, message_id)
        self._log_event(Kind.NEW, message_id, post.date)
        return post

    def edit(self, message_id: int, change: Change) -> Post | None:
        if self.get(message_id) is None:
            return None
        self._changes[message_id] = (*self._changes.get(message_id, ()), change)
        self._log_event(Kind.EDIT, message_id, change.at)
        return self.get(message_id)

    def rewrite(self, message_id: int, at: int) -> bool:
        """Edits a post; its new text follows from the post. This takes almost no memory, and the post is not
        built.
        """
        if message_id in self._deleted_at or not 1 <= message_id <= self.newest_id:
            return False
        self._changes[message_id] = (*self._changes.get(message_id, ()), Change(at))
        self._log_event(Kind.EDIT, message_id, at)
        return True

    def delete(self, message_ids: Sequence[int], at: int) -> list[int]:
        """Deletes the messages that exist. Returns their ids."""
        deleted_ids = [
            number
            for number in dict.fromkeys(message_ids)
            if 1 <= number <= self.newest_id and number not in self._deleted_at
        ]
        for number in deleted_ids:
            self._deleted_at[number] = at
            insort(self._deleted, number)
            self._log_event(Kind.DELETE, number, at)
        return deleted_ids

    def restore(self, message_id: int) -> None:
        """Makes a hidden post visible again, without an event."""
        if self._deleted_at.pop(message_id, None) is not None:
            self._deleted.remove(message_id)

    def set_views(self, message_id: int, view_count: int) -> None:
        self._views[message_id] = view_count

    def trim_log(self, keep: int) -> None:
        """Forgets all but the newest events: clients that were away for long cannot learn the others."""
        self._told_from = max(self._told_from, self.pts - keep)
        surplus = max(self._told_from - self._pts_before_log, 0)
        self._pts_before_log += surplus
        del self._log[:surplus]

    def _log_event(self, kind: Kind, message_id: int, at: int) -> None:
        self.changed_at = max(self.changed_at, at)
        self._log.append(message_id << 2 | kind)
        if len(self._log) > KEPT_EVENTS * 2:
            self.trim_log(KEPT_EVENTS)


def _still_marked(post: Post, text: str) -> tuple[Entity, ...]:
    """Marks of an edited text: those before the first letter that changed."""
    if text == post.text:
        return post.entities
    pairs = enumerate(zip(post.text, text, strict=False))
    same_length = next(
        (pair_index for pair_index, (old_letter, new_letter) in pairs if old_letter != new_letter),
        min(len(post.text), len(text)),
    )
    units = len(text[:same_length].encode("utf-16-le")) // 2
    return tuple(entity for entity in post.entities if entity.offset + entity.length <= units)


@dataclass(frozen=True, slots=True)
class Listed:
    """A past that is simply a list."""

    posts: tuple[Post, ...]

    def post(self, number: int, message_id: int) -> Post:
        return self.posts[number]._replace(message_id=message_id)

    def edit(self, number: int, version: int) -> Edited:
        return f"{self.posts[number].text} (edit {version})", None

    def date(self, number: int) -> int:
        return self.posts[number].date

    def about(self, _number: int) -> dict[str, Any]:
        return {}
