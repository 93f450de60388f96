"""`tga folders`: followed Telegram folders. Channels added to a folder later are followed too."""

from collections.abc import Callable
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import record_change
from telegram_assistant.cli.commands.channels.channel_requests import RequestReport, print_report, wait_for
from telegram_assistant.cli.commands.channels.follow_options import (
    Ai,
    Folder,
    History,
    Prio,
    Wait,
    subscription_from,
)
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.environment import console, zone_here
from telegram_assistant.cli.output import AsJson, show_value
from telegram_assistant.cli.response_models import FolderResponse, FoldersResponse
from telegram_assistant.cli.wording import say_here
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.features.channels.folders import (
    UnfollowedFolder,
    follow_folder,
    list_folders,
    unfollow_folder,
)
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.channels.folders import FolderStatus

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="Followed Telegram folders."
)

TenantName = Annotated[str, typer.Option("--tenant", help="Tenant that follows the folders.")]


@app.command()
def add(
    title: Annotated[str, typer.Argument(help="Title of the folder in Telegram.")],
    account: Annotated[
        int | None,
        typer.Option(
            help="Account that has the folder, if the tenant has several: a number from `tga accounts list`."
        ),
    ] = None,
    tenant: TenantName = "default",
    folder: Folder = None,
    priority: Prio = None,
    ai: Ai = None,
    history: History = None,
    wait: Wait = 60,
) -> None:
    """Follow all channels in a Telegram folder of an account. Later changes to the folder are applied too."""
    subscription = subscription_from(folder, priority, ai, history)

    async def request_folder(assembled: App) -> RequestReport:
        system, number = assembled.system, None if account is None else AccountId(account)
        chosen_tenant = await tenant_named(assembled, tenant)
        requests = assembled.tenant(chosen_tenant.tenant_id).requests
        requested_channel = await follow_folder(
            title,
            tenant=chosen_tenant,
            account_id=number,
            subscription=subscription,
            accounts=system.accounts,
            requests=requests,
        )
        await record_change(assembled, chosen_tenant.tenant_id, "follow_folder", "/folders", title=title)
        return await wait_for(assembled, chosen_tenant.tenant_id, [requested_channel], wait)

    print_report(with_app(request_folder))


@app.command(name="list")
def show_list(tenant: TenantName = "default", as_json: AsJson = False) -> None:
    """List followed folders, the channels that they added, and when each was last checked."""

    async def read(assembled: App) -> FoldersResponse:
        chosen_tenant, words = await tenant_named(assembled, tenant), str if as_json else say_here
        folders = await list_folders(chosen_tenant.tenant_id, folders=assembled.system.folders)
        return FoldersResponse(items=[_response(folder, words) for folder in folders])

    show_value(with_app(read), _print_folders, as_json=as_json)


def _print_folders(response: FoldersResponse) -> None:
    if not response.items:
        console.print("No folder is followed. Start with: tga folders add NAME")
        return
    zone = zone_here()
    table = Table(pad_edge=False)
    for name in ("number", "folder", "account", "chats", "channels followed", "last check", "problem"):
        table.add_column(name)
    for folder in response.items:
        looked_at = f"{folder.looked_at.astimezone(zone):%Y-%m-%d %H:%M}" if folder.looked_at else "–"
        numbers = (str(folder.account), str(folder.chats), str(folder.followed))
        table.add_row(
            str(folder.number), escape(folder.title), *numbers, looked_at, escape(folder.trouble or "")
        )
    console.print(table)


def _response(folder: FolderStatus, words: Callable[[Reason], str]) -> FolderResponse:
    return FolderResponse(
        number=folder.folder_id,
        title=folder.title,
        account=folder.account_id,
        chats=folder.chats,
        followed=folder.followed,
        looked_at=folder.looked_at,
        trouble=None if folder.trouble is None else words(folder.trouble),
    )


@app.command()
def remove(
    which: Annotated[str, typer.Argument(help="The folder: its title or number.")],
    channels: Annotated[
        bool, typer.Option("--channels", help="Also stop following the channels that the folder added.")
    ] = False,
    tenant: TenantName = "default",
) -> None:
    """Stop following a folder. Its channels stay followed unless you give --channels."""

    async def leave(assembled: App) -> UnfollowedFolder:
        chosen_tenant = await tenant_named(assembled, tenant)
        unfollowed_folder = await unfollow_folder(
            which, tenant_id=chosen_tenant.tenant_id, folders=assembled.system.folders, with_channels=channels
        )
        await record_change(
            assembled,
            chosen_tenant.tenant_id,
            "unfollow_folder",
            f"/folders/{unfollowed_folder.folder.folder_id}",
            title=unfollowed_folder.folder.title,
            channels=unfollowed_folder.channels,
        )
        return unfollowed_folder

    unfollowed_folder = with_app(leave)
    console.print(
        f"Folder {escape(unfollowed_folder.folder.title)} is no longer followed"
        + (f", nor are {unfollowed_folder.channels} channels that it added." if channels else ".")
    )
