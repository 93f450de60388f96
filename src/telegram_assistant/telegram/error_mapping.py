"""Maps Telegram's errors to ours: a wait, a later retry, or a refused account.

All others concern the request itself.
"""

import re
from collections.abc import Mapping

from telethon import errors

from telegram_assistant.domain.accounts.account import AccountRefused, AccountState
from telegram_assistant.errors import NoAnswer, Unanswered
from telegram_assistant.reasons import Reason

DEFAULT_WAIT_SECONDS = 60.0
"""Used when Telegram demands a wait without a length."""
AGAIN_SECONDS = 10.0

LOST = (
    OSError,
    EOFError,
    TimeoutError,
    BufferError,
    errors.SecurityError,
    errors.BadMessageError,
    errors.AuthKeyNotFound,
)
"""Errors that mean no answer, or none that can be read: the connection cannot be used any more."""

_PARKED: Mapping[type[Exception], AccountState] = {
    errors.UserDeactivatedError: AccountState.BANNED,
    errors.UserDeactivatedBanError: AccountState.BANNED,
    errors.PhoneNumberBannedError: AccountState.BANNED,
    errors.AuthKeyDuplicatedError: AccountState.LOGGED_OUT,
    errors.AuthKeyNotFound: AccountState.LOGGED_OUT,
    errors.FrozenMethodInvalidError: AccountState.QUARANTINED,
    errors.FrozenParticipantMissingError: AccountState.QUARANTINED,
}


def demanded_wait_seconds(error: Exception) -> float | None:
    """Return how long Telegram demands to wait, or None if the error is about something else.

    At least a second: some servers say 0, or less.
    """
    if not isinstance(error, errors.FloodError) or _account_state_after(error) is not None:
        return None
    seconds = getattr(error, "seconds", None)
    if seconds is None:
        match = re.search(r"_(-?\d+)$", str(error.message or ""))
        seconds = float(match.group(1)) if match else DEFAULT_WAIT_SECONDS
    return max(1.0, float(seconds))


def map_error(error: Exception) -> AccountRefused | Unanswered | None:
    """Return our error, or None if the error concerns the request: no such channel, no such name,
    a wrong code.
    """
    state = _account_state_after(error)
    if state is not None:
        return AccountRefused(_why_parked(state, _name(error)), state=state)
    is_transient = isinstance(error, (*LOST, errors.ServerError, errors.TimedOutError))
    if is_transient or (
        isinstance(error, errors.RPCError) and abs(error.code or 0) >= errors.ServerError.code
    ):
        return Unanswered(
            Reason("telegram_silent", "Telegram does not answer ({error})", error=_name(error)),
            kind=_kind_of(error),
            retry_after_seconds=AGAIN_SECONDS,
        )
    return None


def _why_parked(state: AccountState, error: str) -> Reason:
    match state:
        case AccountState.BANNED:
            return Reason("account_banned", "Telegram banned or deleted this account ({error})", error=error)
        case AccountState.QUARANTINED:
            return Reason("account_frozen", "Telegram froze this account ({error})", error=error)
        case _:
            return Reason(
                "account_login_ended",
                "Telegram no longer accepts this login; log in again ({error})",
                error=error,
            )


def _kind_of(error: Exception) -> NoAnswer:
    if isinstance(error, (TimeoutError, errors.TimedOutError)):
        return NoAnswer.TIMEOUT
    return NoAnswer.CONNECTION if isinstance(error, ConnectionError) else NoAnswer.NETWORK


def _account_state_after(error: Exception) -> AccountState | None:
    """Return the state that the error puts the account into, or None.

    Telethon maps unknown names to the class of their code, so check texts too.
    """
    message = str(getattr(error, "message", None) or "")
    if type(error) in _PARKED:
        return _PARKED[type(error)]
    if message.startswith("FROZEN_"):
        return AccountState.QUARANTINED
    if message.startswith("AUTH_KEY_") or (
        isinstance(error, errors.UnauthorizedError)
        and not isinstance(error, errors.SessionPasswordNeededError)
    ):
        return AccountState.LOGGED_OUT
    return None


def _name(error: Exception) -> str:
    """Return the error's name as Telegram writes it, or else as Telethon does."""
    is_generic = type(error) in errors.base_errors.values() or type(error) is errors.RPCError
    return str(getattr(error, "message", "")) if is_generic else type(error).__name__
