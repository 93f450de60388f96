"""`tga accounts`."""

import asyncio

from typer.testing import CliRunner

from telegram_assistant.assembly import assemble
from telegram_assistant.cli import app
from telegram_assistant.domain.account import AccountState
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.settings import read_settings
from telegram_assistant.telegram.vault import vault_of
from tests.factories import make_tenant


def make_account(database: dict[str, str]) -> AccountId:
    async def run() -> AccountId:
        async with assemble(read_settings(database)) as assembled:
            account_id = await assembled.system.accounts.add(await make_tenant(assembled.system))
            await assembled.system.accounts.set_state(account_id, AccountState.BANNED, "Telegram says so")
            return account_id

    return asyncio.run(run())


def test_accounts_are_listed_paused_and_resumed(runner: CliRunner, database: dict[str, str]) -> None:
    account_id = make_account(database)

    def line() -> str:
        return next(line for line in runner.invoke(app, ["accounts", "list"]).stdout.splitlines() if line.startswith(f"│{account_id} "))

    assert "banned" in line()
    assert "Telegram says so" in line()
    assert runner.invoke(app, ["accounts", "pause", str(account_id)]).stdout == f"account {account_id} is paused.\n"
    assert "paused" in line()
    assert runner.invoke(app, ["accounts", "resume", str(account_id)]).exit_code == 0
    assert "active" in line()
    unknown = runner.invoke(app, ["accounts", "pause", "999999999"])
    assert (unknown.exit_code, unknown.stderr) == (1, "There is no account 999999999.\n")


def test_a_key_is_printed_that_works_and_never_twice_the_same(runner: CliRunner) -> None:
    first, second = (runner.invoke(app, ["accounts", "key"]).stdout.strip() for _ in range(2))
    assert first != second
    assert vault_of(first).seal("x", account_id=1).key_id
