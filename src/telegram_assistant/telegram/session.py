"""Telethon's session for one account: the login in memory, and nothing else.

Entities are not kept, because callers name channels by id and access hash. The receiver of updates keeps
their position.
"""

import struct
from typing import Any

from telethon.sessions import StringSession

from telegram_assistant.domain.accounts.account import AccountRefused, AccountState
from telegram_assistant.reasons import Reason

FIRST_DC = 2


class LoginSession(StringSession):  # type: ignore[misc]  # Telethon ships no types
    """Telethon's own session, without its growing list of entities."""

    @property
    def login(self) -> str:
        """The login in Telethon's own form. Anyone who has it is logged in."""
        return str(self.save())

    def process_entities(self, tlo: Any) -> None:
        """Keep no entities."""


def session_of(login: str) -> LoginSession:
    """Build a session; an empty login means not logged in yet.

    Raises AccountRefused if it is not in Telethon's form.
    """
    try:
        return LoginSession(login)
    except (ValueError, struct.error) as error:
        reason = Reason(
            "session_malformed", "the session is not in Telethon's format; a login prints it as one long line"
        )
        raise AccountRefused(reason, state=AccountState.LOGGED_OUT) from error
