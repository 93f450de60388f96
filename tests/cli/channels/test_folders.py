"""`tga folders`."""

import pytest
from typer.testing import CliRunner

from telegram_assistant.assembly import App
from telegram_assistant.cli import app
from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.ids import AccountId, ChannelId
from telegram_assistant.stores.postgres.channels.channels import Subscription
from testkit.factories import fresh_number
from tests.cli.channels.test_channels import run_in_app, tenant

__all__ = ["tenant"]


async def an_account(assembled: App, tenant: str) -> AccountId:
    return await assembled.system.accounts.add((await assembled.system.tenants.ensure(tenant)).tenant_id)


def follow(database: dict[str, str], tenant: str) -> str:
    """As ingest would, when it has found the folder; the title of its channel."""
    number = fresh_number()

    async def work(assembled: App) -> None:
        system, account_id = assembled.system, await an_account(assembled, tenant)
        known = await system.tenants.ensure(tenant)
        wanted = Subscription(channel_id=ChannelId(number), folder="Новости")
        await system.channels.register(
            Channel(channel_id=ChannelId(number), title=f"Channel {number}", username=f"name{number}")
        )
        folder = await system.folders.follow(
            known.tenant_id, account_id, number=2, title="Новости", subscription=wanted
        )
        await system.folders.change(
            folder, put_in=[ChannelId(number)], readable=[ChannelId(number)], taken_out=[]
        )

    run_in_app(database, work)
    return f"Channel {number}"


def test_a_folder_waits_for_the_account_that_is_named(
    runner: CliRunner, database: dict[str, str], tenant: str
) -> None:
    number = run_in_app(database, lambda assembled: an_account(assembled, tenant))
    done = runner.invoke(
        app, ["folders", "add", "Новости", "--tenant", tenant, "--account", str(number), "--wait", "0"]
    )
    assert done.stdout.startswith("folder Новости: waits: this needs an account of your own: log one in\n")
    listed = runner.invoke(app, ["channels", "requests", "--tenant", tenant]).stdout
    assert "folder Новости" in listed


def test_the_account_of_another_tenant_is_refused(
    runner: CliRunner, database: dict[str, str], tenant: str
) -> None:
    number = run_in_app(database, lambda assembled: an_account(assembled, f"{tenant} beside"))
    refused = runner.invoke(app, ["folders", "add", "Новости", "--tenant", tenant, "--account", str(number)])
    assert (refused.exit_code, refused.stderr) == (
        1,
        f"{tenant} has no account {number}; `tga accounts list` shows them.\n",
    )


@pytest.mark.parametrize(("option", "stays"), [((), True), (("--channels",), False)])
def test_a_folder_is_listed_and_left(
    runner: CliRunner, database: dict[str, str], tenant: str, option: tuple[str, ...], *, stays: bool
) -> None:
    title = follow(database, tenant)
    listed = runner.invoke(app, ["folders", "list", "--tenant", tenant]).stdout
    assert "Новости" in listed
    left = runner.invoke(app, ["folders", "remove", "новости", "--tenant", tenant, *option])
    assert left.stdout == "Folder Новости is no longer followed" + (
        ".\n" if stays else ", nor are 1 channels that it added.\n"
    )
    assert (title in runner.invoke(app, ["channels", "list", "--tenant", tenant]).stdout) is stays
    assert runner.invoke(app, ["folders", "list", "--tenant", tenant]).stdout.startswith(
        "No folder is followed."
    )
    assert (
        "`tga folders list` shows"
        in runner.invoke(app, ["folders", "remove", "новости", "--tenant", tenant]).stderr
    )
