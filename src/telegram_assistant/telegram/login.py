"""Logging in by phone and code or by a QR code, and two-step password, and logging out."""

import asyncio
import base64
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from telethon import errors
from telethon.password import compute_check
from telethon.tl import functions, types

from telegram_assistant.domain.accounts.account import AccountRefused, Lease
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.errors import Rejected
from telegram_assistant.settings import TelegramSettings
from telegram_assistant.telegram.account_client import AccountClient, Clock, LimitStore
from telegram_assistant.telegram.client import line_over
from telegram_assistant.telegram.session import LoginSession, session_of

FOR_EVER = float("inf")
SHORTEST_CODE_SECONDS, MAX_CODE_SECONDS = 1.0, 60.0
"""Telegram says until when a code is good, by its own clock; half a minute is usual."""
TOO_LATE = (errors.AuthTokenExpiredError, errors.AuthTokenInvalidError, errors.AuthTokenAlreadyAcceptedError)
NO_APPLICATION = (errors.ApiIdInvalidError, errors.ApiIdPublishedFloodError)


class WrongAnswer(Rejected):
    """The person is to be asked again; the text says what was wrong."""


@dataclass(frozen=True, slots=True)
class AccountProfile:
    """Who is logged in."""

    user_id: int
    phone: str
    is_premium: bool


@dataclass(frozen=True, slots=True)
class QrCode:
    """A link that logs us in as whoever opens it in an app of theirs: a secret for as long as it is good."""

    link: str = field(repr=False)
    good_for_seconds: float


class LoginDialog:
    """One login over a line that nobody else uses. `open_login` makes it."""

    def __init__(self, line: AccountClient, session: LoginSession, settings: TelegramSettings, *, scanned: asyncio.Event) -> None:
        self._line = line
        self._session = session
        self._settings = settings
        self._scanned = scanned
        self._phone = ""
        self._code_hash = ""

    @property
    def session(self) -> str:
        """A full login, once somebody is logged in."""
        return self._session.login

    async def send_code(self, phone: str) -> None:
        """WrongAnswer when it is no number; Rejected when there is no code to be had for it."""
        request = functions.auth.SendCodeRequest(phone, self._settings.api_id, self._settings.api_hash.get_secret_value(), types.CodeSettings())
        try:
            try:
                sent = await self._line.ask(request)
            except errors.InvalidDCError:  # the account lives elsewhere, and Telethon has gone there
                sent = await self._line.ask(request)
        except errors.PhoneNumberInvalidError as error:
            raise WrongAnswer("Telegram does not know this number; write it with + and the country code") from error
        except errors.RPCError as error:
            raise _refusal(error) from error
        if not isinstance(sent, types.auth.SentCode):
            raise Rejected("Telegram sends no code to this number")
        self._phone, self._code_hash = phone, sent.phone_code_hash

    async def give_code(self, code: str) -> AccountProfile | None:
        """None: the code is right, and a password is wanted too."""
        try:
            answer = await self._line.ask(functions.auth.SignInRequest(self._phone, self._code_hash, code))
        except errors.SessionPasswordNeededError:
            return None
        except (errors.PhoneCodeInvalidError, errors.PhoneCodeEmptyError) as error:
            raise WrongAnswer("that code is wrong") from error
        except errors.PhoneCodeExpiredError as error:
            raise Rejected("that code is too old; begin again") from error
        except errors.RPCError as error:
            raise _refusal(error) from error
        if isinstance(answer, types.auth.AuthorizationSignUpRequired):
            raise Rejected("nobody has a Telegram account with this number")
        return _me(answer.user)

    async def qr_code(self) -> QrCode | AccountProfile | None:
        """A new code; or who has scanned the last one. None: it was scanned, and a password is wanted too."""
        self._scanned.clear()
        request = functions.auth.ExportLoginTokenRequest(self._settings.api_id, self._settings.api_hash.get_secret_value(), except_ids=[])
        try:
            answer = await self._line.ask(request)
            if isinstance(answer, types.auth.LoginTokenMigrateTo):
                answer = await self._follow_there(answer, request)
        except errors.SessionPasswordNeededError:
            return None
        except errors.RPCError as error:
            raise _refusal(error) from error
        if isinstance(answer, types.auth.LoginTokenSuccess):
            return _me(answer.authorization.user)
        token = base64.urlsafe_b64encode(answer.token).decode().rstrip("=")
        left = answer.expires.timestamp() - time.time()
        return QrCode(f"tg://login?token={token}", min(max(left, SHORTEST_CODE_SECONDS), MAX_CODE_SECONDS))

    async def _follow_there(self, answer: Any, request: Any) -> Any:  # noqa: ANN401 -- Telethon ships no types
        """Whoever has scanned it lives in another data centre. Too late, there is a new code of that one."""
        await self._line.move_to(answer.dc_id)
        try:
            return await self._line.ask(functions.auth.ImportLoginTokenRequest(answer.token))
        except TOO_LATE:
            return await self._line.ask(request)

    async def is_scanned(self, within_seconds: float) -> bool:
        """Whether Telegram says so within that time. It may have been scanned all the same: a new code tells."""
        try:
            async with asyncio.timeout(within_seconds):
                await self._scanned.wait()
        except TimeoutError:
            return False
        return True

    async def give_password(self, password: str) -> AccountProfile:
        try:
            puzzle = await self._line.ask(functions.account.GetPasswordRequest())
            solved = await asyncio.to_thread(compute_check, puzzle, password)
            answer = await self._line.ask(functions.auth.CheckPasswordRequest(solved))
        except errors.PasswordHashInvalidError as error:
            raise WrongAnswer("that password is wrong") from error
        except errors.RPCError as error:
            raise _refusal(error) from error
        return _me(answer.user)

    async def undo(self) -> None:
        """End the session that was just made."""
        await log_out(self._line)


