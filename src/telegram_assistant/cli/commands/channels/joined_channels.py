"""Lists what the tenant's accounts have joined, and follows what is picked from the list."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from telegram_assistant.api.endpoints.channels.channel_requests import (
    JoinedChannelResponse,
    JoinedChannelsResponse,
    list_joined_channels,
)
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
from telegram_assistant.cli.endpoints import context_for
from telegram_assistant.cli.environment import console, zone_here
from telegram_assistant.cli.output import AsJson, show_value
from telegram_assistant.domain.channels.channel_requests import RequestState
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.features.channels.joined_channels import ask_for_joined, follow_picked


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

    async def read(assembled: App) -> JoinedChannelsResponse:
        context = await context_for(assembled, tenant, for_people=not as_json)
        if refresh:
            await ask_for_joined(stores=context.stores, now=context.now)
            await record_change(
                assembled, context.caller.tenant_id, "read_joined_channels", "/channels/joined"
            )
        deadline = asyncio.get_running_loop().time() + wait
        while True:
            response = await list_joined_channels(replace(context, now=datetime.now(UTC)))
            is_waiting = any(request.state is RequestState.OPEN for request in response.requests)
            if not is_waiting or asyncio.get_running_loop().time() >= deadline:
                return response
            await asyncio.sleep(0.5)

    show_value(with_app(read), _print_joined, as_json=as_json)


def _print_joined(response: JoinedChannelsResponse) -> None:
    for state in (RequestState.OPEN, RequestState.FAILED):
        for request in response.requests:
            if request.state is state:
                console.print(f"[yellow]{escape(request.reference)}[/]: {escape(request.reason or '')}")
    if response.items:
        console.print(_table(response.items))
    if response.listed_at is None:
        console.print("There is no list yet: tga channels joined --refresh")
    else:
        console.print(
            f"Listed {response.listed_at.astimezone(zone_here()):%Y-%m-%d %H:%M}. Follow some of them: "
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
    subscription = subscription_from(folder, priority, ai, history)

    async def request_channels(assembled: App) -> RequestReport:
        chosen_tenant = await tenant_named(assembled, tenant)
        requested_channels = await follow_picked(
            [ChannelId(channel_id) for channel_id in channel_ids],
            subscription,
            stores=assembled.tenant(chosen_tenant.tenant_id),
        )
        await record_change(
            assembled,
            chosen_tenant.tenant_id,
            "follow_joined_channels",
            "/channels/joined/follow",
            channel_ids=list(channel_ids),
        )
        return await wait_for(assembled, chosen_tenant.tenant_id, requested_channels, wait)

    print_report(with_app(request_channels))


def _table(channels: Sequence[JoinedChannelResponse]) -> Table:
    table = Table("id", "channel", "name", "state", pad_edge=False)
    for channel in channels:
        state = "[green]followed[/]" if channel.is_followed else "private" if channel.is_private else "–"
        table.add_row(
            str(channel.channel_id),
            escape(channel.title),
            f"@{channel.username}" if channel.username else "–",
            state,
        )
    return table
