"""`tga channels`: followed channels, their coverage, and requests to follow more."""

import asyncio
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from telegram_assistant.api.endpoints.channels.channels import (
    ChannelResponse,
    ChannelsResponse,
    list_channels,
)
from telegram_assistant.api.endpoints.channels.coverage import CoverageResponse, list_coverage
from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import record_change
from telegram_assistant.cli.commands.channels.channel import show_channel
from telegram_assistant.cli.commands.channels.channel_record import show_record
from telegram_assistant.cli.commands.channels.channel_requests import (
    RequestReport,
    print_report,
    print_waiting,
    request_channels,
    retry_requests,
    show_requests,
    wait_for,
)
from telegram_assistant.cli.commands.channels.coverage import draw_coverage
from telegram_assistant.cli.commands.channels.follow_options import (
    Ai,
    Folder,
    History,
    Prio,
    TenantName,
    Wait,
    subscription_from,
)
from telegram_assistant.cli.commands.channels.joined_channels import pick_joined, show_joined
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.endpoints import MAX_ITEMS, context_for, show_endpoint
from telegram_assistant.cli.environment import console, zone_here
from telegram_assistant.cli.output import AsJson, show_value
from telegram_assistant.domain.channels.parsing import Mode
from telegram_assistant.features.channels.channel_lists import ListedChannel, as_opml, read_list
from telegram_assistant.features.channels.channel_requests import WaitingKind, waiting_requests
from telegram_assistant.features.channels.channels import all_followed, find_followed, follow_joined, unfollow
from telegram_assistant.features.channels.coverage import load_coverage
from telegram_assistant.features.channels.polling import poll_any, verify_channel
from telegram_assistant.stores.postgres.channels.channels import FollowedChannel, Subscription
from telegram_assistant.stores.postgres.tenants.tenants import Tenant

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="Followed channels."
)

MAX_RECORDED = 100
"""References of one command in the audit log; the count says how many there were."""
ChannelName = Annotated[str, typer.Argument(help="The channel: its id, @name or title.")]


@app.command()
def add(
    references: Annotated[
        list[str] | None,
        typer.Argument(
            help="@name, https://t.me/name, an invitation https://t.me/+…, or a folder https://t.me/addlist/…"
        ),
    ] = None,
    joined: Annotated[
        bool, typer.Option("--joined", help="Follow all channels that an account of the tenant has joined.")
    ] = False,
    tenant: TenantName = "default",
    folder: Folder = None,
    priority: Prio = None,
    ai: Ai = None,
    history: History = None,
    wait: Wait = 60,
) -> None:
    """Follow channels."""
    if not references and not joined:
        raise typer.BadParameter("name a channel, or give --joined")
    subscription = subscription_from(folder, priority, ai, history)

    listed_channels = [ListedChannel(reference) for reference in references or ()]
    print_report(
        with_app(
            lambda assembled: _request(
                assembled, tenant, listed_channels, subscription, all_joined=joined, wait=wait
            )
        )
    )


@app.command(name="import")
def import_list(
    file: Annotated[
        Path,
        typer.Argument(
            help="OPML, CSV with a column “channel”, or a text with one @name or link per line; "
            "- reads standard input."
        ),
    ],
    tenant: TenantName = "default",
    folder: Folder = None,
    priority: Prio = None,
    ai: Ai = None,
    history: History = None,
    wait: Wait = 60,
) -> None:
    """Follow the channels in a file."""
    text = sys.stdin.read() if str(file) == "-" else _read_text(file)
    subscription = subscription_from(folder, priority, ai, history)
    print_report(
        with_app(
            lambda assembled: _request(
                assembled, tenant, read_list(text), subscription, all_joined=False, wait=wait
            )
        )
    )


@app.command()
def export(tenant: TenantName = "default") -> None:
    """Print the followed channels as OPML."""

    async def load_channels(assembled: App) -> tuple[FollowedChannel, ...]:
        chosen_tenant = await tenant_named(assembled, tenant)
        return await all_followed(followed=assembled.tenant(chosen_tenant.tenant_id).followed)

    followed_channels = with_app(load_channels)
    typer.echo(as_opml(followed_channels, title=f"Channels of {tenant}"), nl=False)


@app.command(name="list")
def show_list(tenant: TenantName = "default", as_json: AsJson = False) -> None:
    """List followed channels and waiting requests."""

    async def read(assembled: App) -> tuple[ChannelsResponse, tuple[WaitingKind, ...]]:
        context = await context_for(assembled, tenant, for_people=not as_json)
        waiting_kinds = await waiting_requests(requests=context.stores.requests, now=context.now)
        return await list_channels(context, limit=MAX_ITEMS), waiting_kinds

    response, waiting_kinds = with_app(read)
    show_value(response, partial(_print_channels, waiting_kinds=waiting_kinds), as_json=as_json)


def _print_channels(response: ChannelsResponse, *, waiting_kinds: Sequence[WaitingKind]) -> None:
    if response.items:
        console.print(_channel_table(response.items))
    elif not waiting_kinds:
        console.print("No channel is followed. Begin with: tga channels add @name")
    print_waiting(waiting_kinds, zone_here())
    if waiting_kinds:
        console.print("`tga channels requests` shows each of them.")


def _channel_table(channels: Sequence[ChannelResponse]) -> Table:
    """By folder and title."""
    table = Table("id", "channel", "name", "folder", "priority", "newest post", "state", pad_edge=False)
    for channel in sorted(channels, key=lambda channel: (channel.folder or "", channel.title)):
        state = (
            "[green]active[/]"
            if channel.active
            else f"[yellow]suspended: {escape(channel.suspended_reason or '')}[/]"
        )
        newest = f"{channel.newest_posted_at:%Y-%m-%d %H:%M}" if channel.newest_posted_at else "–"
        table.add_row(
            str(channel.channel_id),
            escape(channel.title),
            f"@{channel.username}" if channel.username else "–",
            channel.folder or "–",
            channel.priority,
            newest,
            state,
        )
    return table


