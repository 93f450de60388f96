"""`tga processes`."""

import asyncio

from typer.testing import CliRunner

from telegram_assistant.cli import app
from telegram_assistant.stores.postgres.stores import ApiStores
from testkit.factories import fresh_number
from tests.conftest import Admin
from tests.stores.postgres.operations.test_processes import make_report


async def test_processes_are_listed_with_what_fails_and_missing_roles_are_named(
    runner: CliRunner, api: ApiStores, admin: Admin
) -> None:
    await admin.execute("DELETE FROM processes")
    instance = f"h#{fresh_number()}"
    await api.processes.report(make_report(instance))
    printed = (await asyncio.to_thread(runner.invoke, app, ["processes"])).stdout
    assert instance in printed
    assert "running" in printed
    assert "failing: redis" in printed
    assert "No process runs the role ingest. Start it: tga run --roles ingest" in printed
    assert "No process runs the role worker" not in printed
