"""Reads channels with one account."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from telethon import errors, functions
from telethon.tl import types

from telegram_assistant.domain.channels.channel import Channel, FoundChannel
from telegram_assistant.domain.channels.coverage import IdRange, proven_by
from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.domain.posts.history import HistoryPage, Readable
from telegram_assistant.errors import AccessLost, Rejected
from telegram_assistant.reasons import Reason
from telegram_assistant.telegram.account_client import AccountClient
from telegram_assistant.telegram.history import HistoryRequest
from telegram_assistant.telegram.translation.raw_messages import pack_answer, pack_messages
from telegram_assistant.telegram.translation.translate import post_of

POSTS_PER_PAGE = 100
"""The largest page that Telegram returns."""

CLOSED = (
    errors.ChannelPrivateError,
    errors.ChannelInvalidError,
    errors.ChannelBannedError,
    errors.ChatForbiddenError,
    errors.PeerIdInvalidError,
    errors.UserBannedInChannelError,
)
NO_SUCH_NAME = (errors.UsernameNotOccupiedError, errors.UsernameInvalidError)
FULL = Reason("too_many_channels_joined", "the account has joined as many channels as Telegram allows")
NO_SUCH_INVITE = (errors.InviteHashExpiredError, errors.InviteHashInvalidError, errors.InviteHashEmptyError)


class TooManyChannels(Rejected):
    """The account cannot join any further channel."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Contents of a list of chats: channels that the account can read, and how many others there are."""

    channels: tuple[FoundChannel, ...]
    groups: int = 0
    closed: int = 0
    """Private channels that the account would have to join first."""


@dataclass(frozen=True, slots=True)
class TelegramFolder:
    """A folder of the account at Telegram: chats that were put in, or all channels except some."""

    number: int
    title: str
    chats: tuple[Readable, ...]
    has_all_channels: bool
    without: frozenset[ChannelId]


