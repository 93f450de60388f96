"""`tga channels` and `tga scheduler`."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from typer.testing import CliRunner

from telegram_assistant.assembly import App, assemble
from telegram_assistant.cli import app
from telegram_assistant.cli.connected import tenant_named
from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.domain.channels.channel import Channel, FoundChannel
from telegram_assistant.domain.channels.channel_requests import RequestState
from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.reasons import quote
from telegram_assistant.settings import read_settings
from telegram_assistant.stores.postgres.channels.channels import (
    EVERYTHING_DAYS,
    FollowedChannel,
    Subscription,
)
from telegram_assistant.stores.postgres.channels.planning import Load
from testkit.factories import fresh_number, make_channel, make_subscription, make_tenant


def run_in_app[T](database: dict[str, str], work: Callable[[App], Awaitable[T]]) -> T:
    async def run() -> T:
        async with assemble(read_settings(database), with_accounts=True) as assembled:
            return await work(assembled)

    return asyncio.run(run())


@pytest.fixture
def tenant(database: dict[str, str]) -> str:
    return make_tenant_name(database)


def make_tenant_name(database: dict[str, str]) -> str:
    name = f"tenant {fresh_number()}"
    run_in_app(database, lambda assembled: assembled.system.tenants.ensure(name))
    return name


def make_known_channel(database: dict[str, str], title: str = "Городские новости") -> str:
    """A channel that an account has found before; its name."""
    number = fresh_number()
    channel = Channel(channel_id=ChannelId(number), title=title, username=f"name{number}")
    run_in_app(database, lambda assembled: assembled.system.channels.register(channel))
    return f"name{number}"


def make_followed_channel(database: dict[str, str], tenant: str, **options: Any) -> str:
    """A channel that the tenant follows; its name."""
    name = make_known_channel(database)

    async def follow(assembled: App) -> None:
        known, channel = (
            await assembled.system.tenants.ensure(tenant),
            await assembled.system.channels.find_by_username(name),
        )
        assert channel is not None
        await assembled.system.channels.subscribe(
            known.tenant_id, Subscription(channel_id=channel.channel_id, **options)
        )

    run_in_app(database, follow)
    return name


def test_a_followed_channel_is_listed_exported_and_left(
    runner: CliRunner, database: dict[str, str], tenant: str
) -> None:
    name = make_followed_channel(database, tenant, folder="Город", priority=Priority.HIGH)
    listed = runner.invoke(app, ["channels", "list", "--tenant", tenant]).stdout
    assert all(word in listed for word in ("Городские новости", f"@{name}", "Город", "high", "active"))
    exported = runner.invoke(app, ["channels", "export", "--tenant", tenant]).stdout
    assert f"https://t.me/{name}" in exported
    assert (
        runner.invoke(app, ["channels", "remove", f"@{name}", "--tenant", tenant]).stdout
        == "Городские новости is no longer followed.\n"
    )
    assert runner.invoke(app, ["channels", "list", "--tenant", tenant]).stdout.startswith(
        "No channel is followed."
    )


def test_a_channel_shows_its_health_and_activity(
    runner: CliRunner, database: dict[str, str], tenant: str
) -> None:
    name = make_followed_channel(database, tenant, priority=Priority.LOW)
    result = runner.invoke(app, ["channels", "show", f"@{name}", "--tenant", tenant])
    assert result.exit_code == 0, result.output
    assert all(
        words in result.stdout
        for words in ("Городские новости", "unreadable", "promised within 1:00:00; 0 of 0 posts")
    )


def test_following_again_says_so_and_keeps_the_options_that_are_not_given(
    runner: CliRunner, database: dict[str, str], tenant: str
) -> None:
    name = make_followed_channel(database, tenant, history_days=EVERYTHING_DAYS, priority=Priority.HIGH)
    again = runner.invoke(app, ["channels", "add", f"@{name}", "--tenant", tenant, "--folder", "Город"])
    assert (again.exit_code, again.stdout) == (0, f"@{name}: already followed (Городские новости)\n")

    async def load_channel(assembled: App) -> FollowedChannel:
        (channel,) = await assembled.tenant(
            (await tenant_named(assembled, tenant)).tenant_id
        ).followed.channels()
        return channel

    subscribed = run_in_app(database, load_channel)
    assert (subscribed.folder, subscribed.history_days, subscribed.priority) == (
        "Город",
        EVERYTHING_DAYS,
        Priority.HIGH,
    )


def test_a_list_is_imported_and_one_wrong_line_does_not_stop_the_others(
    runner: CliRunner, database: dict[str, str], tenant: str, tmp_path: Path
) -> None:
    name = make_followed_channel(database, tenant)
    file = tmp_path / "channels.txt"
    file.write_text(f"@{name}\nhttps://example.org\n", encoding="utf-8")
    done = runner.invoke(app, ["channels", "import", str(file), "--tenant", tenant])
    assert "already followed" in done.stdout
    assert "is not a channel" in done.stderr
    assert done.exit_code == 1


def test_a_request_waits_with_its_reason_and_an_invitation_is_not_printed(
    runner: CliRunner, tenant: str
) -> None:
    done = runner.invoke(
        app,
        ["channels", "add", "@not_seen_yet", "https://t.me/+AbCdEfGhIjKl", "--tenant", tenant, "--wait", "0"],
    )
    assert "@not_seen_yet: waits: no account can do it: log one in" in done.stdout
    assert "https://t.me/+AbCd…: waits: this needs an account of your own: log one in" in done.stdout
    assert "`tga channels requests` shows which requests wait" in done.stdout
    requests = runner.invoke(app, ["channels", "requests", "--tenant", tenant]).stdout
    assert all(word in requests for word in ("@not_seen_yet", "https://t.me/+AbCd…", "open", "log one in"))
    assert "AbCdEfGhIjKl" not in done.stdout + requests
    listed = runner.invoke(app, ["channels", "list", "--tenant", tenant]).stdout
    assert "1 name waits: no account can do it" in listed
    assert "No channel is followed" not in listed
    assert (
        "no such requests"
        in runner.invoke(app, ["channels", "requests", "--tenant", tenant, "--state", "done"]).stdout
    )


def test_a_long_list_is_summed_up_with_its_estimated_end(
    runner: CliRunner, database: dict[str, str], tenant: str, tmp_path: Path
) -> None:
    """2,000 names at about 100 look-ups a day of one account."""

    async def log_in(assembled: App) -> None:
        assert assembled.ingest is not None
        known, accounts = await assembled.system.tenants.ensure(tenant), assembled.ingest.accounts
        account_id = await accounts.add(known.tenant_id)
        await accounts.save_session(account_id, key_id="k", session=b"s")
        await accounts.set_state(account_id, AccountState.ACTIVE)
        await accounts.take("the ingest role")

    run_in_app(database, log_in)
    name = make_followed_channel(database, tenant)
    file = tmp_path / "channels.txt"
    file.write_text(
        "\n".join(
            [
                f"@{name}",
                *(f"@some_name_{number}" for number in range(2000)),
                *(f"not a channel {number}" for number in range(5)),
            ]
        ),
        encoding="utf-8",
    )
    done = runner.invoke(app, ["channels", "import", str(file), "--tenant", tenant, "--wait", "0"])
    lines = done.stdout.splitlines()
    assert lines[0] == "2,000 requested, 1 already followed, 5 refused."
    assert lines[1].startswith("2,000 names wait: it is next. Estimated end: ")
    assert lines[1].endswith("(in 19 days).")
    assert lines[2].startswith(
        "Telegram allows an account about 100 name look-ups per day; folders, t.me/addlist links"
    )
    assert len(lines) == 4
    assert done.stderr.splitlines()[-1] == "refused and 2 more"
    assert (len(done.stderr.splitlines()), done.exit_code) == (4, 1)


def test_coverage_says_what_is_missing_and_why(
    runner: CliRunner, database: dict[str, str], tenant: str
) -> None:
    make_followed_channel(database, tenant)
    output = runner.invoke(app, ["channels", "coverage", "--tenant", tenant]).stdout
    assert "unreadable" in output
    assert "no account can open it yet" in output


def test_a_poll_and_a_verification_are_asked_for(
    runner: CliRunner, database: dict[str, str], tenant: str
) -> None:
    name = make_followed_channel(database, tenant)
    assert (
        "is scheduled"
        in runner.invoke(
            app, ["channels", "poll", f"@{name}", "--tenant", tenant, "--first", "--wait", "0"]
        ).stdout
    )
    assert runner.invoke(app, ["channels", "verify", "--tenant", tenant]).stdout.startswith(
        "1 channels will be read again"
    )
    assert (
        "you do not follow" in runner.invoke(app, ["channels", "poll", "@nobody", "--tenant", tenant]).stderr
    )


def test_a_tenant_that_does_not_exist_is_named(runner: CliRunner) -> None:
    refused = runner.invoke(app, ["channels", "list", "--tenant", "nobody at all"])
    assert (refused.exit_code, refused.stderr) == (
        1,
        "there is no tenant 'nobody at all'; create it with: tga tenants create 'nobody at all'.\n",
    )


def test_the_scheduler_is_reset_and_its_status_told(runner: CliRunner, database: dict[str, str]) -> None:
    async def leave_marks(assembled: App) -> None:
        await make_tenant(assembled.system)
        await assembled.redis.set("scheduler:lock", "dead#0000")
        for number in range(3):
            await assembled.redis.set(f"parse_hwm:{number}", "2026-11-01T00:00:00+00:00")

    runner.invoke(app, ["scheduler", "reset"])  # of what other tests have left
    run_in_app(database, leave_marks)
    assert (
        runner.invoke(app, ["scheduler", "reset"]).stdout == "The lock was deleted, and 3 high-water marks.\n"
    )
    assert runner.invoke(app, ["scheduler", "reset"]).stdout == "There was no lock, and 0 high-water marks.\n"
    result = runner.invoke(app, ["scheduler", "status"])
    assert "last_tick_ts" in result.stdout
    assert result.exit_code == 1


def test_a_reset_of_the_scheduler_makes_channels_due_that_wait_for_a_former_flood(
    runner: CliRunner, database: dict[str, str]
) -> None:
    async def put_back(assembled: App) -> None:
        tenant_id, channel_id = await make_tenant(assembled.system), await make_channel(assembled.system)
        await assembled.system.channels.subscribe(tenant_id, make_subscription(channel_id))
        account_id = await assembled.system.accounts.add(tenant_id)
        await assembled.system.planning.keep_plans(
            [(Load(account_id, 1, 1.0, has_past=False), 0.8, 1.0, 15.0)], datetime.now(UTC)
        )
        admin = await asyncpg.connect(database["DATABASE_ADMIN_URL"])
        later = (
            "UPDATE poll_schedule SET account_id = $2, next_poll_at = now() + interval '5 hours', "
            "last_polled_at = now() WHERE channel_id = $1"
        )
        await admin.execute(later, channel_id, account_id)
        await admin.close()

    runner.invoke(app, ["scheduler", "reset"])  # of what other tests have left
    run_in_app(database, put_back)
    lines = [
        "There was no lock, and 0 high-water marks.",
        "1 channel that waited for the end of a flood wait is due now.",
    ]
    assert runner.invoke(app, ["scheduler", "reset"]).stdout.splitlines() == lines
    assert runner.invoke(app, ["scheduler", "reset"]).stdout.splitlines() == lines[:1]


def test_joined_channels_are_listed_and_picked_by_their_ids(
    runner: CliRunner, database: dict[str, str], tenant: str
) -> None:
    assert "no list yet" in runner.invoke(app, ["channels", "joined", "--tenant", tenant]).stdout
    number = fresh_number()

    async def store_joined(assembled: App) -> None:
        known = await assembled.system.tenants.ensure(tenant)
        account_id = await assembled.system.accounts.add(known.tenant_id)
        joined = FoundChannel(
            Channel(channel_id=ChannelId(number), title="Клуб чтецов", is_private=True),
            access_hash=1,
            joined=True,
        )
        await assembled.system.joined_listings.keep(
            known.tenant_id, account_id, uuid4(), [joined], at=datetime.now(UTC)
        )

    run_in_app(database, store_joined)
    output = runner.invoke(app, ["channels", "joined", "--tenant", tenant]).stdout
    assert all(words in output for words in (str(number), "Клуб чтецов", "private", "tga channels pick"))
    picked = runner.invoke(app, ["channels", "pick", str(number), "--tenant", tenant, "--wait", "0"])
    assert (picked.exit_code, "Клуб чтецов: waits" in picked.stdout) == (0, True)
    refused = runner.invoke(app, ["channels", "pick", "1", "--tenant", tenant, "--wait", "0"])
    assert (refused.exit_code, "not in the list" in refused.output) == (1, True)


def test_failed_requests_are_tried_again(runner: CliRunner, database: dict[str, str], tenant: str) -> None:
    runner.invoke(app, ["channels", "add", "@never_there", "no channel", "--tenant", tenant, "--wait", "0"])

    async def fail(assembled: App) -> str:
        requests = assembled.tenant((await tenant_named(assembled, tenant)).tenant_id).requests
        (request,) = await requests.page(RequestState.OPEN, limit=10)
        await assembled.system.request_queue.answer(
            request.request_id, RequestState.FAILED, quote("there is no such name")
        )
        return str(request.request_id)

    request_id = run_in_app(database, fail)
    assert (
        "no channel"
        in runner.invoke(app, ["channels", "requests", "--tenant", tenant, "--state", "failed"]).stdout
    )
    assert runner.invoke(app, ["channels", "retry", "--tenant", tenant]).exit_code == 2
    assert runner.invoke(app, ["channels", "retry", request_id, "--tenant", tenant]).stdout.startswith(
        "1 tried again"
    )
    run_in_app(database, fail)
    assert runner.invoke(app, ["channels", "retry", "--all", "--tenant", tenant]).stdout.startswith(
        "1 tried again"
    )
