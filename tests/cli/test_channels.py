"""`tga channels` and `tga scheduler`."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from telegram_assistant.assembly import App, assemble
from telegram_assistant.cli import app
from telegram_assistant.domain.channel import Channel
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.settings import read_settings
from telegram_assistant.stores.postgres.wishes import WishKind
from tests.factories import fresh_number, make_tenant


def connected[T](database: dict[str, str], work: Callable[[App], Awaitable[T]]) -> T:
    async def run() -> T:
        async with assemble(read_settings(database)) as assembled:
            return await work(assembled)

    return asyncio.run(run())


@pytest.fixture
def tenant(database: dict[str, str]) -> str:
    return named_tenant(database)


def named_tenant(database: dict[str, str]) -> str:
    name = f"tenant {fresh_number()}"
    connected(database, lambda assembled: assembled.system.tenants.ensure(name))
    return name


def known_channel(database: dict[str, str], title: str = "Городские новости") -> str:
    """A channel that an account has found before; its name."""
    number = fresh_number()
    channel = Channel(channel_id=ChannelId(number), title=title, username=f"name{number}")
    connected(database, lambda assembled: assembled.system.channels.register(channel))
    return f"name{number}"


def test_a_known_channel_is_followed_listed_exported_and_left(runner: CliRunner, database: dict[str, str], tenant: str) -> None:
    name = known_channel(database)
    added = runner.invoke(app, ["channels", "add", f"@{name}", "--tenant", tenant, "--folder", "Город", "--priority", "high"])
    assert added.stdout == f"@{name}: follows Городские новости\n"
    listed = runner.invoke(app, ["channels", "list", "--tenant", tenant]).stdout
    assert all(word in listed for word in ("Городские новости", f"@{name}", "Город", "high", "active"))
    exported = runner.invoke(app, ["channels", "export", "--tenant", tenant]).stdout
    assert f"https://t.me/{name}" in exported
    assert runner.invoke(app, ["channels", "remove", f"@{name}", "--tenant", tenant]).stdout == "Городские новости is no longer followed.\n"
    assert runner.invoke(app, ["channels", "list", "--tenant", tenant]).stdout.startswith("No channel is followed.")


def test_a_list_is_imported_and_one_wrong_line_does_not_stop_the_others(
    runner: CliRunner, database: dict[str, str], tenant: str, tmp_path: Path
) -> None:
    name = known_channel(database)
    file = tmp_path / "channels.txt"
    file.write_text(f"@{name}\nhttps://example.org\n", encoding="utf-8")
    done = runner.invoke(app, ["channels", "import", str(file), "--tenant", tenant])
    assert f"@{name}: follows" in done.stdout
    assert "names no channel" in done.stderr
    assert done.exit_code == 1


def test_an_unknown_name_waits_for_an_account_and_an_invitation_is_not_printed(runner: CliRunner, database: dict[str, str], tenant: str) -> None:
    done = runner.invoke(app, ["channels", "add", "@not_seen_yet", "https://t.me/+AbCdEfGhIjKl", "--tenant", tenant, "--wait", "0"])
    assert done.stdout.count("waits until the ingest role has found it") == 2
    assert "AbCdEfGhIjKl" not in done.stdout
    kinds = connected(database, lambda assembled: assembled.system.wishes.of(range(1, 100_000)))
    assert {wish.kind for wish in kinds} >= {WishKind.USERNAME, WishKind.INVITE}


def test_coverage_says_what_is_missing_and_why(runner: CliRunner, database: dict[str, str], tenant: str) -> None:
    name = known_channel(database)
    runner.invoke(app, ["channels", "add", f"@{name}", "--tenant", tenant])
    shown = runner.invoke(app, ["channels", "coverage", "--tenant", tenant]).stdout
    assert "unreadable" in shown
    assert "no account can open it yet" in shown


def test_a_poll_and_a_verification_are_asked_for(runner: CliRunner, database: dict[str, str], tenant: str) -> None:
    name = known_channel(database)
    runner.invoke(app, ["channels", "add", f"@{name}", "--tenant", tenant])
    assert "is asked for" in runner.invoke(app, ["channels", "poll", f"@{name}", "--tenant", tenant, "--first", "--wait", "0"]).stdout
    assert runner.invoke(app, ["channels", "verify", "--tenant", tenant]).stdout.startswith("1 channels will be read once more")
    assert "is not followed" in runner.invoke(app, ["channels", "poll", "@nobody", "--tenant", tenant]).stderr


def test_a_tenant_that_does_not_exist_is_named(runner: CliRunner) -> None:
    refused = runner.invoke(app, ["channels", "list", "--tenant", "nobody at all"])
    assert (refused.exit_code, refused.stderr) == (1, "there is no tenant 'nobody at all'; create it with: tga tenants create 'nobody at all'.\n")


def test_the_scheduler_is_reset_and_its_status_told(runner: CliRunner, database: dict[str, str]) -> None:
    async def leave_marks(assembled: App) -> None:
        await make_tenant(assembled.system)
        await assembled.redis.set("scheduler:lock", "dead#0000")
        for number in range(3):
            await assembled.redis.set(f"parse_hwm:{number}", "2026-11-01T00:00:00+00:00")

    runner.invoke(app, ["scheduler", "reset"])  # of what other tests have left
    connected(database, leave_marks)
    assert runner.invoke(app, ["scheduler", "reset"]).stdout == "The lock was deleted, and 3 high-water marks.\n"
    assert runner.invoke(app, ["scheduler", "reset"]).stdout == "There was no lock, and 0 high-water marks.\n"
    told = runner.invoke(app, ["scheduler", "status"])
    assert "last_tick_ts" in told.stdout
    assert told.exit_code == 1
