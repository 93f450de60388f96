"""The audit log has changes by the command line, like changes over HTTP."""

import asyncio

import pytest
from typer.testing import CliRunner

from telegram_assistant.cli import app
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import fresh_number, make_channel, make_subscription
from tests.conftest import Admin

CHANGES = {
    "follow_channels": ["channels", "add", "@some_channel", "--wait", "0"],
    "poll_channel": ["channels", "poll", "{channel}", "--wait", "0"],
    "verify_channel": ["channels", "verify", "{channel}"],
    "choose_default_policy": ["ai", "policy", "off"],
    "choose_policies": ["ai", "policy", "off", "--channel", "{channel}"],
    "give_consent": ["ai", "consent", "--by", "Anna"],
    "withdraw_consent": ["ai", "consent", "--withdraw"],
    "unfollow_channel": ["channels", "remove", "{channel}"],
    "create_api_key": ["keys", "create", "reader"],
}
OPERATIONS = {
    "set_tenant_budget": ["ai", "budget", "--money", "5"],
    "reset_scheduler": ["scheduler", "reset"],
    "resume_stage": ["streams", "resume", "tagging"],
}


async def call(runner: CliRunner, arguments: list[str]) -> None:
    done = await asyncio.to_thread(runner.invoke, app, arguments)
    assert done.exit_code == 0, done.output


async def test_changes_of_a_tenant_are_in_its_audit_log(
    system: SystemStores, runner: CliRunner, admin: Admin
) -> None:
    name, channel_id = f"tenant {fresh_number()}", await make_channel(system)
    tenant = await system.tenants.ensure(name)
    await system.channels.subscribe(tenant.tenant_id, make_subscription(channel_id))
    for arguments in CHANGES.values():
        await call(
            runner, [*(argument.format(channel=channel_id) for argument in arguments), "--tenant", name]
        )
    rows = await admin.fetch(
        "SELECT actor, action FROM audit_log WHERE tenant_id = $1 ORDER BY at", tenant.tenant_id
    )
    assert [tuple(row) for row in rows] == [("command line", action) for action in CHANGES]


@pytest.mark.parametrize("action", OPERATIONS)
async def test_operations_are_in_the_audit_log_of_the_operator(
    runner: CliRunner, admin: Admin, action: str
) -> None:
    await call(runner, OPERATIONS[action])
    row = await admin.fetchrow(
        "SELECT actor, action FROM audit_log JOIN tenants USING (tenant_id) WHERE is_operator "
        "ORDER BY at DESC LIMIT 1",
    )
    assert row is not None
    assert tuple(row) == ("command line", action)
