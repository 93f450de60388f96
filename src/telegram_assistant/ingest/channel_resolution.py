"""Serves requests to follow channels: by name, by invitation, by a link to a folder,
or from an account's own lists.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from telegram_assistant.domain.accounts.budget import Cost, MethodBudget, budget_of, meter_of
from telegram_assistant.domain.channels.channel import Channel, FoundChannel
from telegram_assistant.domain.channels.channel_requests import METHODS, RequestKind, RequestState
from telegram_assistant.domain.ids import AccountId, ChannelId
from telegram_assistant.errors import Busy, Flooded, Rejected
from telegram_assistant.ingest.folders import FolderFollower
from telegram_assistant.ingest.joined_lists import JoinedLists, dump_cursor, parse_cursor
from telegram_assistant.reasons import Reason, quote
from telegram_assistant.stores.postgres.channels.channels import Channels
from telegram_assistant.stores.postgres.channels.planning import Planning
from telegram_assistant.stores.postgres.channels.request_queue import ClaimedRequest, RequestQueue
from telegram_assistant.supervision import sleep_unless
from telegram_assistant.telegram.account_client import Clock
from telegram_assistant.telegram.reader import ChannelReader, Listing
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.outages import OutageLog

log = get_logger()

IDLE_SECONDS = 1.0
FOLDER_LOOK_SECONDS = 30.0
"""How often due folders are looked for. Each folder is due once an hour."""
LOOK_UP_SECONDS = 1.0
"""Minimum time until a name is answered, whether it is looked up or not."""
STORED_NAMES_SECONDS = 15.0
"""How often names are compared with stored channels while look-ups are blocked."""
LOOK_UPS = budget_of(METHODS[RequestKind.USERNAME])
NAMES = MethodBudget("names", LOOK_UPS.limits[:1])
"""Names are answered no faster than an account with budget left may look them up: the limit per minute."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """The channels that a request led to, and a description of what was left out."""

    channels: Sequence[Channel]
    left_out: Reason | None = None
    was_followed: bool = False
    """Whether the tenant followed all of them already."""
    listed_count: int = 0
    """Channels that were listed only."""

    @property
    def only_channel_id(self) -> ChannelId | None:
        return self.channels[0].channel_id if len(self.channels) == 1 else None

    @property
    def words(self) -> Reason:
        """The outcome for people."""
        count = len(self.channels) or self.listed_count
        reason = (
            quote(self.channels[0].title)
            if len(self.channels) == 1
            else Reason("channels_found", "{count} channel", "{count} channels", count=count)
        )
        return (
            reason
            if self.left_out is None
            else Reason(
                "found_and_left_out", "{found}; left out: {left_out}", found=reason, left_out=self.left_out
            )
        )


class ChannelResolver:
    """Serves requests with one account, in the order of the queue.

    A kind of request that must wait delays no other kind.
    """

    def __init__(  # noqa: PLR0913 -- all kinds of requests meet here
        self,
        reader: ChannelReader,
        *,
        account_id: AccountId,
        queue: RequestQueue,
        channels: Channels,
        joined: JoinedLists,
        folders: FolderFollower,
        planning: Planning,
        clock: Callable[[], datetime],
        waits: Clock,
    ) -> None:
        self.folders = folders
        self._reader = reader
        self._account_id = account_id
        self._queue = queue
        self._channels = channels
        self._joined = joined
        self._planning = planning
        self._clock = clock
        self._waits = waits
        self._names = meter_of(NAMES, None, waits.now())
        self._blocked_until: dict[RequestKind, float] = {}
        self._stored_names_at = waits.now()
        self._outage = OutageLog(f"requests of account {account_id}", account_id=account_id)
        self._folders_outage = OutageLog(f"folders of account {account_id}", account_id=account_id)

    async def run(self, stopping: asyncio.Event) -> None:
        """Run until `stopping` is set."""
        folders_at = self._waits.now()
        while not stopping.is_set():
            try:
                if self._waits.now() >= folders_at:
                    folders_at = self._waits.now() + FOLDER_LOOK_SECONDS
                    await self._check_folders()
                is_idle = not await self.turn()
                self._outage.log_recovery()
                if is_idle:
                    await sleep_unless(stopping, IDLE_SECONDS)
            except Busy as busy:
                self._outage.log_failure(busy, is_routine=isinstance(busy, Flooded))
                await sleep_unless(stopping, min(busy.retry_after_seconds, 60.0))

    async def turn(self) -> bool:
        """Serve the next request. Returns False if there is none for this account now."""
        now = self._waits.now()
        kinds = [kind for kind in RequestKind if self._blocked_until.get(kind, now) <= now]
        only_stored_names = RequestKind.USERNAME not in kinds and self._stored_names_at <= now
        if only_stored_names:
            kinds.append(RequestKind.USERNAME)
        request = await self._queue.claim(self._account_id, kinds, only_stored_names=only_stored_names)
        if request is not None:
            await self.serve(request)
        elif only_stored_names:
            self._stored_names_at = now + STORED_NAMES_SECONDS
        return request is not None

    async def serve(self, request: ClaimedRequest) -> None:
        """Answer a request, or put it back if its kind has to wait. Channels found so far are kept."""
        try:
            resolved_channel = await self._resolve(request)
        except Rejected as error:
            await self._queue.answer(request.request_id, RequestState.FAILED, error.reason)
            return
        except Busy as busy:
            self._block(request.kind, busy.retry_after_seconds)
            await self._queue.give_back(request.request_id)
            return
        await self._planning.give_accounts()
        if request.kind is RequestKind.ACCESS:
            await self._planning.make_due_for(self._account_id, resolved_channel.channels[0].channel_id)
        await self._queue.answer(
            request.request_id,
            RequestState.DONE,
            resolved_channel.words,
            channel_id=resolved_channel.only_channel_id,
            was_followed=resolved_channel.was_followed,
        )
        log.info(
            "request_served",
            request_id=str(request.request_id),
            kind=request.kind.value,
            channels=len(resolved_channel.channels),
        )

    def _block(self, kind: RequestKind, seconds: float) -> None:
        """Block all kinds of requests that spend the same budget."""
        for other in RequestKind:
            if METHODS[other] == METHODS[kind]:
                self._blocked_until[other] = self._waits.now() + seconds

    async def _check_folders(self) -> None:
        try:
            await self.folders.check_due()
            self._folders_outage.log_recovery()
        except Busy as busy:
            self._folders_outage.log_failure(busy, is_routine=True, seconds=round(busy.retry_after_seconds))

    async def _resolve(self, request: ClaimedRequest) -> Resolved:  # noqa: PLR0911 -- one for each kind
        match request.kind:
            case RequestKind.USERNAME:
                return await self._resolve_name(request)
            case RequestKind.ACCESS:
                return await self._follow(request, [await self._reader.resolve(request.reference)])
            case RequestKind.INVITE:
                return await self._follow(request, [await self._reader.join(request.reference)])
            case RequestKind.DIALOGS:
                return await self._resolve_joined(request)
            case RequestKind.LIST:
                shared_listing = await self._reader.load_shared_folder(request.reference)
                return replace(
                    await self._follow(request, shared_listing.channels),
                    left_out=_describe_left_out(shared_listing),
                )
            case RequestKind.FOLDER:
                listing = await self.folders.begin(request)
                return Resolved(
                    [channel.channel for channel in listing.channels], _describe_left_out(listing)
                )
            case RequestKind.LISTING:
                return Resolved((), listed_count=await self._joined.read_joined(request))
            case RequestKind.PICK:
                channel, is_new = await self._joined.follow(request)
                return Resolved([channel], was_followed=not is_new)
            case RequestKind.UNREADABLE:
                raise Rejected(Reason("line_names_no_channel", "this line has no channel"))

    async def _resolve_name(self, request: ClaimedRequest) -> Resolved:
        """Resolve a name.

        A stored name needs no look-up, but takes as long as one, so that no tenant learns what others follow.
        """
        await self._wait_for_turn()
        begun_at = self._waits.now()
        stored_channel = await self._channels.find_by_username(request.reference)
        looked_up = (
            None
            if stored_channel is not None and not stored_channel.is_private
            else await self._reader.resolve(request.reference)
        )
        await self._waits.sleep(max(0.0, begun_at + LOOK_UP_SECONDS - self._waits.now()))
        if looked_up is not None:
            return await self._follow(request, [looked_up])
        assert stored_channel is not None  # otherwise it was looked up
        is_new = await self._subscribe(request, stored_channel.channel_id)
        return Resolved([stored_channel], was_followed=not is_new)

    async def _wait_for_turn(self) -> None:
        while (wait_seconds := self._names.seconds_until(self._waits.now(), Cost())) > 0:
            await self._waits.sleep(wait_seconds)
        self._names = self._names.take(self._waits.now(), Cost())

    async def _resolve_joined(self, request: ClaimedRequest) -> Resolved:
        """List joined channels page by page.

        If Telegram makes us wait for a page, the next attempt starts with that page.
        """
        cursor, channels, was_followed = parse_cursor(request.progress), list[Channel](), True
        while True:
            page, cursor = await self._reader.load_joined(cursor)
            resolved = await self._follow(request, page)
            channels += resolved.channels
            was_followed = was_followed and (resolved.was_followed or not page)
            if cursor is None:
                return Resolved(channels, was_followed=was_followed and bool(channels))
            await self._queue.keep_progress(request.request_id, dump_cursor(cursor))

    async def _follow(self, request: ClaimedRequest, channels: Sequence[FoundChannel]) -> Resolved:
        new_count = 0
        for channel in channels:
            await self._channels.open_to(
                self._account_id,
                channel.channel,
                channel.access_hash,
                has_joined=channel.joined,
                read_at=self._clock(),
            )
            new_count += await self._subscribe(request, channel.channel.channel_id)
        return Resolved([entry.channel for entry in channels], was_followed=bool(channels) and not new_count)

    async def _subscribe(self, request: ClaimedRequest, channel_id: ChannelId) -> bool:
        """Subscribe the tenant.

        Returns False if it followed the channel already, or if the request has no tenant.
        """
        if request.tenant_id is None:
            return False
        return await self._channels.subscribe(
            request.tenant_id, replace(request.subscription, channel_id=channel_id)
        )


def _describe_left_out(listing: Listing) -> Reason | None:
    """Describe which chats are not followed."""
    groups = Reason("groups_left_out", "{count} group", "{count} groups", count=listing.groups)
    closed_reason = Reason(
        "private_channels_left_out",
        "{count} private channel that the account has not joined",
        "{count} private channels that the account has not joined",
        count=listing.closed,
    )
    if listing.groups and listing.closed:
        return Reason(
            "groups_and_private_channels", "{groups}, {channels}", groups=groups, channels=closed_reason
        )
    return groups if listing.groups else closed_reason if listing.closed else None
