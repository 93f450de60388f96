"""Serves requests to follow channels: by name, by invitation, by a link to a folder, or from an account's own lists."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from telegram_assistant.domain.accounts.budget import Cost, MethodBudget, budget_of, meter_of
from telegram_assistant.domain.channels.channel import Channel, FoundChannel
from telegram_assistant.domain.channels.channel_requests import METHODS, RequestKind, RequestState
from telegram_assistant.domain.ids import AccountId, ChannelId
from telegram_assistant.errors import Busy, Rejected
from telegram_assistant.ingest.folders import FolderFollower
from telegram_assistant.stores.postgres.channels.channels import Channels
from telegram_assistant.stores.postgres.channels.planning import Planning
from telegram_assistant.stores.postgres.channels.request_queue import ClaimedRequest, RequestQueue
from telegram_assistant.supervision import sleep_unless
from telegram_assistant.telegram.account_client import Clock
from telegram_assistant.telegram.reader import ChannelReader, DialogCursor, Listing
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()

IDLE_SECONDS = 1.0
FOLDER_LOOK_SECONDS = 30.0
"""How often it is asked whether a folder is due; each is once an hour."""
LOOK_UP_SECONDS = 1.0
"""A name is answered no sooner, looked up or not."""
STORED_NAMES_SECONDS = 15.0
"""How often names are compared with what is stored, while there are no look-ups."""
LOOK_UPS = budget_of(METHODS[RequestKind.USERNAME])
NAMES = MethodBudget("names", LOOK_UPS.limits[:1])
"""Names are answered no faster than an account with budget left may look them up: the limit for a minute."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """The channels that a request led to, and what was left out, in words."""

    channels: Sequence[Channel]
    left_out: str = ""

    @property
    def only_channel_id(self) -> ChannelId | None:
        return self.channels[0].channel_id if len(self.channels) == 1 else None

    def __str__(self) -> str:
        return (self.channels[0].title if len(self.channels) == 1 else f"{len(self.channels)} channels") + self.left_out


class ChannelResolver:
    """Serves requests with one account, in the order that the queue decides. A kind that has to wait holds back no other."""

    def __init__(
        self,
        reader: ChannelReader,
        *,
        account_id: AccountId,
        queue: RequestQueue,
        channels: Channels,
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
        self._planning = planning
        self._clock = clock
        self._waits = waits
        self._names = meter_of(NAMES, None, waits.now())
        self._blocked_until: dict[RequestKind, float] = {}
        self._stored_names_at = waits.now()

    async def run(self, stopping: asyncio.Event) -> None:
        """Until told to stop."""
        folders_at = self._waits.now()
        while not stopping.is_set():
            try:
                if self._waits.now() >= folders_at:
                    folders_at = self._waits.now() + FOLDER_LOOK_SECONDS
                    await self._look_at_folders()
                if not await self.turn():
                    await sleep_unless(stopping, IDLE_SECONDS)
            except Busy as busy:
                await sleep_unless(stopping, min(busy.retry_after_seconds, 60.0))

    async def turn(self) -> bool:
        """Serve the request that is next; False when there is none for this account now."""
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
        """Answer a request, or give it back where its kind has to wait; what was found so far is kept."""
        try:
            resolved = await self._resolve(request)
        except Rejected as error:
            await self._queue.answer(request.request_id, RequestState.FAILED, str(error))
            return
        except Busy as busy:
            self._block(request.kind, busy.retry_after_seconds)
            await self._queue.give_back(request.request_id)
            return
        await self._planning.give_accounts()
        if request.kind is RequestKind.ACCESS:
            await self._planning.read_with(self._account_id, resolved.channels[0].channel_id)
        await self._queue.answer(request.request_id, RequestState.DONE, str(resolved), channel_id=resolved.only_channel_id)
        log.info("request_served", request_id=str(request.request_id), kind=request.kind.value, channels=len(resolved.channels))

    def _block(self, kind: RequestKind, seconds: float) -> None:
        """All kinds that spend the same budget wait."""
        for other in RequestKind:
            if METHODS[other] == METHODS[kind]:
                self._blocked_until[other] = self._waits.now() + seconds

    async def _look_at_folders(self) -> None:
        try:
            await self.folders.look()
        except Busy as busy:
            log.info("folders_wait", account_id=self._account_id, why=str(busy), seconds=round(busy.retry_after_seconds))

    async def _resolve(self, request: ClaimedRequest) -> Resolved:
        match request.kind:
            case RequestKind.USERNAME:
                return await self._name(request)
            case RequestKind.ACCESS:
                return await self._follow(request, [await self._reader.resolve(request.reference)])
            case RequestKind.INVITE:
                return await self._follow(request, [await self._reader.join(request.reference)])
            case RequestKind.DIALOGS:
                return await self._joined(request)
            case RequestKind.LIST:
                shared = await self._reader.shared_folder(request.reference)
                return replace(await self._follow(request, shared.channels), left_out=_left_out(shared))
            case RequestKind.FOLDER:
                listing = await self.folders.begin(request)
                return Resolved([one.channel for one in listing.channels], _left_out(listing))

    async def _name(self, request: ClaimedRequest) -> Resolved:
        """A stored name needs no look-up. It takes as long as one, or a tenant would learn what others follow."""
        await self._wait_for_turn()
        begun = self._waits.now()
        stored = await self._channels.named(request.reference)
        found = None if stored is not None and not stored.is_private else await self._reader.resolve(request.reference)
        await self._waits.sleep(max(0.0, begun + LOOK_UP_SECONDS - self._waits.now()))
        if found is not None:
            return await self._follow(request, [found])
        assert stored is not None  # else it was looked up
        await self._subscribe(request, stored.channel_id)
        return Resolved([stored])

    async def _wait_for_turn(self) -> None:
        while (wait := self._names.seconds_until(self._waits.now(), Cost())) > 0:
            await self._waits.sleep(wait)
        self._names = self._names.take(self._waits.now(), Cost())

    async def _joined(self, request: ClaimedRequest) -> Resolved:
        """Page by page; a page that Telegram makes us wait for is the one that is asked for next time."""
        cursor, found = _cursor(request.progress), list[Channel]()
        while True:
            page, cursor = await self._reader.joined(cursor)
            found += (await self._follow(request, page)).channels
            if cursor is None:
                return Resolved(found)
            await self._queue.keep_progress(request.request_id, _text(cursor))

    async def _follow(self, request: ClaimedRequest, found: Sequence[FoundChannel]) -> Resolved:
        for one in found:
            await self._channels.open_to(self._account_id, one.channel, one.access_hash, joined=one.joined, read_at=self._clock())
            await self._subscribe(request, one.channel.channel_id)
        return Resolved([one.channel for one in found])

    async def _subscribe(self, request: ClaimedRequest, channel_id: ChannelId) -> None:
        if request.tenant_id is not None:
            await self._channels.subscribe(request.tenant_id, replace(request.subscription, channel_id=channel_id))


def _left_out(found: Listing) -> str:
    """What is not followed, in words."""
    parts = ((found.groups, "group", ""), (found.closed, "private channel", " that the account has not joined"))
    words = [f"{count} {name}{'' if count == 1 else 's'}{more}" for count, name, more in parts if count]
    return f"; left out: {', '.join(words)}" if words else ""


def _text(cursor: DialogCursor) -> str:
    assert cursor.date is not None  # only the first page has none
    return json.dumps([cursor.date.isoformat(), cursor.message_id, cursor.channel_id, cursor.access_hash])


def _cursor(text: str | None) -> DialogCursor | None:
    if not text:
        return None
    date, message_id, channel_id, access_hash = json.loads(text)
    return DialogCursor(datetime.fromisoformat(date), message_id, channel_id, access_hash)