class ChannelReader:
    """Reads with one account.

    Raises AccessLost or Rejected for what Telegram does not show it, and Busy for what passes.
    """

    def __init__(self, client: AccountClient) -> None:
        self.client = client

    async def newest(self, channel: Readable) -> HistoryPage:
        """Read the newest page. A page that holds the whole history proves every id from the first on."""
        history, answer = await self._history(channel)
        page = _page(channel, history.messages, answer, below_id=None)
        if page.proven is not None and getattr(history, "count", 0) <= len(history.messages):
            return replace(page, proven=IdRange(MessageId(1), page.proven.high))
        return page

    async def below(self, channel: Readable, message_id: MessageId) -> HistoryPage:
        """Read the page just before an id."""
        history, answer = await self._history(channel, offset_id=message_id)
        return _page(channel, history.messages, answer, below_id=message_id)

    async def above(self, channel: Readable, message_id: MessageId) -> HistoryPage:
        """Read the page just after an id. Its lowest message is the first that exists above the id."""
        history, answer = await self._history(channel, offset_id=message_id + 1, add_offset=-POSTS_PER_PAGE)
        messages = [message for message in history.messages if message.id > message_id]
        page = _page(channel, messages, answer, below_id=None)
        return replace(
            page, proven=IdRange(MessageId(message_id + 1), page.proven.high) if page.proven else None
        )

    async def last_before(self, channel: Readable, moment: datetime) -> MessageId:
        """Return the newest message before that moment, or 0 if there is none."""
        history, _ = await self._history(channel, offset_date=moment, limit=1)
        return MessageId(max((message.id for message in history.messages), default=0))

    async def resolve(self, username: str) -> FoundChannel:
        """Look up a public name.

        Telegram limits this request most strictly: once per account and name, ever.
        """
        try:
            answer = await self.client.ask(functions.contacts.ResolveUsernameRequest(username))
        except NO_SUCH_NAME as error:
            raise Rejected(
                Reason("name_unknown", "there is no @{username} on Telegram", username=username)
            ) from error
        channels = [_translate_chat(chat) for chat in answer.chats if _is_channel(chat)]
        if not channels:
            raise Rejected(Reason("name_not_a_channel", "@{username} is not a channel", username=username))
        return channels[0]

    async def join(self, invite: str) -> FoundChannel:
        """Open a private channel by its invitation, and join it unless the account has joined already."""
        try:
            checked_invite = await self.client.ask(functions.messages.CheckChatInviteRequest(invite))
            if isinstance(checked_invite, types.ChatInvite):
                if not checked_invite.broadcast:
                    raise Rejected(
                        Reason("invitation_to_group", "the invitation leads to a group, not to a channel")
                    )
                answer = await self.client.ask(functions.messages.ImportChatInviteRequest(invite))
                chats = answer.chats
            else:
                chats = [checked_invite.chat]
        except NO_SUCH_INVITE as error:
            raise Rejected(Reason("invitation_invalid", "the invitation is no longer valid")) from error
        except errors.InviteRequestSentError as error:
            raise Rejected(
                Reason(
                    "approval_needed_ask_again",
                    "the channel's owner must approve the account first; add the channel again after that",
                )
            ) from error
        except errors.ChannelsTooMuchError as error:
            raise TooManyChannels(FULL) from error
        return _translate_chat(chats[0])

    async def join_public(self, channel: Readable) -> None:
        """Join a public channel.

        Raises TooManyChannels if the account is in too many, and Rejected if it may not join, or not at once.
        """
        try:
            await self.client.ask(
                functions.channels.JoinChannelRequest(
                    types.InputChannel(channel.channel_id, channel.access_hash)
                )
            )
        except errors.UserAlreadyParticipantError:
            return
        except errors.ChannelsTooMuchError as error:
            raise TooManyChannels(FULL) from error
        except errors.InviteRequestSentError as error:
            raise Rejected(
                Reason("approval_needed", "the channel's owner must approve the account first")
            ) from error
        except CLOSED as error:
            raise Rejected(
                Reason(
                    "join_refused",
                    "Telegram does not let this account join ({error})",
                    error=type(error).__name__.removesuffix("Error"),
                )
            ) from error

    async def load_joined(
        self, after: "DialogCursor | None" = None
    ) -> "tuple[tuple[FoundChannel, ...], DialogCursor | None]":
        """Return one page of the channels that the account has joined, and where the next page begins."""
        cursor = after or DialogCursor(None, 0, 0, 0)
        peer = (
            types.InputPeerChannel(cursor.channel_id, cursor.access_hash)
            if cursor.channel_id
            else types.InputPeerEmpty()
        )
        request = functions.messages.GetDialogsRequest(
            cursor.date, cursor.message_id, peer, limit=POSTS_PER_PAGE, hash=0
        )
        answer = await self.client.ask(request)
        chats = {chat.id: chat for chat in answer.chats}
        channels = tuple(_translate_chat(chat) for chat in chats.values() if _is_channel(chat))
        if not isinstance(answer, types.messages.DialogsSlice) or len(answer.dialogs) < POSTS_PER_PAGE:
            return channels, None
        return channels, _cursor_after(answer, chats)

    async def load_shared_folder(self, slug: str) -> Listing:
        """List the chats behind a link to a folder, without joining anything."""
        try:
            answer = await self.client.ask(functions.chatlists.CheckChatlistInviteRequest(slug))
        except errors.BadRequestError as error:  # Telethon has no class for these
            if not str(error.message).startswith("INVITE_SLUG_"):
                raise
            raise Rejected(
                Reason("folder_link_invalid", "the link to the folder is no longer valid")
            ) from error
        return _listing(answer.chats)

    async def folders(self) -> tuple[TelegramFolder, ...]:
        """Return the account's own folders."""
        answer = await self.client.ask(functions.messages.GetDialogFiltersRequest())
        return tuple(
            _folder(telegram_folder)
            for telegram_folder in answer.filters
            if isinstance(telegram_folder, types.DialogFilter | types.DialogFilterChatlist)
        )

    async def look_up(self, chats: Sequence[Readable]) -> Listing:
        """Look up chats of which only ids are known."""
        received_chats: list[Any] = []
        for start in range(0, len(chats), POSTS_PER_PAGE):
            received_chats += await self._chats(chats[start : start + POSTS_PER_PAGE])
        listing = _listing(received_chats)
        return replace(listing, closed=listing.closed + len(chats) - len(received_chats))

    async def _chats(self, chats: Sequence[Readable]) -> list[Any]:
        """Load chats, without those that Telegram does not show.

        One of these fails the whole request, so halves are tried.
        """
        try:
            answer = await self.client.ask(
                functions.channels.GetChannelsRequest(
                    [types.InputChannel(chat.channel_id, chat.access_hash) for chat in chats]
                )
            )
        except CLOSED:
            half = len(chats) // 2
            return [] if not half else [*await self._chats(chats[:half]), *await self._chats(chats[half:])]
        return list(answer.chats)

    async def _history(
        self,
        channel: Readable,
        *,
        offset_id: int = 0,
        offset_date: datetime | None = None,
        add_offset: int = 0,
        limit: int = POSTS_PER_PAGE,
    ) -> tuple[Any, bytes]:
        """Return Telegram's answer and its bytes."""
        peer = types.InputPeerChannel(channel.channel_id, channel.access_hash)
        request = HistoryRequest(peer, offset_id, offset_date, add_offset, limit, max_id=0, min_id=0, hash=0)
        try:
            return await self.client.ask(request), request.answer
        except CLOSED as error:
            raise AccessLost(
                Reason(
                    "channel_access_lost",
                    "Telegram does not let this account read the channel ({error})",
                    error=type(error).__name__.removesuffix("Error"),
                )
            ) from error


