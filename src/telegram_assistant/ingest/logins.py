"""Logging accounts in: a door wants a login, a person answers there, and this role, which alone keeps sessions, asks."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from uuid import UUID

from telegram_assistant.domain.accounts.account import AccountRefused, AccountState, masked
from telegram_assistant.domain.accounts.login import LoginState, LoginWay
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.errors import Busy, CannotStart, Rejected
from telegram_assistant.stores.postgres.accounts.accounts import AccountSessions
from telegram_assistant.stores.postgres.accounts.logins import ClaimedLogin, Logins, Owner
from telegram_assistant.supervision import end, sleep_unless
from telegram_assistant.telegram.login import AccountProfile, LoginDialog, QrCode, WrongAnswer
from telegram_assistant.telegram.sealed_answers import AnswerReceiver, seal
from telegram_assistant.telegram.vault import Vault
from telegram_assistant.telemetry.health import Health, State
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()

PART = "logins"
LOOK_SECONDS, ANSWER_SECONDS = 1.0, 0.2
"""How often a login is looked for, and an answer while a person is at the door."""
SCAN_SECONDS = 1.0
"""How often it is looked whether the person is still there, while a code waits to be scanned."""
MAX_WRONG_ANSWERS = 5
MIN_DIGITS, MAX_DIGITS = 7, 15

type OpenLogin = Callable[[AccountId], AbstractAsyncContextManager[LoginDialog]]


class LoginWorker:
    """Serves every login that is wanted, each in a task of its own. Who is served here can be served by nobody else."""

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
        serving: set[asyncio.Task[None]] = set()
        try:
            while not stopping.is_set():
                try:
                    for taken in await self._logins.take(self._owner):
                        task = asyncio.create_task(self._serve(taken))
                        serving.add(task)
                        task.add_done_callback(serving.discard)
                    self._health.report(PART, State.OK, f"serves {len(serving)}")
                except Busy as busy:
                    self._health.report(PART, State.FAILING, str(busy))
                await sleep_unless(stopping, self._look_seconds)
        finally:
            await end(list(serving))

    async def _serve(self, taken: ClaimedLogin) -> None:
        """Whatever happens, the person is told how it ended."""
        attempt_id, log_in = taken.attempt_id, self._by_qr_code if taken.way is LoginWay.QR else self._by_phone
        try:
            account_id = await log_in(Questions(taken, logins=self._logins))
        except asyncio.CancelledError:
            await self._tell(attempt_id, LoginState.FAILED, "the ingest role was stopped; begin again")
            raise
        except Busy as busy:
            await self._tell(attempt_id, LoginState.FAILED, f"{busy}; try again later")
        except (Rejected, AccountRefused, CannotStart) as error:
            await self._tell(attempt_id, LoginState.FAILED, str(error))
        except Exception:
            log.exception("login_failed")
            await self._tell(attempt_id, LoginState.FAILED, "something went wrong; the log of the ingest role says more")
        else:
            log.info("account_logged_in", account_id=account_id)
            await self._tell(attempt_id, LoginState.DONE, None)

    async def _tell(self, attempt_id: UUID, state: LoginState, error: str | None) -> None:
        try:
            await self._logins.finish(attempt_id, state, error=error)
        except Busy:
            log.warning("login_not_finished", why="the database is away; the login will expire")

    async def _by_phone(self, questions: "Questions") -> AccountId:
        wrong: str | None = None
        for _ in range(MAX_WRONG_ANSWERS):
            phone = await questions.ask(LoginState.PHONE_WANTED, wrong)
            if not MIN_DIGITS <= sum(character.isdecimal() for character in phone) <= MAX_DIGITS:
                wrong = "that is no phone number; write it with + and the country code"
                continue
            prints = self._vault.prints(phone)
            account_id = await self._logins.account_for(questions.attempt_id, prints=prints, phone_masked=masked(phone))
            try:
                await self._log_in_to(account_id, phone, prints[0], questions)
            except WrongAnswer as error:
                wrong = str(error)
            else:
                return account_id
        raise Rejected("there were too many wrong answers; begin again")

    async def _log_in_to(self, account_id: AccountId, phone: str, phone_print: bytes, questions: "Questions") -> None:
        try:
            async with self._open_login(account_id) as login:
                await login.send_code(phone)
                me = await questions.until_right(LoginState.CODE_SENT, login.give_code)
                if me is None:
                    me = await questions.until_right(LoginState.PASSWORD_WANTED, login.give_password)
                await self._keep(account_id, login, Owner(me.user_id, masked(phone), phone_print))
        except AccountRefused as error:
            await self._accounts.set_state(account_id, error.state, str(error))
            raise
        # Only now, after we have hung up: whoever takes the account uses the same key.
        await self._accounts.set_state(account_id, AccountState.ACTIVE)

    async def _by_qr_code(self, questions: "Questions") -> AccountId:
        made = await self._logins.account_for_stranger(questions.attempt_id)
        try:
            async with self._open_login(made) as login:
                me = await _until_scanned(login, questions)
                if me is None:
                    me = await questions.until_right(LoginState.PASSWORD_WANTED, login.give_password)
                account_id = await self._keep_stranger(made, login, me, questions.attempt_id)
        finally:
            with suppress(Busy):  # then it is forgotten after two days
                await self._logins.forget_stranger(made)
        await self._accounts.set_state(account_id, AccountState.ACTIVE)
        return account_id

    async def _keep_stranger(self, made: AccountId, login: LoginDialog, me: AccountProfile, attempt_id: UUID) -> AccountId:
        """Now it is known whose account it is, and so whether it was here before."""
        prints = self._vault.prints(me.phone)
        try:
            account_id = await self._logins.known_account(attempt_id, made, user_id=me.user_id, prints=prints)
        except Rejected:
            await login.undo()
            raise
        await self._keep(account_id, login, Owner(me.user_id, masked(me.phone), prints[0]))
        return account_id

    async def _keep(self, account_id: AccountId, login: LoginDialog, owner: Owner) -> None:
        try:
            await self._logins.identify(account_id, owner)
        except Rejected:
            await login.undo()
            raise
        sealed = self._vault.seal(login.session, account_id=account_id)
        await self._accounts.save_session(account_id, key_id=sealed.key_id, session=sealed.content)


async def _until_scanned(login: LoginDialog, questions: "Questions") -> AccountProfile | None:
    """A code after the other, as each is good for half a minute only. None: a password is wanted too."""
    clock = asyncio.get_running_loop().time
    while isinstance(code := await login.qr_code(), QrCode):
        await questions.show(code.link)
        until = clock() + code.good_for_seconds
        while (left := until - clock()) > 0 and not await login.is_scanned(min(left, SCAN_SECONDS)):
            await questions.require_open()
    return code


class Questions:
    """Asks the person of one login."""

    def __init__(self, taken: ClaimedLogin, *, logins: Logins) -> None:
        self.attempt_id = taken.attempt_id
        self._door_key = taken.door_key
        self._logins = logins
        self._asker = AnswerReceiver()
        self._shown = 0

    async def show(self, link: str) -> None:
        """Something to scan, for the eyes of the door alone. Rejected when the login is over."""
        if self._door_key is None:
            raise Rejected("the door has sent no key to seal the code with; begin again")
        self._shown += 1
        sealed = seal(link, self._door_key, question=f"{self.attempt_id}/{self._shown}/shown")
        await self._logins.show(self.attempt_id, self._shown, sealed)

    async def require_open(self) -> None:
        """Rejected when the person has gone, or the time is over."""
        await self._logins.take_answer(self.attempt_id)

    async def ask(self, wanted: LoginState, wrong: str | None = None) -> str:
        """Waits for the answer; Rejected when the login is over before it comes."""
        number = await self._logins.ask(self.attempt_id, wanted, public_key=self._asker.public_key, error=wrong)
        while (sealed := await self._logins.take_answer(self.attempt_id)) is None:  # noqa: ASYNC110 -- another process answers
            await asyncio.sleep(ANSWER_SECONDS)
        return self._asker.open(sealed, question=f"{self.attempt_id}/{number}").strip()

    async def until_right[T](self, wanted: LoginState, give: Callable[[str], Awaitable[T]]) -> T:
        wrong: str | None = None
        for _ in range(MAX_WRONG_ANSWERS):
            try:
                return await give(await self.ask(wanted, wrong))
            except WrongAnswer as error:
                wrong = str(error)
        raise Rejected("there were too many wrong answers; begin again")
