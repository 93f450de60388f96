"""`tga channels`: followed channels, their coverage, and requests to follow more."""

import asyncio
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo

import typer
from rich.markup import escape
from rich.table import Table

from telegram_assistant.api.endpoints.channels.channels import list_channels
from telegram_assistant.api.endpoints.channels.coverage import list_coverage
from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import record_change
from telegram_assistant.cli.commands.channels.channel_activity import show_channel
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
from telegram_assistant.cli.endpoints import ALL, print_endpoint
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson
from telegram_assistant.cli.wording import words_of
from telegram_assistant.domain.channels.parsing import Mode
from telegram_assistant.errors import Rejected
from telegram_assistant.features.channels.channel_lists import ListedChannel, as_opml, read_list
from telegram_assistant.features.channels.channel_requests import WaitingKind, waiting_requests
from telegram_assistant.features.channels.channels import follow_joined, pick, unfollow
from telegram_assistant.features.channels.coverage import coverage_of, coverage_of_all
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.channels.backfills import BackfillKind
from telegram_assistant.stores.postgres.channels.channels import FollowedChannel, Subscription
from telegram_assistant.stores.postgres.channels.coverage import ChannelCoverage
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
    wanted = subscription_from(folder, priority, ai, history)

    listed = [ListedChannel(reference) for reference in references or ()]
    print_report(
        with_app(lambda assembled: _request(assembled, tenant, listed, wanted, joined=joined, wait=wait))
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
    text = sys.stdin.read() if str(file) == "-" else _read(file)
    wanted = subscription_from(folder, priority, ai, history)
    print_report(
        with_app(
            lambda assembled: _request(assembled, tenant, read_list(text), wanted, joined=False, wait=wait)
        )
    )


@app.command()
def export(tenant: TenantName = "default") -> None:
    """Print the followed channels as OPML."""

    async def read(assembled: App) -> tuple[FollowedChannel, ...]:
        return await assembled.tenant((await tenant_named(assembled, tenant)).tenant_id).followed.channels()

    followed = with_app(read)
    typer.echo(as_opml(followed, title=f"Channels of {tenant}"), nl=False)


@app.command(name="list")
def show_list(tenant: TenantName = "default", as_json: AsJson = False) -> None:
    """List followed channels and waiting requests."""
    if as_json:
        print_endpoint(lambda ask: list_channels(ask, limit=ALL), tenant=tenant)
        return

    async def read(assembled: App) -> tuple[tuple[FollowedChannel, ...], tuple[WaitingKind, ...], ZoneInfo]:
        stores = assembled.tenant((await tenant_named(assembled, tenant)).tenant_id)
        waiting = await waiting_requests(requests=stores.requests, now=datetime.now(UTC))
        return await stores.followed.channels(), waiting, ZoneInfo(assembled.settings.telemetry.time_zone)

    followed, waiting, zone = with_app(read)
    if followed:
        console.print(_channel_table(followed))
    elif not waiting:
        console.print("No channel is followed. Begin with: tga channels add @name")
    print_waiting(waiting, zone)
    if waiting:
        console.print("`tga channels requests` shows each of them.")


def _channel_table(followed: Sequence[FollowedChannel]) -> Table:
    table = _table("id", "channel", "name", "folder", "priority", "newest post", "state")
    for channel in followed:
        state = (
            "[green]active[/]"
            if channel.active
            else f"[yellow]suspended: {words_of(channel.suspended_reason)}[/]"
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
app.command(name="retry")(retry_requests)
app.command(name="joined")(show_joined)
app.command(name="pick")(pick_joined)


@app.command()
def remove(which: ChannelName, tenant: TenantName = "default") -> None:
    """Stop following a channel.

    The tenant no longer sees its posts; other tenants that follow it still do.
    """

    async def leave(assembled: App) -> FollowedChannel:
        known, channel = await _known(assembled, tenant, which)
        await unfollow(channel.channel_id, followed=assembled.tenant(known.tenant_id).followed)
        await record_change(assembled, known.tenant_id, "unfollow_channel", f"/channels/{channel.channel_id}")
        return channel

    console.print(f"{escape(with_app(leave).title)} is no longer followed.")


@app.command()
def coverage(tenant: TenantName = "default", as_json: AsJson = False) -> None:
    """Show how complete each channel is, and why posts are missing."""
    if as_json:
        print_endpoint(lambda ask: list_coverage(ask, limit=ALL), tenant=tenant)
        return

    async def look(assembled: App) -> tuple[tuple[ChannelCoverage, ...], ZoneInfo]:
        known = await tenant_named(assembled, tenant)
        page = await coverage_of_all(stores=assembled.tenant(known.tenant_id))
        return page.channels, ZoneInfo(assembled.settings.telemetry.time_zone)

    channels, zone = with_app(look)
    if not channels:
        console.print("No channel is followed. Begin with: tga channels add @name")
        return
    draw_coverage(channels, console=console, zone=zone)


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

    async def ask(assembled: App) -> tuple[FollowedChannel, bool]:
        known, channel = await _known(assembled, tenant, which)
        asked_at = datetime.now(UTC)
        if not await assembled.system.schedule.ask(channel.channel_id, mode=mode, first=first):
            raise Rejected(
                Reason(
                    "followed_by_no_tenant",
                    "{title} is not followed by any tenant at the moment",
                    title=channel.title,
                )
            )
        await record_change(
            assembled,
            known.tenant_id,
            "poll_channel",
            f"/channels/{channel.channel_id}/poll",
            mode=mode,
            first=first,
        )
        for _ in range(wait * 2):
            now = await coverage_of(channel.channel_id, stores=assembled.tenant(known.tenant_id))
            if now.channel.last_polled_at and now.channel.last_polled_at >= asked_at:
                return channel, True
            await asyncio.sleep(0.5)
        return channel, False

    channel, done = with_app(ask)
    console.print(
        f"{escape(channel.title)} was read."
        if done
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

    async def ask(assembled: App) -> int:
        known = await tenant_named(assembled, tenant)
        followed = await assembled.tenant(known.tenant_id).followed.channels()
        channels = (pick(followed, which),) if which else followed
        for channel in channels:
            await assembled.system.backfills.open(channel.channel_id, BackfillKind.VERIFY)
            await record_change(
                assembled, known.tenant_id, "verify_channel", f"/channels/{channel.channel_id}"
            )
        return len(channels)

    count = with_app(ask)
    console.print(
        f"{count} channels will be read again in the background; `tga channels coverage` shows the progress."
    )


async def _request(
    assembled: App,
    tenant: str,
    listed: Sequence[ListedChannel],
    wanted: Subscription,
    *,
    joined: bool,
    wait: int,
) -> RequestReport:
    known = await tenant_named(assembled, tenant)
    requested = await request_channels(assembled, known.tenant_id, listed, wanted)
    if joined:
        requested.append(await follow_joined(wanted, requests=assembled.tenant(known.tenant_id).requests))
    accepted = [str(request.written) for request in requested if request.refused is None]
    await record_change(
        assembled,
        known.tenant_id,
        "follow_channels",
        "/channels",
        references=accepted[:MAX_RECORDED],
        count=len(accepted),
    )
    return await wait_for(assembled, known.tenant_id, requested, wait)


async def _known(assembled: App, tenant: str, which: str) -> tuple[Tenant, FollowedChannel]:
    known = await tenant_named(assembled, tenant)
    return known, pick(await assembled.tenant(known.tenant_id).followed.channels(), which)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{file} cannot be read ({type(error).__name__})") from error


def _table(*names: str) -> Table:
    table = Table(pad_edge=False)
    for name in names:
        table.add_column(name)
    return table
