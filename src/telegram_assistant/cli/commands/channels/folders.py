"""`tga folders`: followed Telegram folders. Channels added to a folder later are followed too."""

from typing import Annotated
from zoneinfo import ZoneInfo

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
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson, print_json
from telegram_assistant.cli.response_models import FolderResponse, FoldersResponse
from telegram_assistant.cli.wording import words_of
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.features.channels.folders import follow_folder, pick_folder
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
    wanted = subscription_from(folder, priority, ai, history)

    async def ask(assembled: App) -> RequestReport:
        system, number = assembled.system, None if account is None else AccountId(account)
        known = await tenant_named(assembled, tenant)
        requests = assembled.tenant(known.tenant_id).requests
        requested = await follow_folder(
            title,
            tenant=known,
            account_id=number,
            subscription=wanted,
            accounts=system.accounts,
            requests=requests,
        )
        await record_change(assembled, known.tenant_id, "follow_folder", "/folders", title=title)
        return await wait_for(assembled, known.tenant_id, [requested], wait)

    print_report(with_app(ask))


@app.command(name="list")
def show_list(tenant: TenantName = "default", as_json: AsJson = False) -> None:
    """List followed folders, the channels that they added, and when each was last checked."""

    async def read(assembled: App) -> tuple[tuple[FolderStatus, ...], ZoneInfo]:
        known = await tenant_named(assembled, tenant)
        return await assembled.system.folders.of(known.tenant_id), ZoneInfo(
            assembled.settings.telemetry.time_zone
        )

    folders, zone = with_app(read)
    if as_json:
        print_json(FoldersResponse(items=[_response(folder) for folder in folders]))
        return
    if not folders:
        console.print("No folder is followed. Start with: tga folders add NAME")
        return
    table = Table(pad_edge=False)
    for name in ("number", "folder", "account", "chats", "channels followed", "last check", "problem"):
        table.add_column(name)
    for folder in folders:
        looked_at = f"{folder.looked_at.astimezone(zone):%Y-%m-%d %H:%M}" if folder.looked_at else "–"
        numbers = (str(folder.account_id), str(folder.chats), str(folder.followed))
        table.add_row(
            str(folder.folder_id), escape(folder.title), *numbers, looked_at, words_of(folder.trouble)
        )
    console.print(table)


def _response(folder: FolderStatus) -> FolderResponse:
    return FolderResponse(
        number=folder.folder_id,
        title=folder.title,
        account=folder.account_id,
        chats=folder.chats,
        followed=folder.followed,
        looked_at=folder.looked_at,
        trouble=None if folder.trouble is None else str(folder.trouble),
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

    async def leave(assembled: App) -> tuple[FolderStatus, int]:
        known = await tenant_named(assembled, tenant)
        folder = pick_folder(await assembled.system.folders.of(known.tenant_id), which)
        gone = await assembled.system.folders.leave(known.tenant_id, folder.folder_id, with_channels=channels)
        await record_change(
            assembled,
            known.tenant_id,
            "unfollow_folder",
            f"/folders/{folder.folder_id}",
            title=folder.title,
            channels=gone,
        )
        return folder, gone

    folder, gone = with_app(leave)
    console.print(
        f"Folder {escape(folder.title)} is no longer followed"
        + (f", nor are {gone} channels that it added." if channels else ".")
    )
