"""Logging in: the ingest role asks, a person answers, and what becomes of the account."""

import pytest
from pydantic import SecretStr
from telethon.sessions import StringSession
from telethon.tl import functions, types

from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.domain.accounts.login import INTERRUPTED, LoginState
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.reasons import quote
from telegram_assistant.settings import TelegramSettings
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.stores import IngestStores, SystemStores, tenant_stores
from telegram_assistant.telegram.sealed_answers import seal
from telegram_assistant.telegram.vault import Sealed, Vault
from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from testkit.factories import make_tenant
from testkit.waits import Skipping
from tests.conftest import Admin
from tests.ingest.login_desk import desk, no_other_accounts, person, serving, tenant_id, vault
from tests.ingest.person import CODE, DIGITS, PASSWORD, PHONE, Person, knowing
from tests.streams.conftest import until
from tests.telegram.conftest import Lines

__all__ = ["desk", "no_other_accounts", "person", "tenant_id", "vault"]

ME = functions.users.GetUsersRequest([types.InputUserSelf()])


@pytest.mark.usefixtures("desk")
async def test_phone_and_code_make_an_account_that_is_used(
    person: Person, ingest: IngestStores, vault: Vault, admin: Admin, lines: Lines, sim: Simulator
) -> None:
    done = await person.log_in()
    assert (done.state, done.phone_masked, person.errors) == (LoginState.DONE, "+7999*****01", [])
    (held,) = await ingest.accounts.take("holder#1")
    assert (held.account_id, held.state) == (done.account_id, AccountState.ACTIVE)
    session = vault.open(Sealed(held.key_id, held.session), account_id=held.account_id)
    async with lines(session_string=SecretStr(session), number=held.account_id) as line:
        (user,) = await line.ask(ME)
    assert (user.phone, user.id) == (DIGITS, held.user_id)
    rows = str(await admin.fetch("SELECT row_to_json(l)::text FROM login_attempts l")) + str(
        await admin.fetch("SELECT row_to_json(a)::text FROM telegram_accounts a")
    )
    assert DIGITS not in rows
    assert CODE not in rows
    assert not any(record.double_use for record in sim.keys)


@pytest.mark.usefixtures("desk")
async def test_a_wrong_answer_is_asked_for_again(person: Person, control: Control) -> None:
    control.account(DIGITS, password=PASSWORD)
    clumsy = knowing(
        person, phone_wanted=["+7 99", PHONE], code_sent=["11111", CODE], password_wanted=["тополь", PASSWORD]
    )
    assert (await clumsy.log_in()).state is LoginState.DONE
    assert [sentence.partition(";")[0] for sentence in clumsy.errors] == [
        "this is not a phone number",
        "this code is wrong",
        "this password is wrong",
    ]


@pytest.mark.usefixtures("desk")
async def test_who_is_wrong_again_and_again_has_to_begin_anew(person: Person) -> None:
    guessing = knowing(person, phone_wanted=[PHONE], code_sent=["11111"] * 9)
    failed = await guessing.log_in()
    assert (failed.state, str(failed.error)) == (
        LoginState.FAILED,
        "too many wrong answers; start again",
    )


@pytest.mark.usefixtures("desk")
async def test_a_number_that_telegram_does_not_know_is_asked_for_again(
    person: Person, control: Control
) -> None:
    control.fail("auth.sendCode", code=400, message="PHONE_NUMBER_INVALID")
    assert (
        await knowing(person, phone_wanted=["+79995559999", PHONE], code_sent=[CODE]).log_in()
    ).state is LoginState.DONE


@pytest.mark.usefixtures("desk")
async def test_an_account_that_lives_in_another_data_centre_is_logged_in_there(
    person: Person, control: Control, system: SystemStores, ingest: IngestStores, vault: Vault, sim: Simulator
) -> None:
    control.account(DIGITS, home_dc=4)
    assert (await person.log_in()).state is LoginState.DONE
    (held,) = await ingest.accounts.take("holder#1")
    session = StringSession(vault.open(Sealed(held.key_id, held.session), account_id=held.account_id))
    assert (session.dc_id, session.port) == (4, sim.ports[4])
    limit = (await system.limits.load_meters(held.account_id))["auth.sendCode"]
    assert limit.tokens == pytest.approx((2.0,), abs=0.01)  # only the one that was heard is counted


