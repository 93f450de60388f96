"""Caught changing: the quiet changes of a week with the most readers."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.posts.meaning import MeaningKind
from telegram_assistant.features.posts.changes import DescribedChange, describe_changes
from telegram_assistant.stores.postgres.posts.changes import ChangeKind, ChangeOrder, QuietChange
from telegram_assistant.stores.postgres.stores import TenantStores

WEEK = timedelta(days=7)
MAX_CAUGHT = 5
CANDIDATES = 40
"""Of each kind: a post may have changed several times, and a picture has no words to show."""
TELLING_KINDS = tuple(kind for kind in MeaningKind if kind is not MeaningKind.SPELLING)
FIRST_DAY, LAST_DAY = date(2013, 1, 7), date(2199, 12, 31)
"""Weeks that may be asked for: Telegram is not older."""


@dataclass(frozen=True, slots=True)
class CaughtChanges:
    """Changes that were noticed from `since` to before `until`, those with the most views first."""

    since: datetime
    until: datetime
    changes: tuple[DescribedChange, ...]

    @property
    def last_day(self) -> date:
        return (self.until - timedelta(days=1)).date()


async def caught_changes(last_day: date, *, stores: TenantStores) -> CaughtChanges:
    """The five of the seven days that end with this one, in UTC: edits that changed the meaning, and
    deletions. A post counts once, with its newest change; advertising does not count.
    """
    until = datetime.combine(last_day, time(), UTC) + timedelta(days=1)
    since = until - WEEK
    edits, deletions = await asyncio.gather(
        *(
            stores.changes.since(
                since,
                before=until,
                limit=CANDIDATES,
                order=ChangeOrder.REACH,
                kinds=(kind,),
                meanings=meanings,
                with_ads=False,
            )
            for kind, meanings in ((ChangeKind.EDITED, TELLING_KINDS), (ChangeKind.DELETED, ()))
        )
    )
    most_viewed = _choose(edits + deletions)
    described_changes = await describe_changes(most_viewed)
    return CaughtChanges(since, until, tuple(filter(_has_words, described_changes))[:MAX_CAUGHT])


def _has_words(change: DescribedChange) -> bool:
    """Whether there is something to show; an edit has nothing until its texts have been compared."""
    return bool(change.change.before.strip() if change.is_deletion else change.changed_line)


def _choose(changes: Iterable[QuietChange]) -> list[QuietChange]:
    """Of each post the newest change, the most viewed post first."""
    newest: dict[PostId, QuietChange] = {}
    for change in changes:
        known_change = newest.get(change.post_id)
        if known_change is None or change.changed_at > known_change.changed_at:
            newest[change.post_id] = change
    return sorted(
        newest.values(),
        key=lambda change: (change.views or 0, change.changed_at, change.post_id),
        reverse=True,
    )
