"""Login by phone and code or by QR code, with two-step password; and logout."""

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
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import TelegramSettings
from telegram_assistant.telegram.account_client import AccountClient, Clock, LimitStore
from telegram_assistant.telegram.client import open_session_client
from telegram_assistant.telegram.session import LoginSession, session_of

FOR_EVER = float("inf")
MIN_CODE_SECONDS, MAX_CODE_SECONDS = 1.0, 60.0
"""Limits of a QR code's lifetime. Telegram reports it by its own clock; half a minute is usual."""
TOO_LATE = (errors.AuthTokenExpiredError, errors.AuthTokenInvalidError, errors.AuthTokenAlreadyAcceptedError)
NO_APPLICATION = (errors.ApiIdInvalidError, errors.ApiIdPublishedFloodError)


class WrongAnswer(Rejected):
    """The person must be asked again. The text says what was wrong."""


@dataclass(frozen=True, slots=True)
class AccountProfile:
    """The account that is logged in."""

    user_id: int
    phone: str
    is_premium: bool


@dataclass(frozen=True, slots=True)
class QrCode:
    """A link that logs us in as the person who opens it in their app.

    It is a secret as long as it is valid.
    """

    link: str = field(repr=False)
    good_for_seconds: float


class LoginDialog:
    """One login over a client that nothing else uses. Built by `open_login`."""

    def __init__(
        self,
        client: AccountClient,
        session: LoginSession,
        settings: TelegramSettings,
        *,
        scanned: asyncio.Event,
    ) -> None:
        self._client = client
        self._session = session
        self._settings = settings
        self._scanned = scanned
        self._phone = ""
        self._code_hash = ""

    @property
    def session(self) -> str:
        """The full login, once the login is complete."""
        return self._session.login

    async def send_code(self, phone: str) -> None:
        """Send a code.

        Raises WrongAnswer if the phone number is invalid, and Rejected if Telegram sends no code to it.
        """
        request = functions.auth.SendCodeRequest(
            phone, self._settings.api_id, self._settings.api_hash.get_secret_value(), types.CodeSettings()
        )
        try:
            try:
                sent_code = await self._client.ask(request)
            except (
                errors.InvalidDCError
            ):  # the account lives in another data centre, and Telethon has switched to it
                sent_code = await self._client.ask(request)
        except errors.PhoneNumberInvalidError as error:
            raise WrongAnswer(
                Reason(
                    "login_number_unknown",
                    "Telegram does not know this number; write it with + and the country code",
                )
            ) from error
        except errors.RPCError as error:
            raise _refusal(error) from error
        if not isinstance(sent_code, types.auth.SentCode):
            raise Rejected(Reason("login_no_code", "Telegram sends no code to this number"))
        self._phone, self._code_hash = phone, sent_code.phone_code_hash

    async def submit_code(self, code: str) -> AccountProfile | None:
        """Submit the code. Returns None if it is right and a password is needed too."""
        try:
            answer = await self._client.ask(functions.auth.SignInRequest(self._phone, self._code_hash, code))
        except errors.SessionPasswordNeededError:
            return None
        except (errors.PhoneCodeInvalidError, errors.PhoneCodeEmptyError) as error:
            raise WrongAnswer(Reason("login_code_wrong", "this code is wrong")) from error
        except errors.PhoneCodeExpiredError as error:
            raise Rejected(Reason("login_code_expired", "this code has expired; start again")) from error
        except errors.RPCError as error:
            raise _refusal(error) from error
        if isinstance(answer, types.auth.AuthorizationSignUpRequired):
            raise Rejected(Reason("login_no_such_person", "no Telegram account has this number"))
        return _profile_of(answer.user)

    async def qr_code(self) -> QrCode | AccountProfile | None:
        """Return a new code, or the profile of the person who scanned the last one.

        None: it was scanned, and a password is needed too.
        """
        self._scanned.clear()
        request = functions.auth.ExportLoginTokenRequest(
            self._settings.api_id, self._settings.api_hash.get_secret_value(), except_ids=[]
        )
        try:
            answer = await self._client.ask(request)
            if isinstance(answer, types.auth.LoginTokenMigrateTo):
                answer = await self._complete_elsewhere(answer, request)
        except errors.SessionPasswordNeededError:
            return None
        except errors.RPCError as error:
            raise _refusal(error) from error
        if isinstance(answer, types.auth.LoginTokenSuccess):
            return _profile_of(answer.authorization.user)
        token = base64.urlsafe_b64encode(answer.token).decode().rstrip("=")
        remaining_seconds = answer.expires.timestamp() - time.time()
        return QrCode(
            f"tg://login?token={token}", min(max(remaining_seconds, MIN_CODE_SECONDS), MAX_CODE_SECONDS)
        )

    async def _complete_elsewhere(self, answer: Any, request: Any) -> Any:
        """Complete the login in the data centre of the account that scanned the code.

        If that is too late, return a new code from there.
        """
        await self._client.move_to(answer.dc_id)
        try:
            return await self._client.ask(functions.auth.ImportLoginTokenRequest(answer.token))
        except TOO_LATE:
            return await self._client.ask(request)

    async def is_scanned(self, within_seconds: float) -> bool:
        """Wait for Telegram's message that the code was scanned.

        False is no proof that it was not: the next code shows.
        """
        try:
            async with asyncio.timeout(within_seconds):
                await self._scanned.wait()
        except TimeoutError:
            return False
        return True

    async def submit_password(self, password: str) -> AccountProfile:
        try:
            challenge = await self._client.ask(functions.account.GetPasswordRequest())
            proof = await asyncio.to_thread(compute_check, challenge, password)
            answer = await self._client.ask(functions.auth.CheckPasswordRequest(proof))
        except errors.PasswordHashInvalidError as error:
            raise WrongAnswer(Reason("login_password_wrong", "this password is wrong")) from error
        except errors.RPCError as error:
            raise _refusal(error) from error
        return _profile_of(answer.user)

    async def undo(self) -> None:
        """End the session that was just created."""
        await log_out(self._client)