app.command(name="requests")(show_requests)
app.command(name="show")(show_channel)
app.command(name="record")(show_record)
app.command(name="retry")(retry_requests)
app.command(name="joined")(show_joined)
app.command(name="pick")(pick_joined)


@app.command()
def remove(which: ChannelName, tenant: TenantName = "default") -> None:
    """Stop following a channel.

    The tenant no longer sees its posts; other tenants that follow it still do.
    """

    async def leave(assembled: App) -> FollowedChannel:
        chosen_tenant, channel = await _find_channel(assembled, tenant, which)
        await unfollow(channel.channel_id, followed=assembled.tenant(chosen_tenant.tenant_id).followed)
        await record_change(
            assembled, chosen_tenant.tenant_id, "unfollow_channel", f"/channels/{channel.channel_id}"
        )
        return channel

    console.print(f"{escape(with_app(leave).title)} is no longer followed.")


@app.command()
def coverage(tenant: TenantName = "default", as_json: AsJson = False) -> None:
    """Show how complete each channel is, and why posts are missing."""
    show_endpoint(
        lambda context: list_coverage(context, limit=MAX_ITEMS),
        _print_coverage,
        as_json=as_json,
        tenant=tenant,
    )


def _print_coverage(response: CoverageResponse) -> None:
    if not response.items:
        console.print("No channel is followed. Begin with: tga channels add @name")
        return
    draw_coverage(response.items, console=console, zone=zone_here())


@app.command()
def poll(
    which: ChannelName,
    tenant: TenantName = "default",
    mode: Annotated[
        Mode | None,
        typer.Option(
            help="historical: read the whole window again (PARSER_HISTORICAL_HOURS). incremental: "
            "read only new posts."
        ),
    ] = None,
    first: Annotated[bool, typer.Option("--first", help="Read the channel before all others.")] = False,
    wait: Annotated[
        int, typer.Option(help="Seconds to wait until the channel is read; 0: do not wait.", min=0)
    ] = 30,
) -> None:
    """Read a channel now. This also releases a parked channel."""

    async def request_poll(assembled: App) -> tuple[FollowedChannel, bool]:
        chosen_tenant, channel = await _find_channel(assembled, tenant, which)
        asked_at = datetime.now(UTC)
        await poll_any(channel.channel_id, mode=mode, first=first, schedule=assembled.system.schedule)
        await record_change(
            assembled,
            chosen_tenant.tenant_id,
            "poll_channel",
            f"/channels/{channel.channel_id}/poll",
            mode=mode,
            first=first,
        )
        for _ in range(wait * 2):
            now = await load_coverage(channel.channel_id, stores=assembled.tenant(chosen_tenant.tenant_id))
            if now.channel.last_polled_at and now.channel.last_polled_at >= asked_at:
                return channel, True
            await asyncio.sleep(0.5)
        return channel, False

    channel, is_read = with_app(request_poll)
    console.print(
        f"{escape(channel.title)} was read."
        if is_read
        else f"{escape(channel.title)} is scheduled; the ingest role reads it as soon as its account may."
    )


@app.command()
def verify(
    which: Annotated[
        str | None,
        typer.Argument(help="The channel: its id, @name or title. Without it: every channel of the tenant."),
    ] = None,
    tenant: TenantName = "default",
) -> None:
    """Read all stored posts of a channel again, and correct those that have changed."""

    async def request_verification(assembled: App) -> int:
        chosen_tenant = await tenant_named(assembled, tenant)
        followed = assembled.tenant(chosen_tenant.tenant_id).followed
        channels = (
            (await find_followed(which, followed=followed),)
            if which
            else await all_followed(followed=followed)
        )
        for channel in channels:
            await verify_channel(channel.channel_id, backfills=assembled.system.backfills)
            await record_change(
                assembled, chosen_tenant.tenant_id, "verify_channel", f"/channels/{channel.channel_id}"
            )
        return len(channels)

    count = with_app(request_verification)
    console.print(
        f"{count} channels will be read again in the background; `tga channels coverage` shows the progress."
    )


async def _request(
    app: App,
    tenant: str,
    listed_channels: Sequence[ListedChannel],
    subscription: Subscription,
    *,
    all_joined: bool,
    wait: int,
) -> RequestReport:
    chosen_tenant = await tenant_named(app, tenant)
    requested_channels = await request_channels(app, chosen_tenant.tenant_id, listed_channels, subscription)
    if all_joined:
        requested_channels.append(
            await follow_joined(subscription, requests=app.tenant(chosen_tenant.tenant_id).requests)
        )
    accepted_names = [str(request.written) for request in requested_channels if request.refused is None]
    await record_change(
        app,
        chosen_tenant.tenant_id,
        "follow_channels",
        "/channels",
        references=accepted_names[:MAX_RECORDED],
        count=len(accepted_names),
    )
    return await wait_for(app, chosen_tenant.tenant_id, requested_channels, wait)


async def _find_channel(app: App, tenant: str, which: str) -> tuple[Tenant, FollowedChannel]:
    chosen_tenant = await tenant_named(app, tenant)
    return chosen_tenant, await find_followed(which, followed=app.tenant(chosen_tenant.tenant_id).followed)


def _read_text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{file} cannot be read ({type(error).__name__})") from error
