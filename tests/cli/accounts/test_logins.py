"""`tga accounts login`, with the ingest role beside it."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import segno
from typer.testing import CliRunner, Result

from telegram_assistant.cli import app
from telegram_assistant.cli.commands.accounts import logins as login
from telegram_assistant.cli.drawing import BORDER
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_simulator.control.operations import Control
from telegram_simulator.control.other_apps import OtherApps
from telegram_simulator.control.seeing import state
from telegram_simulator.simulator import Simulator
from tests.conftest import Admin
from tests.ingest.running import running_ingest
from tests.streams.conftest import until
from tests.telegram.conftest import control, fresh_config, rsa_key, sim, telethons_config

__all__ = ["control", "fresh_config", "rsa_key", "sim", "telethons_config"]

DIGITS, PASSWORD = "79995550301", "сезам"

type Tga = Callable[..., Awaitable[Result]]


@pytest.fixture
async def ingest(
    database: dict[str, str], sim: Simulator, system: SystemStores, admin: Admin
) -> AsyncIterator[None]:
    """The real loops of the role, against the simulator.

    There is no scheduler: its log lines would mix with the output of the commands.
    """
    await admin.execute("DELETE FROM telegram_accounts")
    await system.tenants.ensure("default", is_operator=True)
    async with running_ingest(database, sim, TELEGRAM_API_ID="1", TELEGRAM_API_HASH="any"):
        yield


@pytest.fixture
def tga(runner: CliRunner) -> Tga:
    async def run(*arguments: str, typed: str = "") -> Result:
        return await asyncio.to_thread(runner.invoke, app, list(arguments), input=typed)

    return run


@pytest.mark.usefixtures("ingest")
async def test_a_person_logs_in_and_the_account_is_used(
    tga: Tga, control: Control, sim: Simulator, admin: Admin
) -> None:
    control.account(DIGITS, password=PASSWORD)
    result = await tga("accounts", "login", typed=f"+{DIGITS}\n11111\n12345\n{PASSWORD}\n")
    output = result.stdout
    number = await admin.fetchval("SELECT account_id FROM telegram_accounts")
    assert result.exit_code == 0, result.output
    assert "This code is wrong." in output
    assert PASSWORD not in output
    assert output.endswith(
        f"account {number} (+7999*****01) is logged in; the ingest role starts to use it.\n"
    )
    await until(lambda: _is_held(admin))
    assert state(sim)["double_use"] == 0


@pytest.mark.usefixtures("ingest")
async def test_a_code_is_drawn_scanned_and_the_password_asked_for(
    tga: Tga, control: Control, sim: Simulator
) -> None:
    control.account(DIGITS, password=PASSWORD, home_dc=4)
    running = asyncio.ensure_future(tga("accounts", "login", "--qr", typed=f"{PASSWORD}!\n{PASSWORD}\n"))
    await until(lambda: _has_token(sim))
    (token,) = sim.login_tokens
    await asyncio.sleep(0.5)  # for the command to see what was shown
    OtherApps(sim).accept_login(DIGITS)
    result = await running
    assert result.exit_code == 0, result.output
    link = f"tg://login?token={base64.urlsafe_b64encode(token).decode().rstrip('=')}"
    assert link not in result.output
    assert modules_in(result.stdout) == [
        [bool(module) for module in row] for row in segno.make_qr(link, error="l").matrix
    ]
    assert "This password is wrong." in result.stdout
    assert "(+7999*****01) is logged in" in result.stdout


async def test_a_code_needs_no_number(tga: Tga) -> None:
    refused = await tga("accounts", "login", "--qr", "--phone", f"+{DIGITS}")
    assert (refused.exit_code, "a QR code needs no phone number" in refused.stderr) == (2, True)


@pytest.mark.usefixtures("ingest")
async def test_what_stands_in_the_way_is_told_in_words(tga: Tga, control: Control) -> None:
    control.account(DIGITS, state="banned")
    refused = await tga("accounts", "login", "--phone", f"+{DIGITS}")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "Telegram banned or deleted this account (PhoneNumberBannedError).\n" in refused.stderr
    assert (
        "there is no tenant 'nobody'; create it"
        in (await tga("accounts", "login", "--tenant", "nobody")).stderr
    )


async def test_without_an_ingest_role_one_is_told_to_start_it(
    tga: Tga, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "NOTICE_AFTER_SECONDS", 0.1)
    monkeypatch.setattr(login, "GIVE_UP_AFTER_SECONDS", 0.5)
    result = await tga("accounts", "login")
    assert result.exit_code == 1
    assert "Waiting for the ingest role" in result.stdout
    assert "start one with `tga run`" in result.stderr


def modules_in(drawn: str) -> list[list[bool]]:
    """The dark modules of the QR code, without its border."""
    halves = {" ": (True, True), "▀": (False, True), "▄": (True, False), "█": (False, False)}
    lines = [line for line in drawn.splitlines() if line and set(line) <= set(halves)]
    rows = [[halves[character][half] for character in line] for line in lines for half in (0, 1)]
    size = len(lines[0]) - 2 * BORDER
    return [row[BORDER:-BORDER] for row in rows[BORDER : BORDER + size]]


async def _has_token(sim: Simulator) -> bool:
    return bool(sim.login_tokens)


async def _is_held(admin: Admin) -> bool:
    return bool(
        await admin.fetchval("SELECT count(*) = 1 FROM telegram_accounts WHERE lease_owner IS NOT NULL")
    )
