"""Following the channels of a list, each line of which keeps its fate: the waiting ones as requests,
the others beside them.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from telegram_assistant.domain.channels.channel import parse_reference
from telegram_assistant.domain.channels.channel_requests import RequestKind
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.errors import Rejected
from telegram_assistant.features.channels.channel_lists import ListedChannel
from telegram_assistant.features.channels.channels import KINDS, RequestedChannel, follow
from telegram_assistant.features.channels.joined_channels import follow_picked
from telegram_assistant.reasons import Reason, quote
from telegram_assistant.stores.postgres.channels.channels import Subscription
from telegram_assistant.stores.postgres.channels.request_fates import AnsweredLine
from telegram_assistant.stores.postgres.stores import TenantStores

BATCH = 1000
MAX_LINE = 200
"""Characters that are kept of a line that names no channel."""


async def import_channels(
    listed_channels: Sequence[ListedChannel], subscription: Subscription, *, stores: TenantStores
) -> tuple[RequestedChannel, ...]:
    """Like `follow`, in batches, but lines that never wait are kept too, to be seen later."""
    requested_channels: list[RequestedChannel] = []
    for start in range(0, len(listed_channels), BATCH):
        requested_channels += await _import_batch(
            listed_channels[start : start + BATCH], subscription, stores=stores
        )
    return tuple(requested_channels)


async def _import_batch(
    listed_channels: Sequence[ListedChannel], subscription: Subscription, *, stores: TenantStores
) -> tuple[RequestedChannel, ...]:
    requested_channels = await follow(listed_channels, subscription, stores=stores)
    answered_lines = [
        line
        for channel, result in zip(listed_channels, requested_channels, strict=True)
        if (line := _answer_line(channel, result, subscription)) is not None
    ]
    if answered_lines:
        await stores.request_fates.keep(answered_lines)
    return requested_channels


async def import_picked(
    channel_ids: Collection[ChannelId], subscription: Subscription, *, stores: TenantStores
) -> tuple[RequestedChannel, ...]:
    """Like `follow_picked`, but channels that never wait are kept too."""
    requested_channels = await follow_picked(channel_ids, subscription, stores=stores)
    answered_lines = [
        AnsweredLine(
            RequestKind.PICK, str(channel_id), outcome, subscription, channel_id if result.followed else None
        )
        for channel_id, result in zip(channel_ids, requested_channels, strict=True)
        if (outcome := _outcome(result)) is not None
    ]
    if answered_lines:
        await stores.request_fates.keep(answered_lines)
    return requested_channels


def _answer_line(
    listed_channel: ListedChannel, result: RequestedChannel, subscription: Subscription
) -> AnsweredLine | None:
    """Returns what is kept of a line; None if it became a request."""
    outcome = _outcome(result)
    if outcome is None:
        return None
    kind, reference = _parse_line(listed_channel.reference)
    options = replace(subscription, folder=listed_channel.folder or subscription.folder)
    return AnsweredLine(
        kind, reference, outcome, options, result.followed.channel_id if result.followed else None
    )


def _outcome(result: RequestedChannel) -> Reason | None:
    return quote(result.followed.title) if result.followed else result.refused


def _parse_line(text: str) -> tuple[RequestKind, str]:
    try:
        reference = parse_reference(text)
    except Rejected:
        return RequestKind.UNREADABLE, text[:MAX_LINE]
    return KINDS[reference.kind], reference.name
