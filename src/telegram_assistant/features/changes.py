"""Quiet changes: posts that channels edited or deleted after publishing them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.ids import ChannelId, PostId
from telegram_assistant.domain.posts.differences import Piece, pieces_of
from telegram_assistant.domain.posts.links import link_to
from telegram_assistant.stores.postgres.channels.channels import FollowedChannel
from telegram_assistant.stores.postgres.posts.changes import ChangeCursor, ChangeKind, ChangeOrder, QuietChange, change_cursor
from telegram_assistant.stores.postgres.stores import TenantStores


@dataclass(frozen=True, slots=True)
class DescribedChange:
    """A change with its channel, link and differences."""

    change: QuietChange
    channel: str
    link: str
    pieces: tuple[Piece, ...]


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
    channel_ids: Sequence[ChannelId] | None = None,
    limit: int = 50,
    after: ChangeCursor | None = None,
) -> ChangesPage:
    """Returns changes, newest first or those with the most views first; `after` is the cursor of the previous page."""
    found = await stores.changes.since(since, limit=limit + 1, order=order, kinds=kinds, channel_ids=channel_ids, after=after)
    shown = found[:limit]
    channels = await stores.followed.some({one.channel_id for one in shown})
    return ChangesPage(_describe(shown, channels), change_cursor(shown[-1]) if len(found) > limit else None)


def _describe(changes: Sequence[QuietChange], channels: Mapping[ChannelId, FollowedChannel]) -> tuple[DescribedChange, ...]:
    return tuple(
        DescribedChange(
            one, channel.title, link_to(PostId(one.channel_id, one.message_id), channel.username), pieces_of(one.difference, one.before, one.after)
        )
        for one in changes
        if (channel := channels.get(one.channel_id)) is not None
    )
