"""`tga accounts`, but for logging in."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from typer.testing import CliRunner

from telegram_assistant.assembly import App, assemble
from telegram_assistant.cli import app
from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.domain.accounts.budget import SavedMeter
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.reasons import quote
from telegram_assistant.settings import read_settings
from telegram_assistant.telegram.vault import vault_of
from testkit.factories import make_tenant

type Ask = Callable[..., tuple[int, str]]


def run_in_app[T](database: dict[str, str], work: Callable[[App], Awaitable[T]]) -> T:
    async def run() -> T:
        async with assemble(read_settings(database), with_accounts=True) as assembled:
            return await work(assembled)

    return asyncio.run(run())


@pytest.fixture
def account_id(database: dict[str, str]) -> AccountId:
    async def make(assembled: App) -> AccountId:
        assert assembled.ingest is not None
        accounts = assembled.ingest.accounts
        account_id = await accounts.add(await make_tenant(assembled.system))
        await accounts.save_session(account_id, key_id="k", session=b"sealed")
        await accounts.set_state(account_id, AccountState.BANNED, quote("Telegram says so"))
        return account_id

    return run_in_app(database, make)


@pytest.fixture
def line(runner: CliRunner, account_id: AccountId) -> Callable[[], str]:
    """The account's line in the list."""

    def read_line() -> str:
        output = runner.invoke(app, ["accounts", "list"], env={"TZ": "Europe/Moscow"}).stdout
        return next(line for line in output.splitlines() if line.startswith(f"│{account_id} "))

    return read_line


@pytest.fixture
def ask(runner: CliRunner, account_id: AccountId) -> Ask:
    def run(command: str, *more: str) -> tuple[int, str]:
        result = runner.invoke(app, ["accounts", command, str(account_id), *more])
        return result.exit_code, result.stdout + result.stderr

    return run


def test_the_list_says_what_is_wrong(line: Callable[[], str]) -> None:
    assert "banned" in line()
    assert "Telegram says so" in line()


def test_the_list_says_what_is_left_alone_and_until_when(
    line: Callable[[], str], database: dict[str, str], account_id: AccountId
) -> None:
    run_in_app(
        database,
        lambda assembled: assembled.system.limits.keep(
            account_id, "contacts.resolveUsername", SavedMeter(blocked_seconds=12_167)
        ),
    )
    run_in_app(
        database,
        lambda assembled: assembled.system.limits.keep(
            account_id, "messages.getHistory", SavedMeter(pace=0.7)
        ),
    )
    assert "contacts.resolveUsername until 20" in line()
    assert "(3 h)" in line()
    assert "messages.getHistory" not in line()


def test_accounts_are_paused_resumed_and_put_in_quarantine(
    line: Callable[[], str], ask: Ask, account_id: AccountId
) -> None:
    assert ask("resume") == (0, f"account {account_id} will be used again.\n")
    assert "active" in line()
    assert ask("pause") == (0, f"account {account_id} is paused.\n")
    assert "paused" in line()
    assert ask("quarantine", "it answers strangely") == (0, f"account {account_id} is in quarantine.\n")
    assert "quarantined" in line()
    assert "it answers strangely" in line()
    assert ask("pause") == (1, f"account {account_id} is quarantined; it cannot become paused.\n")


def test_an_account_is_logged_out_by_who_holds_it(
    line: Callable[[], str], ask: Ask, account_id: AccountId
) -> None:
    assert ask("logout") == (0, f"account {account_id} will be logged out.\n")
    assert "logging out" in line()


def test_a_reset_lets_one_log_in_again(line: Callable[[], str], ask: Ask, account_id: AccountId) -> None:
    assert ask("reset") == (0, f"account {account_id} can be logged in again.\n")
    assert "new" in line()
    assert ask("resume")[0] == 1


def test_an_account_that_there_is_not(runner: CliRunner) -> None:
    unknown = runner.invoke(app, ["accounts", "pause", "999999999"])
    assert (unknown.exit_code, unknown.stderr) == (1, "there is no account 999999999.\n")


def test_a_key_is_printed_that_works_and_never_twice_the_same(runner: CliRunner) -> None:
    first, second = (runner.invoke(app, ["accounts", "key"]).stdout.strip() for _ in range(2))
    assert first != second
    assert vault_of(first).seal("x", account_id=1).key_id


def test_the_risk_of_an_account_is_said_with_its_reasons(
    runner: CliRunner, database: dict[str, str], account_id: AccountId
) -> None:
    tenant = run_in_app(database, lambda assembled: load_tenant_name(assembled, account_id))
    output = runner.invoke(app, ["accounts", "risk", "--tenant", tenant]).stdout
    assert f"account {account_id}" in output
    assert "lost" in output
    assert "Telegram says so" in output
    assert "sending login codes (auth.sendCode): 3 of 3 at once" in output
    assert f"account {account_id} of {tenant}" in runner.invoke(app, ["accounts", "risk", "--all"]).stdout
    assert "there is no tenant" in runner.invoke(app, ["accounts", "risk", "--tenant", "nobody"]).stderr


async def load_tenant_name(assembled: App, account_id: AccountId) -> str:
    return next(
        account.tenant
        for account in await assembled.system.accounts.all()
        if account.account_id == account_id
    )
