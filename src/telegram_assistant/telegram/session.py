"""Telethon's session for one account: the login in memory, and how far updates were seen in PostgreSQL.

Telethon's own sessions forget the second part, so after a restart it would not know what it has missed. Entities are not
kept: whoever asks for a channel names it by id and access hash.
"""

import struct
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from telethon.sessions import StringSession
from telethon.tl import types

from telegram_assistant.domain.account import AccountState
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.domain.updates import ACCOUNT_ITSELF, SeenUpdates
from telegram_assistant.errors import AccountRefused, Busy
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()

FIRST_DC = 2
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class UpdateStates(Protocol):
    """Where it is kept how far an account has seen updates."""

    async def of(self, account_id: AccountId) -> tuple[SeenUpdates, ...]: ...
    async def save(self, account_id: AccountId, seen: Iterable[SeenUpdates]) -> None: ...
    async def access_hashes(self, account_id: AccountId) -> Mapping[int, int]:
        """Of the channels that updates were seen of."""
        ...


class KeptSession(StringSession):  # type: ignore[misc]  # Telethon ships no types
    """Telethon waits for the methods that are coroutines here, although the class it defines has plain ones."""

    def __init__(self, login: str, *, account_id: AccountId, states: UpdateStates) -> None:
        super().__init__(login)
        self._account_id = account_id
        self._states = states
        self._hashes: Mapping[int, int] = {}
        self._unsaved: dict[int, SeenUpdates] = {}

    @property
    def login(self) -> str:
        """The login in Telethon's own form: whoever has it is logged in."""
        return str(super().save())

    async def get_update_states(self) -> list[tuple[int, types.updates.State]]:
        self._hashes = await self._states.access_hashes(self._account_id)
        return [(one.channel_id, _telethons(one)) for one in await self._states.of(self._account_id)]

    def set_update_state(self, entity_id: int, state: types.updates.State) -> None:
        if state.pts:  # zero: nothing has been seen yet
            self._unsaved[entity_id] = _ours(entity_id, state)

    async def save(self) -> None:
        """Every minute and at the end. What cannot be saved now waits for the next time: it costs updates that come twice."""
        unsaved, self._unsaved = self._unsaved, {}
        try:
            await self._states.save(self._account_id, unsaved.values())
        except Busy as busy:
            self._unsaved = unsaved | self._unsaved
            log.warning("update_state_not_saved", account_id=self._account_id, why=str(busy))

    async def close(self) -> None:
        await self.save()

    def process_entities(self, tlo: Any) -> None:  # noqa: ANN401 -- any answer of Telegram
        """Nothing is kept."""

    def get_input_entity(self, key: Any) -> types.InputPeerChannel:  # noqa: ANN401 -- whatever Telethon looks for
        """Only for channels of which updates are known; ValueError is Telethon's way to say that there is none."""
        if isinstance(key, int) and key in self._hashes:
            return types.InputPeerChannel(key, self._hashes[key])
        raise ValueError("entities are not kept")


def session_of(login: str, *, account_id: AccountId, states: UpdateStates) -> KeptSession:
    """Empty: nobody is logged in yet. AccountRefused when it is none of Telethon's."""
    try:
        return KeptSession(login, account_id=account_id, states=states)
    except (ValueError, struct.error) as error:
        why = "the session is none of Telethon's; a login prints it as one long line"
        raise AccountRefused(why, state=AccountState.LOGGED_OUT) from error


def _telethons(seen: SeenUpdates) -> types.updates.State:
    return types.updates.State(pts=seen.pts, qts=seen.qts, date=seen.moment or EPOCH, seq=seen.seq, unread_count=0)


def _ours(channel_id: int, state: types.updates.State) -> SeenUpdates:
    if channel_id != ACCOUNT_ITSELF:
        return SeenUpdates(channel_id, state.pts)
    return SeenUpdates(channel_id, state.pts, state.qts, state.seq, state.date)
