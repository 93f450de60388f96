"""Lists what the tenant's accounts have joined, and follows what is picked from the list."""

import asyncio
from datetime import UTC, datetime
from typing import Annotated
from zoneinfo import ZoneInfo

import typer
from rich.markup import escape
from rich.table import Table

from telegram_assistant.api.endpoints.channels.channel_requests import list_joined_channels
from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import record_change
from telegram_assistant.cli.commands.channels.channel_requests import RequestReport, print_report, wait_for
from telegram_assistant.cli.commands.channels.follow_options import (
    Ai,
    Folder,
    History,
    Prio,
    TenantName,
    Wait,
    subscription_from,
)
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.endpoints import print_endpoint
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson
from telegram_assistant.cli.wording import words_of
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.features.channels.joined_channels import (
    JoinedList,
    ask_for_joined,
    follow_picked,
    list_joined,
)


def show_joined(
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Let the accounts read their lists first.")
    ] = False,
    wait: Annotated[
        int, typer.Option(help="Seconds to wait for the lists that are on their way; 0: do not wait.", min=0)
    ] = 60,
    tenant: TenantName = "default",
    as_json: AsJson = False,
) -> None:
    """List the channels that the tenant's accounts have joined, to pick from. Nothing is followed."""

    async def read(assembled: App) -> tuple[JoinedList, ZoneInfo]:
        known = await tenant_named(assembled, tenant)
        stores = assembled.tenant(known.tenant_id)
        if refresh:
            await ask_for_joined(stores=stores, now=datetime.now(UTC))
            await record_change(assembled, known.tenant_id, "read_joined_channels", "/channels/joined")
        deadline = asyncio.get_running_loop().time() + wait
        while True:
            joined = await list_joined(stores=stores, now=datetime.now(UTC))
            if not joined.waiting or asyncio.get_running_loop().time() >= deadline:
                return joined, ZoneInfo(assembled.settings.telemetry.time_zone)
            await asyncio.sleep(0.5)

    joined, zone = with_app(read)
    if as_json:
        print_endpoint(list_joined_channels, tenant=tenant)
        return
    for status in (*joined.waiting, *joined.failed):
        console.print(f"[yellow]{words_of(status.request.shown)}[/]: {words_of(status.reason)}")
    if joined.channels:
        console.print(_table(joined))
    if joined.listed_at is None:
        console.print("There is no list yet: tga channels joined --refresh")
    else:
        console.print(
            f"Listed {joined.listed_at.astimezone(zone):%Y-%m-%d %H:%M}. Follow some of them: "
            "tga channels pick ID…"
        )


def pick_joined(
    channel_ids: Annotated[list[int], typer.Argument(help="Ids from `tga channels joined`.", min=1)],
    tenant: TenantName = "default",
    folder: Folder = None,
    priority: Prio = None,
    ai: Ai = None,
    history: History = None,
    wait: Wait = 60,
) -> None:
    """Follow channels from the list of `tga channels joined`."""
    wanted = subscription_from(folder, priority, ai, history)

    async def ask(assembled: App) -> RequestReport:
        known = await tenant_named(assembled, tenant)
        requested = await follow_picked(
            [ChannelId(channel_id) for channel_id in channel_ids],
            wanted,
            stores=assembled.tenant(known.tenant_id),
        )
        await record_change(
            assembled,
            known.tenant_id,
            "follow_joined_channels",
            "/channels/joined/follow",
            channel_ids=list(channel_ids),
        )
        return await wait_for(assembled, known.tenant_id, requested, wait)

    print_report(with_app(ask))


def _table(joined: JoinedList) -> Table:
    table = Table("id", "channel", "name", "state", pad_edge=False)
    for channel in joined.channels:
        state = "[green]followed[/]" if channel.is_followed else "private" if channel.is_private else "–"
        table.add_row(
            str(channel.channel_id),
            escape(channel.title),
            f"@{channel.username}" if channel.username else "–",
            state,
        )
    return table
