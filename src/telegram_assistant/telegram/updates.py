"""What Telegram tells an account by itself: new posts, edits and deletions of the channels that it has joined.

Telegram tells what it likes, once, and forgets it. So nothing is proven by it: what was told is landed at once because it is
fresh, and wherever something may have been missed, the channel is read. Every event of a channel has a number (pts) that says
whether the one before it was heard.
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
"""Messages and deletions that wait to be taken, over all channels. A burst beyond it is read from history instead."""

NUMBERED = (
    types.UpdateNewChannelMessage,
    types.UpdateEditChannelMessage,
    types.UpdateDeleteChannelMessages,
    types.UpdatePinnedChannelMessages,
    types.UpdateChannelWebPage,
)
"""Events of a channel that move its counter."""


class Gap(StrEnum):
    """Why a channel has to be read."""

    MISSED = "missed"
    """A number is left out."""
    TOLD = "told"
    """Telegram says that there is more than it tells."""
    DROPPED = "dropped"
    """It came faster than it was taken."""


@dataclass(frozen=True, slots=True)
class ChannelUpdates:
    """What was told of one channel since it was last taken. Of a message that was edited meanwhile, how it is now."""

    channel_id: ChannelId
    posts: tuple[Post, ...]
    messages: tuple[Any, ...]
    """As Telegram sent them."""
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
    """Whoever is told what comes over a connection."""

    def hear(self, updates: Any) -> None: ...  # noqa: ANN401 -- any of Telethon's updates
    def doubt(self) -> None:
        """Something may have been missed."""
        ...


class UpdateBuffer:
    """Hears for one account, over all its connections, and keeps little: who takes may be slow."""

    def __init__(self, *, max_waiting: int = MAX_WAITING) -> None:
        self.something = asyncio.Event()
        """Set while there is something to take."""
        self.doubts = 0
        """How often something may have passed unheard: a connection that was made or lost, a burst that Telegram cut short."""
        self.doubted = asyncio.Event()
        """Set by every doubt; who sees to it clears it."""
        self._max_waiting = max_waiting
        self._waiting: dict[int, _Waiting] = {}
        self._count = 0
        self._pts: dict[int, int] = {}

    @property
    def waiting(self) -> int:
        """How many messages and deletions there are to take."""
        return self._count

    def doubt(self) -> None:
        self.doubts += 1
        self.doubted.set()

    def hear(self, updates: Any) -> None:  # noqa: ANN401 -- any of Telethon's updates
        """At once and without waiting: the connection reads on only afterwards."""
        match updates:
            case types.UpdatesTooLong():
                self.doubt()
            case types.Updates() | types.UpdatesCombined():
                self._hear_all(updates.updates)
            case types.UpdateShort():
                self._hear_all([updates.update])

    def missed(self, updates: Iterable[Any]) -> frozenset[ChannelId]:
        """Which channels have to be read, by what was missed of them: those are left out of which everything was heard."""
        return frozenset(ChannelId(one.channel_id) for one in updates if isinstance(one, types.UpdateChannelTooLong) and self._is_ahead(one))

    def take(self) -> tuple[ChannelUpdates, ...]:
        """What has come since the last time."""
        waiting, self._waiting, self._count = self._waiting, {}, 0
        self.something.clear()
        return tuple(_heard(ChannelId(channel_id), one) for channel_id, one in waiting.items())

    def _hear_all(self, updates: Iterable[Any]) -> None:
        for update in updates:
            match update:
                case types.UpdateChannelTooLong():
                    if self._is_ahead(update):
                        self._of(update.channel_id).gap = Gap.TOLD
                case types.UpdateChannel():
                    self._of(update.channel_id).gap = Gap.TOLD
                case _ if isinstance(update, NUMBERED):
                    self._hear_numbered(update)

    def _hear_numbered(self, update: Any) -> None:  # noqa: ANN401 -- one of NUMBERED
        channel_id = _channel_of(update)
        known = None if channel_id is None else self._pts.get(channel_id)
        if channel_id is None or (known is not None and update.pts <= known):
            return  # told before, or so late that the channel is read already
        self._pts[channel_id] = update.pts
        if known is not None and update.pts > known + update.pts_count:
            self._of(channel_id).gap = Gap.MISSED
        self._keep(channel_id, update)

    def _keep(self, channel_id: int, update: Any) -> None:  # noqa: ANN401 -- as above
        messages, deleted = _contents(update)
        if not (messages or deleted):
            return
        waiting = self._of(channel_id)
        before = len(waiting)
        if self._count + len(messages) + len(deleted) > self._max_waiting:
            waiting = self._waiting[channel_id] = _Waiting(gap=Gap.DROPPED)
        else:
            waiting.messages |= messages
            waiting.deleted |= deleted
            for message_id in deleted:
                waiting.messages.pop(message_id, None)
        self._count += len(waiting) - before

    def _is_ahead(self, update: types.UpdateChannelTooLong) -> bool:
        known = self._pts.get(update.channel_id)
        if update.pts is None:
            return True
        self._pts[update.channel_id] = max(update.pts, known or 0)
        return known is None or known < update.pts

    def _of(self, channel_id: int) -> _Waiting:
        self.something.set()
        return self._waiting.setdefault(channel_id, _Waiting())


def _channel_of(update: Any) -> int | None:  # noqa: ANN401 -- as above
    if isinstance(update, types.UpdateNewChannelMessage | types.UpdateEditChannelMessage):
        peer = update.message.peer_id
        return peer.channel_id if isinstance(peer, types.PeerChannel) else None
    channel_id: int = update.channel_id
    return channel_id


def _contents(update: Any) -> tuple[dict[int, Any], set[int]]:  # noqa: ANN401 -- as above
    """The messages that it brings, and the ids that it takes away."""
    match update:
        case types.UpdateNewChannelMessage() | types.UpdateEditChannelMessage():
            return {update.message.id: update.message}, set()
        case types.UpdateDeleteChannelMessages():
            return {}, set(update.messages)
    return {}, set()


def _heard(channel_id: ChannelId, waiting: _Waiting) -> ChannelUpdates:
    messages = tuple(waiting.messages.values())
    posts = tuple(post for message in messages if (post := post_of(channel_id, message)) is not None)
    return ChannelUpdates(channel_id, posts, messages, tuple(MessageId(one) for one in sorted(waiting.deleted)), waiting.gap)


@dataclass(frozen=True, slots=True)
class Missed:
    """What has happened since a state, the account's other chats left aside, and how far it is seen now."""

    seen: SeenUpdates
    channels: frozenset[ChannelId] | None
    """None: too much to be told one by one."""
    is_all: bool
    """False: there is more, from here on."""


