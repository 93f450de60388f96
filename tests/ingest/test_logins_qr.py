"""Logging in by a QR code: the ingest role shows it at the door, a person scans it,
and what becomes of the account.
"""

import base64
import dataclasses

import pytest
from pydantic import SecretStr
from telethon.sessions import StringSession
from telethon.tl import functions, types

from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.domain.accounts.login import LoginAttempt, LoginState, LoginWay
from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import quote
from telegram_assistant.stores.postgres.stores import IngestStores, SystemStores
from telegram_assistant.telegram.login import QrCode
from telegram_assistant.telegram.sealed_answers import AnswerReceiver
from telegram_assistant.telegram.vault import Sealed, Vault
from telegram_simulator.control.operations import Control
from telegram_simulator.control.other_apps import OtherApps
from telegram_simulator.simulator import Simulator
from testkit.factories import make_tenant
from tests.conftest import Admin
from tests.ingest.login_desk import desk, no_other_accounts, person, tenant_id, vault
from tests.ingest.person import DIGITS, PASSWORD, Person
from tests.streams.conftest import until
from tests.telegram.conftest import Lines

__all__ = ["desk", "no_other_accounts", "person", "tenant_id", "vault"]

pytestmark = pytest.mark.usefixtures("desk")

ME = functions.users.GetUsersRequest([types.InputUserSelf()])


@dataclasses.dataclass
class Scanner:
    """A person with a phone: reads the code at the door, and scans it."""

    person: Person
    people: OtherApps
    eyes: AnswerReceiver = dataclasses.field(default_factory=AnswerReceiver)

    async def begin(self) -> LoginAttempt:
        attempt_id = await self.person.begin(way=LoginWay.QR, door_key=self.eyes.public_key)
        return await self.person.next(attempt_id, 0)

    def link(self, attempt: LoginAttempt) -> str:
        assert attempt.prompt is not None
        return self.eyes.open(attempt.prompt, question=f"{attempt.attempt_id}/{attempt.question}/shown")

    async def scan(self, attempt: LoginAttempt, phone: str = DIGITS) -> LoginAttempt:
        self.people.accept_login(phone, self.link(attempt))
        return await self.person.next(attempt.attempt_id, attempt.question)

    async def log_in(self, phone: str = DIGITS) -> LoginAttempt:
        return await self.scan(await self.begin(), phone)


@pytest.fixture
def scanner(person: Person, sim: Simulator) -> Scanner:
    return Scanner(person, OtherApps(sim))


async def test_a_scanned_code_makes_an_account_that_is_used(
    scanner: Scanner, ingest: IngestStores, vault: Vault, lines: Lines, sim: Simulator
) -> None:
    attempt = await scanner.begin()
    assert (attempt.state, scanner.link(attempt).startswith("tg://login?token=")) == (
        LoginState.QR_SHOWN,
        True,
    )
    done = await scanner.scan(attempt)
    assert (done.state, done.error, done.phone_masked) == (LoginState.DONE, None, "+7999*****01")
    (held,) = await ingest.accounts.take("holder#1")
    assert (held.account_id, held.user_id) == (done.account_id, sim.world.account(DIGITS).user_id)
    session = vault.open(Sealed(held.key_id, held.session), account_id=held.account_id)
    async with lines(number=held.account_id, session_string=SecretStr(session)) as line:
        (me,) = await line.ask(ME)
    assert me.phone == DIGITS
    assert not any(record.double_use for record in sim.keys)


async def test_the_link_is_nowhere_but_at_the_door(
    scanner: Scanner,
    admin: Admin,
    sim: Simulator,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    attempt = await scanner.begin()
    link = scanner.link(attempt)
    token = link.partition("=")[2]
    assert base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)) in sim.login_tokens
    rows = str([dict(row) for row in await admin.fetch("SELECT * FROM login_attempts")])
    assert attempt.prompt is not None
    assert token.encode() not in attempt.prompt
    with pytest.raises(Rejected):
        AnswerReceiver().open(attempt.prompt, question=f"{attempt.attempt_id}/{attempt.question}/shown")
    await scanner.scan(attempt)
    captured = capsys.readouterr()
    assert not [text for text in (rows, captured.out, captured.err, caplog.text) if token in text]
    assert token not in repr(QrCode(link, 30.0))
    assert await admin.fetchval("SELECT shown FROM login_attempts") is None