@pytest.mark.usefixtures("desk")
@pytest.mark.parametrize(
    ("code", "message", "words"),
    [
        (400, "PHONE_CODE_EXPIRED", "has expired; start again"),
        (400, "PHONE_NUMBER_UNOCCUPIED", "Telegram refuses the login"),
        (420, "FLOOD_WAIT_600", "try again later"),
        (500, "INTERNAL", "try again later"),
    ],
)
async def test_what_telegram_refuses_is_told_in_words(
    person: Person, control: Control, code: int, message: str, words: str
) -> None:
    control.fail("auth.signIn", code=code, message=message)
    failed = await person.log_in()
    assert failed.state is LoginState.FAILED
    assert words in str(failed.error)


@pytest.mark.usefixtures("desk")
async def test_a_banned_number_is_parked(person: Person, control: Control, system: SystemStores) -> None:
    control.account(DIGITS, state="banned")
    failed = await person.log_in()
    assert (failed.state, "banned" in str(failed.error)) == (LoginState.FAILED, True)
    (account,) = await system.accounts.all()
    assert account.state is AccountState.BANNED
    again = await person.log_in()
    assert "delete its login and log in again" in str(again.error)


@pytest.mark.usefixtures("desk")
async def test_a_number_gets_few_codes_a_day(person: Person, sim: Simulator, ingest: IngestStores) -> None:
    only_phone = knowing(person, phone_wanted=[PHONE])
    for _ in range(3):
        waiting = await only_phone.log_in()
        assert waiting.state is LoginState.CODE_SENT
        await ingest.logins.finish(waiting.attempt_id, LoginState.FAILED)
    refused = await person.log_in()
    assert "auth.sendCode is used up" in str(refused.error)
    assert sim.counters.calls["", "auth.sendCode"] == 3


@pytest.mark.usefixtures("desk")
async def test_a_number_that_is_in_use_or_another_tenants_is_refused(
    person: Person, system: SystemStores
) -> None:
    await person.log_in()
    assert "which is in use" in str((await person.log_in()).error)
    stranger = Person(person.pool, await make_tenant(system))
    assert str((await stranger.log_in()).error) == "this number belongs to an account of another tenant"


@pytest.mark.usefixtures("desk")
async def test_who_was_logged_out_or_reset_logs_in_to_the_same_account(
    person: Person, system: SystemStores, admin: Admin, pool: Pool, tenant_id: TenantId
) -> None:
    first, accounts = await person.log_in(), tenant_stores(pool, tenant_id).accounts
    assert first.account_id is not None
    await admin.execute(
        "INSERT INTO account_channels (account_id, channel_id, access_hash) VALUES ($1, 7, 70)",
        first.account_id,
    )
    for state in (AccountState.LOGGED_OUT, AccountState.BANNED):
        await system.accounts.set_state(first.account_id, state, quote("Telegram says so"))
        if state is AccountState.BANNED:
            (own,) = await accounts.all()
            await accounts.reset(own.public_id)
        again = await person.log_in()
        assert (again.state, again.account_id) == (LoginState.DONE, first.account_id)
    (account,) = await system.accounts.all()
    assert (account.state, account.state_reason) == (AccountState.ACTIVE, None)
    assert await admin.fetchval("SELECT access_hash FROM account_channels") == 70


@pytest.mark.usefixtures("desk")
async def test_one_telegram_account_is_not_kept_twice_and_the_new_session_is_ended(
    person: Person, admin: Admin, sim: Simulator
) -> None:
    first = await person.log_in()
    await admin.execute(
        "UPDATE telegram_accounts SET phone_print = NULL, state = 'paused'"
    )  # as if it had another number before
    second = await person.log_in()
    assert str(second.error) == f"this Telegram account is already here, as account {first.account_id}"
    assert len(list(sim.keys.records_of(DIGITS))) == 1