async def seen_now(line: AccountClient) -> SeenUpdates:
    """Where an account begins that has never listened before."""
    return _seen(await line.ask(functions.updates.GetStateRequest()))


async def missed_since(seen: SeenUpdates, *, line: AccountClient, receiver: UpdateBuffer) -> Missed:
    """One request; what it tells of people's own chats is not looked at."""
    answer = await line.ask(functions.updates.GetDifferenceRequest(pts=seen.pts, date=seen.moment, qts=seen.qts))
    return missed_in(answer, seen, receiver=receiver)


def missed_in(answer: Any, seen: SeenUpdates, *, receiver: UpdateBuffer) -> Missed:  # noqa: ANN401 -- one of four forms of a difference
    """What a difference from there on says."""
    match answer:
        case types.updates.DifferenceEmpty():
            return Missed(SeenUpdates(seen.pts, seen.qts, answer.seq, answer.date), frozenset(), is_all=True)
        case types.updates.DifferenceTooLong():
            return Missed(SeenUpdates(answer.pts, seen.qts, seen.seq, seen.moment), None, is_all=False)
        case types.updates.DifferenceSlice():
            return Missed(_seen(answer.intermediate_state), receiver.missed(answer.other_updates), is_all=False)
    return Missed(_seen(answer.state), receiver.missed(answer.other_updates), is_all=True)


def _seen(state: types.updates.State) -> SeenUpdates:
    return SeenUpdates(state.pts, state.qts, state.seq, state.date)
