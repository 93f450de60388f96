"""Follows folders of an account at Telegram: channels put into a folder are followed,
channels taken out are not any more.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from telegram_assistant.domain.channels.channel import FoundChannel
from telegram_assistant.domain.ids import AccountId, ChannelId
from telegram_assistant.domain.posts.history import Readable
from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.channels.channels import Channels
from telegram_assistant.stores.postgres.channels.folders import FollowedFolder, FollowedFolders
from telegram_assistant.stores.postgres.channels.planning import Planning
from telegram_assistant.stores.postgres.channels.request_queue import ClaimedRequest
from telegram_assistant.telegram.reader import ChannelReader, DialogCursor, Listing, TelegramFolder
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()

LOOK_EVERY = timedelta(hours=1)
GONE = Reason("folder_gone", "this folder no longer exists in Telegram; you still follow its channels")


class FolderFollower:
    """Follows the folders of one account."""

    def __init__(
        self,
        reader: ChannelReader,
        *,
        account_id: AccountId,
        folders: FollowedFolders,
        channels: Channels,
        planning: Planning,
        clock: Callable[[], datetime],
    ) -> None:
        self._reader = reader
        self._account_id = account_id
        self._folders = folders
        self._channels = channels
        self._planning = planning
        self._clock = clock

    async def begin(self, request: ClaimedRequest) -> Listing:
        """Follow the folder that a person has named.

        Raises Rejected if the account has no folder of that name.
        """
        telegram_folders = await self._reader.folders()
        title = request.reference.strip()
        folder = next(
            (candidate for candidate in telegram_folders if candidate.title.casefold() == title.casefold()),
            None,
        )
        if folder is None:
            names = ", ".join(candidate.title for candidate in telegram_folders) or "–"
            raise Rejected(
                Reason(
                    "folder_unknown_at_telegram",
                    "account {account_id} has no folder {title!r} in Telegram; it has: {names}",
                    account_id=self._account_id,
                    title=title,
                    names=names,
                )
            )
        assert request.tenant_id is not None  # only requests for access have no tenant
        followed_folder = await self._folders.follow(
            request.tenant_id,
            self._account_id,
            number=folder.number,
            title=folder.title,
            subscription=request.subscription,
        )
        return await self._compare(followed_folder, folder)

    async def check_due(self) -> int:
        """Compare the due folders with Telegram's, and return their number.

        One request lists all folders of the account.
        """
        due_folders = await self._folders.claim(self._account_id)
        if not due_folders:
            return 0
        present = {folder.number: folder for folder in await self._reader.folders()}
        for followed_folder in due_folders:
            folder = present.get(followed_folder.number)
            if folder is None:
                await self._folders.settle(
                    followed_folder, title=followed_folder.title, trouble=GONE, again_after=LOOK_EVERY
                )
            else:
                await self._compare(followed_folder, folder)
        return len(due_folders)

    async def _compare(self, followed_folder: FollowedFolder, folder: TelegramFolder) -> Listing:
        """Apply the difference to the last comparison. Looks up new chats only; the others are known."""
        joined_channels = await self._load_joined() if folder.has_all_channels else {}
        chat_by_id = {chat.channel_id: chat for chat in folder.chats} | {
            channel_id: Readable(channel_id, channel.access_hash)
            for channel_id, channel in joined_channels.items()
            if channel_id not in folder.without
        }
        former_ids = await self._folders.members(followed_folder.folder_id)
        new_chats = [chat for channel_id, chat in chat_by_id.items() if channel_id not in former_ids]
        listing = await self._reader.look_up(
            [chat for chat in new_chats if chat.channel_id not in joined_channels]
        )
        channels = (
            *listing.channels,
            *(joined_channels[chat.channel_id] for chat in new_chats if chat.channel_id in joined_channels),
        )
        for new_channel in channels:
            await self._channels.open_to(
                self._account_id,
                new_channel.channel,
                new_channel.access_hash,
                has_joined=new_channel.joined,
                read_at=self._clock(),
            )
        changed_channels = await self._folders.change(
            followed_folder,
            put_in=[chat.channel_id for chat in new_chats],
            readable=[channel.channel.channel_id for channel in channels],
            taken_out=former_ids - chat_by_id.keys(),
        )
        await self._folders.settle(followed_folder, title=folder.title, trouble=None, again_after=LOOK_EVERY)
        if changed_channels:
            await self._planning.give_accounts()
            log.info(
                "folder_followed",
                folder_id=followed_folder.folder_id,
                account_id=self._account_id,
                changed=changed_channels,
            )
        return Listing(channels, listing.groups, listing.closed)

    async def _load_joined(self) -> Mapping[ChannelId, FoundChannel]:
        joined_channels: dict[ChannelId, FoundChannel] = {}
        cursor: DialogCursor | None = None
        while True:
            page, cursor = await self._reader.load_joined(cursor)
            joined_channels |= {channel.channel.channel_id: channel for channel in page}
            if cursor is None:
                return joined_channels
