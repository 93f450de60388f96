"""Logs accounts in: a person starts a login on a page or in the CLI and answers there.

Only this role holds sessions, so it asks.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from uuid import UUID

from telegram_assistant.domain.accounts.account import AccountRefused, AccountState, mask_phone
from telegram_assistant.domain.accounts.login import INTERRUPTED, LoginState, LoginWay
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.errors import Busy, CannotStart, Rejected
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.accounts.accounts import AccountSessions
from telegram_assistant.stores.postgres.accounts.logins import ClaimedLogin, Logins, Owner
from telegram_assistant.supervision import cancel_and_wait, sleep_unless
from telegram_assistant.telegram.login import AccountProfile, LoginDialog, QrCode, WrongAnswer
from telegram_assistant.telegram.sealed_answers import AnswerReceiver, seal
from telegram_assistant.telegram.vault import Vault
from telegram_assistant.telemetry.health import Health, State
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.outages import OutageLog

log = get_logger()

PART = "logins"
LOOK_SECONDS, ANSWER_SECONDS = 1.0, 0.2
"""How often to look for a new login, and for an answer while a person is logging in."""
SCAN_SECONDS = 1.0
"""How often to check that the person is still there while a QR code waits to be scanned."""
MAX_WRONG_ANSWERS = 5
MIN_DIGITS, MAX_DIGITS = 7, 15
WENT_WRONG = Reason("login_went_wrong", "something went wrong; the log of this server has details")
NO_NUMBER = Reason("login_not_a_number", "this is not a phone number; write it with + and the country code")

type OpenLogin = Callable[[AccountId], AbstractAsyncContextManager[LoginDialog]]


class LoginWorker:
    """Serves every requested login, each in its own task.

    No other process can take over a login that is served here.
    """

    def __init__(
        self,
        open_login: OpenLogin,
        *,
        owner: str,
        logins: Logins,
        accounts: AccountSessions,
        vault: Vault,
        health: Health,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        self._open_login = open_login
        self._owner = owner
        self._logins = logins
        self._accounts = accounts
        self._vault = vault
        self._health = health
        self._look_seconds = look_seconds

    async def run(self, stopping: asyncio.Event) -> None:
        login_tasks: set[asyncio.Task[None]] = set()
        outage = OutageLog(PART)
        try:
            while not stopping.is_set():
                try:
                    for claimed_login in await self._logins.take(self._owner):
                        task = asyncio.create_task(self._serve(claimed_login))
                        login_tasks.add(task)
                        task.add_done_callback(login_tasks.discard)
                    self._health.report(PART, State.OK, f"serves {len(login_tasks)}")
                    outage.log_recovery()
                except Busy as busy:
                    outage.log_failure(busy)
                    self._health.report(PART, State.FAILING, str(busy))
                await sleep_unless(stopping, self._look_seconds)
        finally:
            await cancel_and_wait(list(login_tasks))

    async def _serve(self, claimed_login: ClaimedLogin) -> None:
        """Serve a login and record its result, whatever happens."""
        attempt_id, log_in = (
            claimed_login.attempt_id,
            self._by_qr_code if claimed_login.way is LoginWay.QR else self._by_phone,
        )
        try:
            account_id = await log_in(Questions(claimed_login, logins=self._logins))
        except asyncio.CancelledError:
            await self._finish(attempt_id, LoginState.FAILED, INTERRUPTED)
            raise
        except Busy as busy:
            await self._finish(
                attempt_id,
                LoginState.FAILED,
                Reason("login_try_later", "{why}; try again later", why=busy.reason),
            )
        except (Rejected, AccountRefused, CannotStart) as error:
            await self._finish(attempt_id, LoginState.FAILED, error.reason)
        except Exception:
            log.exception("login_failed")
            await self._finish(attempt_id, LoginState.FAILED, WENT_WRONG)
        else:
            log.info("account_logged_in", account_id=account_id)
            await self._finish(attempt_id, LoginState.DONE, None)

    async def _finish(self, attempt_id: UUID, state: LoginState, error: Reason | None) -> None:
        try:
            await self._logins.finish(attempt_id, state, error=error)
        except Busy:
            log.warning("login_not_finished", why="the database is away; the login will expire")

    async def _by_phone(self, questions: "Questions") -> AccountId:
        mistake: Reason | None = None
        for _ in range(MAX_WRONG_ANSWERS):
            phone = await questions.ask_person(LoginState.PHONE_WANTED, mistake)
            if not MIN_DIGITS <= sum(character.isdecimal() for character in phone) <= MAX_DIGITS:
                mistake = NO_NUMBER
                continue
            prints = self._vault.prints(phone)
            account_id = await self._logins.account_for(
                questions.attempt_id, prints=prints, phone_masked=mask_phone(phone)
            )
            try:
                await self._log_in_to(account_id, phone, prints[0], questions)
            except WrongAnswer as error:
                mistake = error.reason
            else:
                return account_id
        raise Rejected(Reason("login_too_many_wrong_answers", "too many wrong answers; start again"))

    async def _log_in_to(
        self, account_id: AccountId, phone: str, phone_print: bytes, questions: "Questions"
    ) -> None:
        try:
            async with self._open_login(account_id) as login:
                await login.send_code(phone)
                me = await questions.ask_until_right(LoginState.CODE_SENT, login.submit_code)
                if me is None:
                    me = await questions.ask_until_right(LoginState.PASSWORD_WANTED, login.submit_password)
                await self._save_session(account_id, login, Owner(me.user_id, mask_phone(phone), phone_print))
        except AccountRefused as error:
            await self._accounts.set_state(account_id, error.state, error.reason)
            raise
        # Only now that this connection is closed: the process that takes the account uses the same key.
        await self._accounts.set_state(account_id, AccountState.ACTIVE)

    async def _by_qr_code(self, questions: "Questions") -> AccountId:
        new_account_id = await self._logins.account_for_stranger(questions.attempt_id)
        try:
            async with self._open_login(new_account_id) as login:
                me = await _until_scanned(login, questions)
                if me is None:
                    me = await questions.ask_until_right(LoginState.PASSWORD_WANTED, login.submit_password)
                account_id = await self._save_scanned_session(new_account_id, login, me, questions.attempt_id)
        finally:
            with suppress(Busy):  # it is deleted after two days anyway
                await self._logins.forget_stranger(new_account_id)
        await self._accounts.set_state(account_id, AccountState.ACTIVE)
        return account_id

    async def _save_scanned_session(
        self, new_account_id: AccountId, login: LoginDialog, me: AccountProfile, attempt_id: UUID
    ) -> AccountId:
        """Save the session. Only now the owner is known, and whether the account was here before."""
        prints = self._vault.prints(me.phone)
        try:
            account_id = await self._logins.find_earlier_account(
                attempt_id, new_account_id, user_id=me.user_id, prints=prints
            )
        except Rejected:
            await login.undo()
            raise
        await self._save_session(account_id, login, Owner(me.user_id, mask_phone(me.phone), prints[0]))
        return account_id

    async def _save_session(self, account_id: AccountId, login: LoginDialog, owner: Owner) -> None:
        try:
            await self._logins.identify(account_id, owner)
        except Rejected:
            await login.undo()
            raise
        sealed = self._vault.seal(login.session, account_id=account_id)
        await self._accounts.save_session(account_id, key_id=sealed.key_id, session=sealed.content)


async def _until_scanned(login: LoginDialog, questions: "Questions") -> AccountProfile | None:
    """Show one code after the other, because each is valid for half a minute only.

    Returns None if a password is needed too.
    """
    clock = asyncio.get_running_loop().time
    while isinstance(code := await login.qr_code(), QrCode):
        await questions.show(code.link)
        until = clock() + code.good_for_seconds
        while (remaining_seconds := until - clock()) > 0 and not await login.is_scanned(
            min(remaining_seconds, SCAN_SECONDS)
        ):
            await questions.require_open()
    return code


class Questions:
    """Asks the person of one login."""

    def __init__(self, claimed_login: ClaimedLogin, *, logins: Logins) -> None:
        self.attempt_id = claimed_login.attempt_id
        self._door_key = claimed_login.door_key
        self._logins = logins
        self._receiver = AnswerReceiver()
        self._codes_shown = 0

    async def show(self, link: str) -> None:
        """Publish a link to scan, sealed for the program that shows it.

        Raises Rejected if the login is over.
        """
        if self._door_key is None:
            raise Rejected(
                Reason(
                    "login_without_sealing_key",
                    "the login was started without a key to seal the code; start again",
                )
            )
        self._codes_shown += 1
        sealed_bytes = seal(link, self._door_key, question=f"{self.attempt_id}/{self._codes_shown}/shown")
        await self._logins.show(self.attempt_id, self._codes_shown, sealed_bytes)

    async def require_open(self) -> None:
        """Raise Rejected if the person has left or the time is over."""
        await self._logins.take_answer(self.attempt_id)

    async def ask_person(self, state: LoginState, mistake: Reason | None = None) -> str:
        """Ask and wait for the answer. Raises Rejected if the login ends first."""
        number = await self._logins.ask(
            self.attempt_id, state, public_key=self._receiver.public_key, error=mistake
        )
        take = partial(self._logins.take_answer, self.attempt_id)
        while (sealed_bytes := await take()) is None:  # noqa: ASYNC110 -- another process answers
            await asyncio.sleep(ANSWER_SECONDS)
        return self._receiver.open(sealed_bytes, question=f"{self.attempt_id}/{number}").strip()

    async def ask_until_right[T](self, state: LoginState, give: Callable[[str], Awaitable[T]]) -> T:
        mistake: Reason | None = None
        for _ in range(MAX_WRONG_ANSWERS):
            try:
                return await give(await self.ask_person(state, mistake))
            except WrongAnswer as error:
                mistake = error.reason
        raise Rejected(Reason("login_too_many_wrong_answers", "too many wrong answers; start again"))
