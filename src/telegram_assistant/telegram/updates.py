"""Updates that Telegram pushes to an account: new posts, edits and deletions in the channels it has joined.

Telegram sends an update once and does not repeat it, so updates prove nothing. Pushed posts are landed at
once because they are fresh; if an update may have been missed, the channel is read. Every event of a channel
has a number (pts), which shows whether the event before it was received.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from telethon.tl import functions, types

from telegram_assistant.domain.accounts.updates import SeenUpdates
from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.domain.posts.post import Post
from telegram_assistant.telegram.account_client import AccountClient
from telegram_assistant.telegram.translation.translate import post_of

MAX_WAITING = 2000
"""Maximum number of buffered messages and deletions over all channels.

The rest is read from history instead.
"""

NUMBERED = (
    types.UpdateNewChannelMessage,
    types.UpdateEditChannelMessage,
    types.UpdateDeleteChannelMessages,
    types.UpdatePinnedChannelMessages,
    types.UpdateChannelWebPage,
)
"""Channel events that advance the channel's pts."""


class Gap(StrEnum):
    """Why a channel has to be read."""

    MISSED = "missed"
    """A pts number is missing."""
    INCOMPLETE = "told"
    """Telegram says that there is more than it has sent."""
    DROPPED = "dropped"
    """Updates arrived faster than they were taken."""


@dataclass(frozen=True, slots=True)
class ChannelUpdates:
    """The updates of one channel since they were last taken. An edited message appears in its latest form."""

    channel_id: ChannelId
    posts: tuple[Post, ...]
    messages: tuple[Any, ...]
    """The messages as Telegram sent them."""
    deleted_ids: tuple[MessageId, ...]
    gap: Gap | None


@dataclass(slots=True)
class _Waiting:
    messages: dict[int, Any] = field(default_factory=dict)
    deleted: set[int] = field(default_factory=set)
    gap: Gap | None = None

    def __len__(self) -> int:
        return len(self.messages) + len(self.deleted)


class UpdateReceiver(Protocol):
    """Receives the updates of a connection."""

    def receive(self, updates: Any) -> None: ...
    def note_possible_gap(self) -> None:
        """Note that updates may have been missed."""
        ...


class UpdateBuffer:
    """Buffers the updates of one account, over all its connections, up to a limit,
    because the consumer may be slow.
    """

    def __init__(self, *, max_waiting: int = MAX_WAITING) -> None:
        self.has_updates = asyncio.Event()
        """Set while there are updates to take."""
        self.possible_gaps = 0
        """How often updates may have been missed: after a connection was opened or lost,
        or when Telegram cut a burst short.
        """
        self.has_possible_gap = asyncio.Event()
        """Set with each possible gap. The consumer clears it."""
        self._max_waiting = max_waiting
        self._waiting: dict[int, _Waiting] = {}
        self._count = 0
        self._pts: dict[int, int] = {}

    @property
    def waiting(self) -> int:
        """How many messages and deletions are buffered."""
        return self._count

    def note_possible_gap(self) -> None:
        self.possible_gaps += 1
        self.has_possible_gap.set()

    def receive(self, updates: Any) -> None:
        """Buffer updates without waiting: the connection reads on only afterwards."""
        match updates:
            case types.UpdatesTooLong():
                self.note_possible_gap()
            case types.Updates() | types.UpdatesCombined():
                self._receive_all(updates.updates)
            case types.UpdateShort():
                self._receive_all([updates.update])

    def channels_to_read(self, updates: Iterable[Any]) -> frozenset[ChannelId]:
        """Return the channels that must be read because of these missed updates,
        without those that are up to date.
        """
        return frozenset(
            ChannelId(update.channel_id)
            for update in updates
            if isinstance(update, types.UpdateChannelTooLong) and self._is_ahead(update)
        )

    def take(self) -> tuple[ChannelUpdates, ...]:
        """Return and remove the buffered updates."""
        waiting_updates, self._waiting, self._count = self._waiting, {}, 0
        self.has_updates.clear()
        return tuple(
            _channel_updates(ChannelId(channel_id), buffered_waiting)
            for channel_id, buffered_waiting in waiting_updates.items()
        )

    def _receive_all(self, updates: Iterable[Any]) -> None:
        for update in updates:
            match update:
                case types.UpdateChannelTooLong():
                    if self._is_ahead(update):
                        self._waiting_in(update.channel_id).gap = Gap.INCOMPLETE
                case types.UpdateChannel():
                    self._waiting_in(update.channel_id).gap = Gap.INCOMPLETE
                case _ if isinstance(update, NUMBERED):
                    self._receive_numbered(update)

    def _receive_numbered(self, update: Any) -> None:
        channel_id = _channel_of(update)
        known_pts = None if channel_id is None else self._pts.get(channel_id)
        if channel_id is None or (known_pts is not None and update.pts <= known_pts):
            return  # received before, or so late that the channel has been read already
        self._pts[channel_id] = update.pts
        if known_pts is not None and update.pts > known_pts + update.pts_count:
            self._waiting_in(channel_id).gap = Gap.MISSED
        self._buffer(channel_id, update)

    def _buffer(self, channel_id: int, update: Any) -> None:
        messages, deleted_ids = _contents(update)
        if not (messages or deleted_ids):
            return
        waiting_updates = self._waiting_in(channel_id)
        before = len(waiting_updates)
        if self._count + len(messages) + len(deleted_ids) > self._max_waiting:
            waiting_updates = self._waiting[channel_id] = _Waiting(gap=Gap.DROPPED)
        else:
            waiting_updates.messages |= messages
            waiting_updates.deleted |= deleted_ids
            for message_id in deleted_ids:
                waiting_updates.messages.pop(message_id, None)
        self._count += len(waiting_updates) - before

    def _is_ahead(self, update: types.UpdateChannelTooLong) -> bool:
        known_pts = self._pts.get(update.channel_id)
        if update.pts is None:
            return True
        self._pts[update.channel_id] = max(update.pts, known_pts or 0)
        return known_pts is None or known_pts < update.pts

    def _waiting_in(self, channel_id: int) -> _Waiting:
        self.has_updates.set()
        return self._waiting.setdefault(channel_id, _Waiting())