@asynccontextmanager
async def open_login(
    settings: TelegramSettings, *, account_id: AccountId, limits: LimitStore, clock: Clock | None = None
) -> AsyncIterator[LoginDialog]:
    """A line with a key of its own that nobody else has, so it needs no lease. It hears when a code was scanned."""
    session, scanned = session_of(""), QrScanned()
    async with line_over(session, settings, Lease(begun=FOR_EVER), account_id=account_id, limits=limits, receiver=scanned, clock=clock) as line:
        yield LoginDialog(line, session, settings, scanned=scanned.event)


class QrScanned:
    """Hears only that a QR code was scanned."""

    def __init__(self) -> None:
        self.event = asyncio.Event()

    def hear(self, updates: types.TypeUpdates) -> None:
        told = [updates.update] if isinstance(updates, types.UpdateShort) else getattr(updates, "updates", [])
        if any(isinstance(one, types.UpdateLoginToken) for one in told):
            self.event.set()

    def doubt(self) -> None:
        """A code that was scanned unheard is found when the next one is asked for."""


async def whoami(line: AccountClient) -> AccountProfile:
    (user,) = await line.ask(functions.users.GetUsersRequest([types.InputUserSelf()]))
    return _me(user)


async def log_out(line: AccountClient) -> None:
    """End the session at Telegram. One that has ended already is no mistake."""
    try:
        await line.ask(functions.auth.LogOutRequest())
    except AccountRefused:
        return


def _me(user: Any) -> AccountProfile:  # noqa: ANN401 -- Telethon ships no types
    return AccountProfile(user.id, str(user.phone or ""), bool(user.premium))


def _refusal(error: errors.RPCError) -> Rejected:
    if isinstance(error, NO_APPLICATION):
        return Rejected("Telegram refuses the application; check TELEGRAM_API_ID and TELEGRAM_API_HASH")
    return Rejected(f"Telegram refuses the login ({type(error).__name__})")
