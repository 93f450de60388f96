"""`tga watches`: what a tenant wants to be told about, and what was found."""

from datetime import UTC, datetime, time
from typing import Annotated
from uuid import UUID
from zoneinfo import ZoneInfo

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from telegram_assistant.api.endpoints.watches.alerts import AlertsResponse, list_alerts
from telegram_assistant.api.endpoints.watches.watches import (
    WatchesResponse,
    WatchPreviewResponse,
    list_watches,
    preview_watch,
)
from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import ACTOR, record_change
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.endpoints import show_endpoint
from telegram_assistant.cli.environment import console, zone_here
from telegram_assistant.cli.output import AsJson
from telegram_assistant.domain.watches.watch import (
    AlertSeverity,
    Watch,
    WatchKind,
    WatchOptions,
    WatchTarget,
    parse_time_of_day,
)
from telegram_assistant.errors import Rejected
from telegram_assistant.features.watches.alerts import see_alerts
from telegram_assistant.features.watches.watches import create_watch, delete_watch, pause_watch, quiet_hours

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Watches: add, list, preview, pause, and their alerts.",
)

TenantName = Annotated[str, typer.Option("--tenant", help="Tenant that owns the watches.")]
QueryText = Annotated[
    str,
    typer.Argument(help="Query, as for `tga search`, without days. May be empty for silence and changes."),
]
Kind = Annotated[WatchKind, typer.Option(help="What to look for.")]
Hours = Annotated[int | None, typer.Option(help="For silence: hours without a post.", min=1)]
Posts = Annotated[int | None, typer.Option(help="For stories: how many posts a story must have.", min=2)]
QUIET_WRONG = "write it like 22:00-07:00"
WatchId = Annotated[UUID, typer.Argument(help="Id of the watch, from `tga watches list`.")]


@app.command("list")
def show_list(tenant: TenantName = "default", as_json: AsJson = False) -> None:
    """List watches, with the number of their alerts."""
    show_endpoint(list_watches, _print_watches, as_json=as_json, tenant=tenant, needs_redis=False)


def _print_watches(watches: WatchesResponse) -> None:
    if not watches.items:
        console.print("There are no watches. Start with: tga watches add NAME QUERY")
        return
    table = Table("id", "name", "kind", "query", "severity", "alerts", "unread", "state", box=None)
    for watch in watches.items:
        state = "[yellow]paused[/]" if watch.paused_at else "[green]on[/]"
        row = (
            str(watch.watch_id),
            escape(watch.name),
            watch.kind.value,
            escape(watch.query),
            watch.severity.value,
        )
        table.add_row(*row, str(watch.alerts), str(watch.unread), state)
    console.print(table)


@app.command()
def add(  # noqa: PLR0913, PLR0917 -- the options of a watch
    name: Annotated[str, typer.Argument(help="Name of the watch.")],
    query: QueryText = "",
    tenant: TenantName = "default",
    kind: Kind = WatchKind.WORDS,
    hours: Hours = None,
    posts: Posts = None,
    severity: Annotated[
        AlertSeverity, typer.Option(help="Critical alerts are delivered in quiet hours too.")
    ] = AlertSeverity.NORMAL,
    quiet: Annotated[
        str, typer.Option(help="Quiet hours in the zone TZ, like 22:00-07:00. Empty: none.")
    ] = "",
    receiver: Annotated[
        list[UUID] | None, typer.Option(help="Id of a receiver; several are possible.")
    ] = None,
) -> None:
    """Add a watch. It looks at what happens from now on."""
    begins, ends = _times(quiet)

    async def make(assembled: App) -> Watch:
        chosen_tenant, zone = await tenant_named(assembled, tenant), assembled.settings.telemetry.time_zone
        options = WatchOptions(
            severity=severity, quiet=quiet_hours(begins, ends), zone=zone, receivers=tuple(receiver or ())
        )
        target = WatchTarget(kind=kind, query=query, hours=hours, posts=posts)
        stores = assembled.tenant(chosen_tenant.tenant_id)
        watch = await create_watch(
            name, target, options, stores=stores, created_by=ACTOR, now=datetime.now(UTC), zone=ZoneInfo(zone)
        )
        await record_change(
            assembled, chosen_tenant.tenant_id, "create_watch", "/watches", name=name, kind=kind.value
        )
        return watch

    console.print(f"Watch {with_app(make).watch_id} looks at what happens from now on.")