async def test_a_password_is_asked_for_after_the_scan_until_it_is_right(
    scanner: Scanner, control: Control
) -> None:
    control.account(DIGITS, password=PASSWORD)
    attempt = await scanner.log_in()
    assert attempt.state is LoginState.PASSWORD_WANTED
    await scanner.person.answer(attempt, "тополь")
    again = await scanner.person.next(attempt.attempt_id, attempt.question)
    assert (again.state, str(again.error)) == (LoginState.PASSWORD_WANTED, "this password is wrong")
    await scanner.person.answer(again, PASSWORD)
    assert (await scanner.person.next(again.attempt_id, again.question)).state is LoginState.DONE


async def test_a_code_that_expires_is_replaced(scanner: Scanner, sim: Simulator) -> None:
    sim.faults.login_token_seconds = 0.2
    first = await scanner.begin()
    sim.faults.login_token_seconds = 30.0
    second = await scanner.person.next(first.attempt_id, first.question)
    assert (second.state, scanner.link(second) != scanner.link(first)) == (LoginState.QR_SHOWN, True)
    assert (await scanner.scan(second)).state is LoginState.DONE


@pytest.mark.parametrize("password", ["", PASSWORD])
async def test_who_lives_in_another_data_centre_is_logged_in_there(
    scanner: Scanner, control: Control, sim: Simulator, ingest: IngestStores, vault: Vault, password: str
) -> None:
    control.account(DIGITS, home_dc=4, password=password)
    done = await scanner.log_in()
    if password:
        assert done.state is LoginState.PASSWORD_WANTED
        await scanner.person.answer(done, password)
        done = await scanner.person.next(done.attempt_id, done.question)
    assert (done.state, done.error) == (LoginState.DONE, None)
    (held,) = await ingest.accounts.take("holder#1")
    session = StringSession(vault.open(Sealed(held.key_id, held.session), account_id=held.account_id))
    assert (session.dc_id, session.port) == (4, sim.ports[4])


async def test_a_scan_that_telegram_did_not_tell_of_is_found_before_the_next_code(
    scanner: Scanner, sim: Simulator
) -> None:
    sim.faults.drop_updates = True
    sim.faults.login_token_seconds = 1.5
    attempt = await scanner.begin()
    next(reversed(sim.login_tokens.values())).expires += 30  # Telegram goes on knowing what was scanned
    assert (await scanner.scan(attempt)).state is LoginState.DONE


async def test_who_was_here_before_logs_in_to_the_same_account(
    scanner: Scanner, system: SystemStores, admin: Admin
) -> None:
    first = await scanner.person.log_in()
    assert first.account_id is not None
    assert "which is in use" in str((await scanner.log_in()).error)
    await system.accounts.set_state(first.account_id, AccountState.LOGGED_OUT, quote("Telegram says so"))
    again = await scanner.log_in()
    assert (again.state, again.account_id) == (LoginState.DONE, first.account_id)
    (account,) = await system.accounts.all()
    assert (account.state, account.state_reason) == (AccountState.ACTIVE, None)
    await admin.execute(
        "UPDATE telegram_accounts SET state = 'logged out', user_id = NULL"
    )  # known by its number alone
    assert (await scanner.log_in()).account_id == first.account_id


async def test_a_login_that_is_refused_is_ended_at_telegram_too(
    scanner: Scanner, system: SystemStores, sim: Simulator
) -> None:
    await scanner.log_in()
    stranger = Scanner(Person(scanner.person.pool, await make_tenant(system)), scanner.people)
    refused = await stranger.log_in()
    assert (refused.state, str(refused.error)) == (
        LoginState.FAILED,
        "this number belongs to an account of another tenant",
    )
    assert len(list(sim.keys.records_of(DIGITS))) == 1
    assert len(await system.accounts.all()) == 1


async def test_who_goes_away_leaves_nothing_open_and_no_account(
    scanner: Scanner, system: SystemStores, ingest: IngestStores, sim: Simulator
) -> None:
    attempt = await scanner.begin()
    assert sim.connections
    await ingest.logins.finish(attempt.attempt_id, LoginState.FAILED, error=quote("given up"))

    async def nothing() -> bool:
        return not sim.connections and not await system.accounts.all()

    await until(nothing)


@pytest.mark.parametrize(
    ("code", "message", "words"),
    [
        (400, "API_ID_INVALID", "check its api_id"),
        (420, "FLOOD_WAIT_600", "try again later"),
        (400, "SOMETHING_NEW", "refuses the login"),
    ],
)
async def test_what_telegram_refuses_is_told_in_words(
    scanner: Scanner, control: Control, code: int, message: str, words: str
) -> None:
    control.fail("auth.exportLoginToken", code=code, message=message)
    failed = await scanner.begin()
    assert (failed.state, words in str(failed.error)) == (LoginState.FAILED, True)
