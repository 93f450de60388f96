"""Quiet changes: posts that channels edited or deleted after publishing them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.ids import ChannelId, PostId
from telegram_assistant.domain.posts.differences import Piece, first_changed_sentence, pieces_of
from telegram_assistant.domain.posts.links import link_to
from telegram_assistant.domain.posts.meaning import MeaningChange, MeaningKind
from telegram_assistant.language.meaning_changes import meaning_changes
from telegram_assistant.stores.postgres.posts.changes import (
    ChangeCursor,
    ChangeKind,
    ChangeOrder,
    QuietChange,
    change_cursor,
)
from telegram_assistant.stores.postgres.stores import TenantStores


@dataclass(frozen=True, slots=True)
class DescribedChange:
    """A change with its channel, link and differences."""

    change: QuietChange
    channel: str
    link: str
    pieces: tuple[Piece, ...]
    meaning: tuple[MeaningChange, ...]

    @property
    def is_spelling(self) -> bool:
        """Whether nothing but the spelling changed."""
        return bool(self.meaning) and all(change.kind is MeaningKind.SPELLING for change in self.meaning)

    @property
    def is_deletion(self) -> bool:
        return self.change.kind is ChangeKind.DELETED

    @property
    def changed_line(self) -> tuple[Piece, ...]:
        """The first sentence that changed; nothing for a deletion, and until the texts have been compared."""
        return first_changed_sentence(self.pieces)


@dataclass(frozen=True, slots=True)
class ChangesPage:
    """A page of changes; `next` is None on the last page."""

    changes: tuple[DescribedChange, ...]
    next: ChangeCursor | None


async def quiet_changes(
    since: datetime,
    *,
    stores: TenantStores,
    order: ChangeOrder = ChangeOrder.NEWEST,
    kinds: Sequence[ChangeKind] = tuple(ChangeKind),
    meanings: Sequence[MeaningKind] = (),
    channel_ids: Sequence[ChannelId] | None = None,
    limit: int = 50,
    after: ChangeCursor | None = None,
) -> ChangesPage:
    """Returns changes in one of three orders; `after` is the cursor of the previous page, `meanings` what
    must have changed in the meaning.

    The meaning of edits that were stored by an earlier release is compared here, when they are shown; orders
    and filters do not know it.
    """
    changes = await stores.changes.since(
        since,
        limit=limit + 1,
        order=order,
        kinds=kinds,
        meanings=meanings,
        channel_ids=channel_ids,
        after=after,
    )
    page = changes[:limit]
    return ChangesPage(
        await describe_changes(page), change_cursor(page[-1]) if len(changes) > limit else None
    )


async def load_changes(
    channel_id: ChannelId, *, stores: TenantStores, since: datetime, limit: int
) -> tuple[DescribedChange, ...]:
    """The newest changes of one channel."""
    return await describe_changes(await stores.changes.since(since, limit=limit, channel_ids=(channel_id,)))


async def describe_changes(changes: Sequence[QuietChange]) -> tuple[DescribedChange, ...]:
    described_changes = []
    for change in changes:
        meaning = change.meaning
        if meaning is None:
            meaning = meaning_changes(change.before, change.after) if change.kind is ChangeKind.EDITED else ()
            await asyncio.sleep(0)  # comparing long texts takes milliseconds
        link = link_to(PostId(change.channel_id, change.message_id), change.username)
        described_changes.append(
            DescribedChange(
                change,
                change.channel,
                link,
                pieces_of(change.difference, change.before, change.after),
                meaning,
            )
        )
    return tuple(described_changes)
