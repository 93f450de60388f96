"""Finding the channels that people ask for: by name, by invitation, by a link to a folder, or from an account's own lists."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from telegram_assistant.domain.channel import FoundChannel
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.errors import Busy, Rejected
from telegram_assistant.ingest.folders import FolderFollower
from telegram_assistant.stores.postgres.channels import Channels
from telegram_assistant.stores.postgres.planning import Planning
from telegram_assistant.stores.postgres.wishes import Wish, Wishes, WishKind, WishState
from telegram_assistant.supervision import sleep_unless
from telegram_assistant.telegram.reader import DialogCursor, Listing, Reader
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()

LOOK_SECONDS = 1.0
FOLDER_LOOK_SECONDS = 30.0
"""How often it is asked whether a folder is due; each is once an hour."""


class Finder:
    """Sees to the wishes that one account was given."""

    def __init__(
        self,
        reader: Reader,
        *,
        account_id: AccountId,
        wishes: Wishes,
        channels: Channels,
        folders: FolderFollower,
        planning: Planning,
        clock: Callable[[], datetime],
    ) -> None:
        self._reader = reader
        self._account_id = account_id
        self._wishes = wishes
        self._channels = channels
        self.folders = folders
        self._planning = planning
        self._clock = clock

    async def run(self, stopping: asyncio.Event) -> None:
        """Until told to stop."""
        clock = asyncio.get_running_loop().time
        folders_at = clock()
        while not stopping.is_set():
            try:
                if clock() >= folders_at:  # before the wishes: there may be many
                    folders_at = clock() + FOLDER_LOOK_SECONDS
                    await self.folders.look()
                wish = await self._wishes.claim(self._account_id)
                if wish is not None:
                    await self.see_to(wish)
                else:
                    await sleep_unless(stopping, LOOK_SECONDS)
            except Busy as busy:
                await sleep_unless(stopping, min(busy.retry_after_seconds, 60.0))

    async def see_to(self, wish: Wish) -> None:
        """Answer one wish, or put it off with the reason; what was found so far is kept."""
        try:
            found = await self._find(wish)
        except Rejected as error:
            await self._wishes.answer(wish.wish_id, WishState.FAILED, str(error))
            return
        except Busy as busy:
            await self._wishes.postpone(wish.wish_id, str(busy), pause=timedelta(seconds=busy.retry_after_seconds))
            raise
        await self._planning.give_accounts()
        only = found.channels[0].channel if len(found.channels) == 1 else None
        answer = (only.title if only else f"{len(found.channels)} channels") + _left_out(found)
        await self._wishes.answer(wish.wish_id, WishState.DONE, answer, channel_id=only.channel_id if only else None)
        log.info("wish_granted", wish_id=wish.wish_id, kind=wish.kind.value, channels=len(found.channels))

    async def _find(self, wish: Wish) -> Listing:
        match wish.kind:
            case WishKind.USERNAME:
                return await self._follow(wish, [await self._reader.resolve(wish.reference)])
            case WishKind.INVITE:
                return await self._follow(wish, [await self._reader.join(wish.reference)])
            case WishKind.DIALOGS:
                return await self._joined(wish)
            case WishKind.LIST:
                shared = await self._reader.shared_folder(wish.reference)
                await self._follow(wish, shared.channels)
                return shared
            case WishKind.FOLDER:
                return await self.folders.begin(wish)

    async def _joined(self, wish: Wish) -> Listing:
        """Page by page; a page that Telegram makes us wait for is the one that is asked for next time."""
        cursor, found = _cursor(wish.reference), list[FoundChannel]()
        while True:
            page, cursor = await self._reader.joined(cursor)
            found += (await self._follow(wish, page)).channels
            if cursor is None:
                return Listing(tuple(found))
            await self._wishes.go_on_from(wish.wish_id, _text(cursor))

    async def _follow(self, wish: Wish, found: Sequence[FoundChannel]) -> Listing:
        for one in found:
            await self._channels.open_to(self._account_id, one.channel, one.access_hash, joined=one.joined, read_at=self._clock())
            if wish.subscription is not None:
                await self._channels.subscribe(wish.tenant_id, replace(wish.subscription, channel_id=one.channel.channel_id))
        return Listing(tuple(found))


def _left_out(found: Listing) -> str:
    """What is not followed, in words."""
    parts = ((found.groups, "group", ""), (found.closed, "private channel", " that the account has not joined"))
    words = [f"{count} {name}{'' if count == 1 else 's'}{more}" for count, name, more in parts if count]
    return f"; left out: {', '.join(words)}" if words else ""


def _text(cursor: DialogCursor) -> str:
    assert cursor.date is not None  # only the first page has none
    return json.dumps([cursor.date.isoformat(), cursor.message_id, cursor.channel_id, cursor.access_hash])


def _cursor(text: str) -> DialogCursor | None:
    if not text:
        return None
    date, message_id, channel_id, access_hash = json.loads(text)
    return DialogCursor(datetime.fromisoformat(date), message_id, channel_id, access_hash)