@dataclass(frozen=True, slots=True)
class DialogCursor:
    """The position at which the next page of joined channels begins."""

    date: datetime | None
    message_id: int
    channel_id: int
    access_hash: int


def _cursor_after(answer: types.messages.DialogsSlice, chats: dict[int, Any]) -> DialogCursor | None:
    dates = {
        (message.peer_id.channel_id, message.id): message.date
        for message in answer.messages
        if isinstance(message.peer_id, types.PeerChannel)
    }
    for last_dialog in reversed(answer.dialogs):
        if (
            isinstance(last_dialog.peer, types.PeerChannel)
            and (date := dates.get((last_dialog.peer.channel_id, last_dialog.top_message))) is not None
        ):
            return DialogCursor(
                date,
                last_dialog.top_message,
                last_dialog.peer.channel_id,
                chats[last_dialog.peer.channel_id].access_hash or 0,
            )
    return None


def _page(
    channel: Readable, messages: list[Any], answer: bytes, *, below_id: MessageId | None
) -> HistoryPage:
    posts = tuple(post for message in messages if (post := post_of(channel.channel_id, message)) is not None)
    proven_range = proven_by([MessageId(message.id) for message in messages], below_id=below_id)
    return HistoryPage(posts, proven_range, partial(_pack, messages, answer))


def _pack(messages: list[Any], answer: bytes, ids: Sequence[MessageId]) -> bytes:
    """Pack a whole page as it came, or else only the wanted messages."""
    wanted_ids = set(ids)
    return (
        pack_answer(answer)
        if len(wanted_ids) == len(messages)
        else pack_messages(message for message in reversed(messages) if message.id in wanted_ids)
    )


def _is_channel(chat: Any) -> bool:
    return (
        isinstance(chat, types.Channel)
        and bool(chat.broadcast)
        and chat.access_hash is not None
        and not chat.min
    )


def _listing(chats: Sequence[Any]) -> Listing:
    channels = tuple(
        channel
        for chat in chats
        if _is_channel(chat) and ((channel := _translate_chat(chat)).joined or not channel.channel.is_private)
    )
    group_count = sum(
        isinstance(chat, types.Chat | types.ChatForbidden) or not getattr(chat, "broadcast", False)
        for chat in chats
    )
    return Listing(channels, group_count, closed=len(chats) - group_count - len(channels))


def _folder(telegram_folder: types.DialogFilter | types.DialogFilterChatlist) -> TelegramFolder:
    def ids_in(peers: Sequence[Any]) -> tuple[Readable, ...]:
        return tuple(
            Readable(ChannelId(peer.channel_id), peer.access_hash)
            for peer in peers
            if isinstance(peer, types.InputPeerChannel)
        )

    return TelegramFolder(
        telegram_folder.id,
        telegram_folder.title.text,
        ids_in([*telegram_folder.pinned_peers, *telegram_folder.include_peers]),
        has_all_channels=bool(getattr(telegram_folder, "broadcasts", False)),
        without=frozenset(
            readable.channel_id for readable in ids_in(getattr(telegram_folder, "exclude_peers", ()))
        ),
    )


def _translate_chat(chat: types.Channel) -> FoundChannel:
    usernames = [username.username for username in chat.usernames or () if username.active]
    username = chat.username or (usernames[0] if usernames else None)
    channel = Channel(
        channel_id=ChannelId(chat.id),
        title=chat.title,
        username=username,
        is_private=username is None,
        protected=bool(chat.noforwards),
    )
    return FoundChannel(channel, chat.access_hash or 0, joined=not chat.left)
