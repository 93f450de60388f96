"""Telethon's session for one account: the login in memory, and nothing else.

Entities are not kept: whoever asks for a channel names it by id and access hash. How far updates were seen is kept by who
listens to them.
"""

import struct
from typing import Any

from telethon.sessions import StringSession

from telegram_assistant.domain.accounts.account import AccountRefused, AccountState

FIRST_DC = 2


class LoginSession(StringSession):  # type: ignore[misc]  # Telethon ships no types
    """Telethon's own, without its growing list of entities."""

    @property
    def login(self) -> str:
        """The login in Telethon's own form: whoever has it is logged in."""
        return str(self.save())

    def process_entities(self, tlo: Any) -> None:  # noqa: ANN401 -- any answer of Telegram
        """Nothing is kept."""


def session_of(login: str) -> LoginSession:
    """Empty: nobody is logged in yet. AccountRefused when it is none of Telethon's."""
    try:
        return LoginSession(login)
    except (ValueError, struct.error) as error:
        why = "the session is none of Telethon's; a login prints it as one long line"
        raise AccountRefused(why, state=AccountState.LOGGED_OUT) from error
