"""What Telegram's errors mean for us: wait so long, try again later, the account is refused; the rest is about the request."""

import re
from collections.abc import Mapping

from telethon import errors

from telegram_assistant.domain.accounts.account import AccountRefused, AccountState
from telegram_assistant.errors import NoAnswer, Unanswered

UNTOLD_WAIT_SECONDS = 60.0
"""Telegram asks to wait and does not say how long."""
AGAIN_SECONDS = 10.0

LOST = (OSError, EOFError, TimeoutError, BufferError, errors.SecurityError, errors.BadMessageError, errors.AuthKeyNotFound)
"""What is raised when there is no answer, or none that can be read: the connection is of no use any more."""

_PARKED: Mapping[type[Exception], AccountState] = {
    errors.UserDeactivatedError: AccountState.BANNED,
    errors.UserDeactivatedBanError: AccountState.BANNED,
    errors.PhoneNumberBannedError: AccountState.BANNED,
    errors.AuthKeyDuplicatedError: AccountState.LOGGED_OUT,
    errors.AuthKeyNotFound: AccountState.LOGGED_OUT,
    errors.FrozenMethodInvalidError: AccountState.QUARANTINED,
    errors.FrozenParticipantMissingError: AccountState.QUARANTINED,
}
_WHY = {
    AccountState.BANNED: "Telegram has banned or deleted this account",
    AccountState.LOGGED_OUT: "Telegram does not accept this login any more; log in again",
    AccountState.QUARANTINED: "Telegram has frozen this account",
}


def wait_in(error: Exception) -> float | None:
    """How long Telegram asks to wait, if that is what the error says. Never less than a second: some servers say 0, or less."""
    if not isinstance(error, errors.FloodError) or _parked_in(error) is not None:
        return None
    seconds = getattr(error, "seconds", None)
    if seconds is None:
        told = re.search(r"_(-?\d+)$", str(error.message or ""))
        seconds = float(told.group(1)) if told else UNTOLD_WAIT_SECONDS
    return max(1.0, float(seconds))


def verdict_on(error: Exception) -> AccountRefused | Unanswered | None:
    """None where the error is about the request: no such channel, no such name, a wrong code."""
    state = _parked_in(error)
    if state is not None:
        return AccountRefused(f"{_WHY[state]} ({_name(error)})", state=state)
    passing = isinstance(error, (*LOST, errors.ServerError, errors.TimedOutError))
    if passing or (isinstance(error, errors.RPCError) and abs(error.code or 0) >= errors.ServerError.code):
        return Unanswered(f"Telegram does not answer ({_name(error)})", reason=_reason(error), retry_after_seconds=AGAIN_SECONDS)
    return None


def _reason(error: Exception) -> NoAnswer:
    if isinstance(error, (TimeoutError, errors.TimedOutError)):
        return NoAnswer.TIMEOUT
    return NoAnswer.CONNECTION if isinstance(error, ConnectionError) else NoAnswer.NETWORK


def _parked_in(error: Exception) -> AccountState | None:
    """Telethon puts names that it does not know into the class of their number, so some are told by their text."""
    message = str(getattr(error, "message", None) or "")
    if type(error) in _PARKED:
        return _PARKED[type(error)]
    if message.startswith("FROZEN_"):
        return AccountState.QUARANTINED
    if message.startswith("AUTH_KEY_") or (isinstance(error, errors.UnauthorizedError) and not isinstance(error, errors.SessionPasswordNeededError)):
        return AccountState.LOGGED_OUT
    return None


def _name(error: Exception) -> str:
    """The error's name as Telegram writes it, or else as Telethon does."""
    generic = type(error) in errors.base_errors.values() or type(error) is errors.RPCError
    return str(getattr(error, "message", "")) if generic else type(error).__name__