def _channel_of(update: Any) -> int | None:
    if isinstance(update, types.UpdateNewChannelMessage | types.UpdateEditChannelMessage):
        peer = update.message.peer_id
        return peer.channel_id if isinstance(peer, types.PeerChannel) else None
    channel_id: int = update.channel_id
    return channel_id


def _contents(update: Any) -> tuple[dict[int, Any], set[int]]:
    """Return the messages that an update brings, and the ids that it deletes."""
    match update:
        case types.UpdateNewChannelMessage() | types.UpdateEditChannelMessage():
            return {update.message.id: update.message}, set()
        case types.UpdateDeleteChannelMessages():
            return {}, set(update.messages)
    return {}, set()


def _channel_updates(channel_id: ChannelId, waiting_updates: _Waiting) -> ChannelUpdates:
    messages = tuple(waiting_updates.messages.values())
    posts = tuple(post for message in messages if (post := post_of(channel_id, message)) is not None)
    return ChannelUpdates(
        channel_id,
        posts,
        messages,
        tuple(MessageId(message_id) for message_id in sorted(waiting_updates.deleted)),
        waiting_updates.gap,
    )


@dataclass(frozen=True, slots=True)
class MissedUpdates:
    """The events since a state, without the account's other chats, and the new state."""

    state: SeenUpdates
    channels: frozenset[ChannelId] | None
    """None: too many to be named one by one."""
    is_all: bool
    """False: there is more after this state."""


async def load_state(client: AccountClient) -> SeenUpdates:
    """Return the state from which an account begins that has never received updates."""
    return _translate_state(await client.ask(functions.updates.GetStateRequest()))


async def load_missed(
    seen_updates: SeenUpdates, *, client: AccountClient, receiver: UpdateBuffer
) -> MissedUpdates:
    """Request the difference once. Updates of private chats in it are ignored."""
    answer = await client.ask(
        functions.updates.GetDifferenceRequest(
            pts=seen_updates.pts, date=seen_updates.moment, qts=seen_updates.qts
        )
    )
    return read_difference(answer, seen_updates, receiver=receiver)


def read_difference(answer: Any, seen_updates: SeenUpdates, *, receiver: UpdateBuffer) -> MissedUpdates:
    """Read a difference from that state."""
    match answer:
        case types.updates.DifferenceEmpty():
            return MissedUpdates(
                SeenUpdates(seen_updates.pts, seen_updates.qts, answer.seq, answer.date),
                frozenset(),
                is_all=True,
            )
        case types.updates.DifferenceTooLong():
            return MissedUpdates(
                SeenUpdates(answer.pts, seen_updates.qts, seen_updates.seq, seen_updates.moment),
                None,
                is_all=False,
            )
        case types.updates.DifferenceSlice():
            return MissedUpdates(
                _translate_state(answer.intermediate_state),
                receiver.channels_to_read(answer.other_updates),
                is_all=False,
            )
    return MissedUpdates(
        _translate_state(answer.state), receiver.channels_to_read(answer.other_updates), is_all=True
    )


def _translate_state(state: types.updates.State) -> SeenUpdates:
    return SeenUpdates(state.pts, state.qts, state.seq, state.date)