@pytest.mark.usefixtures("desk")
async def test_two_logins_to_one_account_at_once_do_not_mix(person: Person) -> None:
    waiting = await knowing(person, phone_wanted=[PHONE]).log_in()
    second = await person.log_in()
    assert "somebody is logging in to account" in str(second.error)
    await person.answer(waiting, CODE)
    assert (await person.next(waiting.attempt_id, waiting.question)).state is LoginState.DONE


@pytest.mark.usefixtures("desk")
async def test_a_login_that_is_given_up_leaves_nothing_open(
    person: Person, sim: Simulator, ingest: IngestStores
) -> None:
    waiting = await knowing(person, phone_wanted=[PHONE]).log_in()
    assert sim.connections
    await ingest.logins.finish(waiting.attempt_id, LoginState.FAILED, error=quote("given up"))
    await until(lambda: _nobody(sim))


@pytest.mark.usefixtures("desk")
async def test_an_answer_to_an_earlier_question_or_sealed_for_another_is_not_used(person: Person) -> None:
    waiting = await knowing(person, phone_wanted=[PHONE]).log_in()
    assert waiting.public_key is not None
    assert not await person.logins.answer(waiting.attempt_id, waiting.question - 1, b"old")
    wrong = seal(CODE, waiting.public_key, question=f"{waiting.attempt_id}/{waiting.question - 1}")
    assert await person.logins.answer(waiting.attempt_id, waiting.question, wrong)
    failed = await person.next(waiting.attempt_id, waiting.question)
    assert (failed.state, str(failed.error)) == (
        LoginState.FAILED,
        "the answer was not sealed for this question",
    )


async def test_a_login_is_told_when_the_role_stops(
    person: Person,
    account: TelegramSettings,
    sim: Simulator,
    system: SystemStores,
    ingest: IngestStores,
    vault: Vault,
    skipping: Skipping,
) -> None:
    async with serving(account, sim, system, ingest, vault, skipping):
        waiting = await knowing(person, phone_wanted=[PHONE]).log_in()
    over = await person.get(waiting.attempt_id)
    assert (over.state, over.error) == (LoginState.FAILED, INTERRUPTED)
    assert not sim.connections


@pytest.mark.usefixtures("desk")
async def test_a_login_whose_process_was_killed_is_interrupted_and_leaves_its_number_free(
    person: Person, admin: Admin
) -> None:
    waiting = await knowing(person, phone_wanted=[PHONE]).log_in()
    await admin.execute(
        "UPDATE login_attempts SET taken_by = 'killed#1', served_until = now() - interval '1 second'"
    )
    over = await person.get(waiting.attempt_id)
    assert (over.state, over.error) == (LoginState.FAILED, INTERRUPTED)
    assert (await person.log_in()).state is LoginState.DONE
    assert (
        await admin.fetchval("SELECT state FROM login_attempts WHERE attempt_id = $1", waiting.attempt_id)
        == "failed"
    )


@pytest.mark.usefixtures("desk")
async def test_a_login_that_takes_its_time_is_not_taken_for_interrupted(person: Person, admin: Admin) -> None:
    waiting = await knowing(person, phone_wanted=[PHONE]).log_in()
    await admin.execute("UPDATE login_attempts SET served_until = now() + interval '1 second'")

    async def is_prolonged() -> bool:
        return bool(
            await admin.fetchval("SELECT served_until > now() + interval '10 seconds' FROM login_attempts")
        )

    await until(is_prolonged)
    await person.answer(waiting, CODE)
    assert (await person.next(waiting.attempt_id, waiting.question)).state is LoginState.DONE


@pytest.mark.usefixtures("desk")
async def test_what_is_never_finished_expires_and_is_forgotten_after_two_days(
    person: Person, admin: Admin, system: SystemStores
) -> None:
    waiting = await knowing(person, phone_wanted=[PHONE]).log_in()
    await admin.execute("UPDATE login_attempts SET expires_at = now() - interval '1 second'")
    assert (await person.get(waiting.attempt_id)).state is LoginState.EXPIRED
    assert len(await system.accounts.all()) == 1
    await admin.execute("UPDATE telegram_accounts SET created_at = now() - interval '49 hours'")
    await until(lambda: _no_accounts(system))


async def _nobody(sim: Simulator) -> bool:
    return not sim.connections


async def _no_accounts(system: SystemStores) -> bool:
    return not await system.accounts.all()