@asynccontextmanager
async def open_login(
    settings: TelegramSettings, *, account_id: AccountId, limits: LimitStore, clock: Clock | None = None
) -> AsyncIterator[LoginDialog]:
    """Open a client with a new key that no other process has, so it needs no lease.

    It notices when a code is scanned.
    """
    session, scanned = session_of(""), QrScanned()
    async with open_session_client(
        session,
        settings,
        Lease(begun_at=FOR_EVER),
        account_id=account_id,
        limits=limits,
        receiver=scanned,
        clock=clock,
    ) as client:
        yield LoginDialog(client, session, settings, scanned=scanned.event)


class QrScanned:
    """Receives only the update that a QR code was scanned."""

    def __init__(self) -> None:
        self.event = asyncio.Event()

    def receive(self, updates: types.TypeUpdates) -> None:
        received_updates = (
            [updates.update] if isinstance(updates, types.UpdateShort) else getattr(updates, "updates", [])
        )
        if any(isinstance(update, types.UpdateLoginToken) for update in received_updates):
            self.event.set()

    def note_possible_gap(self) -> None:
        """Do nothing: a missed scan is found when the next code is requested."""


async def whoami(client: AccountClient) -> AccountProfile:
    (user,) = await client.ask(functions.users.GetUsersRequest([types.InputUserSelf()]))
    return _profile_of(user)


async def log_out(client: AccountClient) -> None:
    """End the session at Telegram. A session that has ended already is no error."""
    try:
        await client.ask(functions.auth.LogOutRequest())
    except AccountRefused:
        return


def _profile_of(user: Any) -> AccountProfile:
    return AccountProfile(user.id, str(user.phone or ""), bool(user.premium))


def _refusal(error: errors.RPCError) -> Rejected:
    if isinstance(error, NO_APPLICATION):
        return Rejected(
            Reason("application_refused", "Telegram refuses the application; check its api_id and api_hash")
        )
    return Rejected(
        Reason("login_refused", "Telegram refuses the login ({error})", error=type(error).__name__)
    )
