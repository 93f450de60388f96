"""Quiet changes: what channels edited or deleted after they had published it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.differences import Piece, difference
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.features.search import link_to
from telegram_assistant.stores.postgres.changes import ChangeKind, ChangeOrder, QuietChange
from telegram_assistant.stores.postgres.stores import TenantStores


@dataclass(frozen=True, slots=True)
class Told:
    """A change, and how to show it."""

    change: QuietChange
    channel: str
    link: str
    pieces: tuple[Piece, ...]


async def quiet_changes(
    since: datetime,
    *,
    stores: TenantStores,
    order: ChangeOrder = ChangeOrder.NEWEST,
    kinds: Sequence[ChangeKind] = tuple(ChangeKind),
    channel_ids: Sequence[ChannelId] | None = None,
    limit: int = 50,
) -> tuple[Told, ...]:
    """Newest first, or those first that most people had seen."""
    channels = {channel.channel_id: channel for channel in await stores.followed.channels()}
    changes = await stores.changes.since(since, limit=limit, order=order, kinds=kinds, channel_ids=channel_ids)
    return tuple(
        Told(one, channel.title, link_to(one.message_id, channel), difference(one.before, one.after))
        for one in changes
        if (channel := channels.get(one.channel_id)) is not None
    )