@app.command()
def preview(
    query: QueryText = "",
    tenant: TenantName = "default",
    kind: Kind = WatchKind.WORDS,
    hours: Hours = None,
    posts: Posts = None,
    as_json: AsJson = False,
) -> None:
    """Show the alerts that a watch would have raised in the last 30 days."""
    show_endpoint(
        lambda context: preview_watch(context, kind=kind, query=query, hours=hours, posts=posts),
        _print_preview,
        as_json=as_json,
        tenant=tenant,
        needs_redis=False,
    )


def _print_preview(past_alerts: WatchPreviewResponse) -> None:
    if past_alerts.trouble:
        console.print(escape(past_alerts.trouble))
        return
    zone, more = zone_here(), "" if past_alerts.is_complete else "more than "
    console.print(f"It would have fired {more}{past_alerts.count} times in the last {past_alerts.days} days.")
    for line in past_alerts.items:
        console.print(
            Text(
                f"{line.happened_at.astimezone(zone):%Y-%m-%d %H:%M}  {line.channel}  {line.kind}  "
                f"{line.link}",
                style="bold",
            )
        )
        if line.text:
            console.print(Text(line.text))


@app.command()
def alerts(
    tenant: TenantName = "default",
    unread: Annotated[bool, typer.Option("--unread", help="Only alerts that nobody has seen.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of alerts.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List alerts, newest first."""
    show_endpoint(
        lambda context: list_alerts(context, unread=unread, limit=limit),
        _print_alerts,
        as_json=as_json,
        tenant=tenant,
        needs_redis=False,
    )


def _print_alerts(newest: AlertsResponse) -> None:
    zone = zone_here()
    if not newest.items:
        console.print("There are no alerts.")
    for alert in newest.items:
        heading = Text(
            f"{alert.watch}  {alert.kind}  "
            f"{alert.happened_at.astimezone(zone):%Y-%m-%d %H:%M}  {alert.channel}  ",
            style="bold",
        )
        console.print(heading.append(alert.link, style="blue"))
        if alert.text:
            console.print(Text(alert.text))


@app.command("seen")
def mark_seen(tenant: TenantName = "default") -> None:
    """Mark all alerts as seen."""

    async def mark(assembled: App) -> int:
        chosen_tenant = await tenant_named(assembled, tenant)
        marked_count = await see_alerts(
            None, stores=assembled.tenant(chosen_tenant.tenant_id), by=ACTOR, until=datetime.now(UTC)
        )
        await record_change(assembled, chosen_tenant.tenant_id, "see_alerts_of_tenant", "/alerts/seen")
        return marked_count

    console.print(f"Alerts marked as seen: {with_app(mark)}.")


@app.command()
def pause(watch_id: WatchId, tenant: TenantName = "default") -> None:
    """Pause a watch. Events during the pause raise no alert later."""
    _pause(watch_id, tenant, is_paused=True)
    console.print("The watch is paused.")


@app.command()
def resume(watch_id: WatchId, tenant: TenantName = "default") -> None:
    """Resume a paused watch."""
    _pause(watch_id, tenant, is_paused=False)
    console.print("The watch looks at what happens from now on.")


@app.command()
def remove(watch_id: WatchId, tenant: TenantName = "default") -> None:
    """Delete a watch with its alerts."""

    async def end(assembled: App) -> None:
        chosen_tenant = await tenant_named(assembled, tenant)
        await delete_watch(watch_id, stores=assembled.tenant(chosen_tenant.tenant_id))
        await record_change(assembled, chosen_tenant.tenant_id, "delete_watch", f"/watches/{watch_id}")

    with_app(end)
    console.print("The watch is deleted.")


def _pause(watch_id: UUID, tenant: str, *, is_paused: bool) -> None:
    async def change(assembled: App) -> None:
        chosen_tenant = await tenant_named(assembled, tenant)
        await pause_watch(watch_id, stores=assembled.tenant(chosen_tenant.tenant_id), is_paused=is_paused)
        await record_change(
            assembled,
            chosen_tenant.tenant_id,
            "pause_watch" if is_paused else "resume_watch",
            f"/watches/{watch_id}",
        )

    with_app(change)


def _times(text: str) -> tuple[time | None, time | None]:
    begins, _, ends = text.partition("-")
    try:
        times = parse_time_of_day(begins), parse_time_of_day(ends)
    except Rejected as error:
        raise typer.BadParameter(QUIET_WRONG, param_hint="--quiet") from error
    if text and None in times:
        raise typer.BadParameter(QUIET_WRONG, param_hint="--quiet")
    return times
