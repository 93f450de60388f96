"""Lists what an account has joined, for its tenant to pick from, and follows what was picked."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.ids import AccountId, ChannelId
from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.channels.channels import Channels
from telegram_assistant.stores.postgres.channels.joined_channels import JoinedListings
from telegram_assistant.stores.postgres.channels.request_queue import ClaimedRequest, RequestQueue
from telegram_assistant.telegram.reader import ChannelReader, DialogCursor


class JoinedLists:
    """The lists of one account."""

    def __init__(
        self,
        reader: ChannelReader,
        *,
        account_id: AccountId,
        queue: RequestQueue,
        listings: JoinedListings,
        channels: Channels,
        clock: Callable[[], datetime],
    ) -> None:
        self._reader = reader
        self._account_id = account_id
        self._queue = queue
        self._listings = listings
        self._channels = channels
        self._clock = clock

    async def read_joined(self, request: ClaimedRequest) -> int:
        """List joined channels page by page; return how many.

        If Telegram makes us wait for a page, the next attempt starts with that page.
        """
        assert request.tenant_id is not None  # only requests for access have no tenant
        cursor = parse_cursor(request.progress)
        while True:
            page, cursor = await self._reader.load_joined(cursor)
            joined_channels = [channel for channel in page if channel.joined]
            await self._listings.keep(
                request.tenant_id, self._account_id, request.request_id, joined_channels, at=self._clock()
            )
            if cursor is None:
                return await self._listings.finish(request.tenant_id, self._account_id, request.request_id)
            await self._queue.keep_progress(request.request_id, dump_cursor(cursor))

    async def follow(self, request: ClaimedRequest) -> tuple[Channel, bool]:
        """Follow a picked channel; return it, and whether it is new.

        The list holds its access hash, so Telegram is not asked.
        """
        assert request.tenant_id is not None
        listed_channel = await self._listings.find(request.tenant_id, ChannelId(int(request.reference)))
        if listed_channel is None:
            raise Rejected(
                Reason(
                    "picked_channel_not_listed",
                    "none of your accounts is in this channel any more; load the list of joined channels "
                    "again",
                )
            )
        channel = listed_channel.channel
        await self._channels.open_to(
            listed_channel.account_id,
            channel.channel,
            channel.access_hash,
            has_joined=channel.joined,
            read_at=listed_channel.listed_at,
        )
        subscription = replace(request.subscription, channel_id=channel.channel.channel_id)
        return channel.channel, await self._channels.subscribe(request.tenant_id, subscription)


def dump_cursor(cursor: DialogCursor) -> str:
    assert cursor.date is not None  # only the first page has no cursor date
    return json.dumps([cursor.date.isoformat(), cursor.message_id, cursor.channel_id, cursor.access_hash])


def parse_cursor(text: str | None) -> DialogCursor | None:
    if not text:
        return None
    date, message_id, channel_id, access_hash = json.loads(text)
    return DialogCursor(datetime.fromisoformat(date), message_id, channel_id, access_hash)
