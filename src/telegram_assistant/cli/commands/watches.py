"""`tga watches`: what a tenant wants to be told about, and what was found."""

from datetime import UTC, datetime, time
from typing import Annotated
from uuid import UUID
from zoneinfo import ZoneInfo

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from telegram_assistant.api.endpoints.watches.alerts import list_alerts
from telegram_assistant.api.endpoints.watches.watches import list_watches
from telegram_assistant.api.endpoints.watches.watches import preview_watch as preview_endpoint
from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import ACTOR, record_change
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.endpoints import print_endpoint
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson
from telegram_assistant.cli.wording import words_of
from telegram_assistant.domain.watches.watch import AlertSeverity, Watch, WatchKind, WatchOptions, WatchTarget
from telegram_assistant.features.watches.alerts import link_of_alert, newest_alerts, see_alerts
from telegram_assistant.features.watches.previews import WatchPreview, preview_watch
from telegram_assistant.features.watches.watches import create_watch, delete_watch, pause_watch, quiet_hours
from telegram_assistant.stores.postgres.watches.alerts import Alert

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
WatchId = Annotated[UUID, typer.Argument(help="Id of the watch, from `tga watches list`.")]


@app.command("list")
def show_list(tenant: TenantName = "default", as_json: AsJson = False) -> None:
    """List watches, with the number of their alerts."""
    if as_json:
        print_endpoint(list_watches, tenant=tenant)
        return

    async def look(assembled: App) -> tuple[Watch, ...]:
        return await assembled.tenant((await tenant_named(assembled, tenant)).tenant_id).watches.all()

    watches = with_app(look, needs_redis=False)
    if not watches:
        console.print("There are no watches. Start with: tga watches add NAME QUERY")
        return
    table = Table("id", "name", "kind", "query", "severity", "alerts", "unread", "state", box=None)
    for watch in watches:
        state = "[yellow]paused[/]" if watch.paused_at else "[green]on[/]"
        row = (
            str(watch.watch_id),
            escape(watch.name),
            watch.target.kind.value,
            escape(watch.target.query),
            watch.options.severity.value,
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
        known, zone = await tenant_named(assembled, tenant), assembled.settings.telemetry.time_zone
        options = WatchOptions(
            severity=severity, quiet=quiet_hours(begins, ends), zone=zone, receivers=tuple(receiver or ())
        )
        target = WatchTarget(kind=kind, query=query, hours=hours, posts=posts)
        stores = assembled.tenant(known.tenant_id)
        made = await create_watch(
            name, target, options, stores=stores, created_by=ACTOR, now=datetime.now(UTC), zone=ZoneInfo(zone)
        )
        await record_change(
            assembled, known.tenant_id, "create_watch", "/watches", name=name, kind=kind.value
        )
        return made

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
    if as_json:
        print_endpoint(
            lambda ask: preview_endpoint(ask, kind=kind, query=query, hours=hours, posts=posts), tenant=tenant
        )
        return

    async def look(assembled: App) -> tuple[WatchPreview, ZoneInfo]:
        known, zone = await tenant_named(assembled, tenant), ZoneInfo(assembled.settings.telemetry.time_zone)
        past_alerts = await preview_watch(
            WatchTarget(kind=kind, query=query, hours=hours, posts=posts),
            tenant_id=known.tenant_id,
            stores=assembled.tenant(known.tenant_id),
            index=assembled.meaning_search,
            now=datetime.now(UTC),
            zone=zone,
        )
        return past_alerts, zone

    past_alerts, zone = with_app(look, needs_redis=False)
    if past_alerts.trouble:
        console.print(words_of(past_alerts.trouble))
        return
    more = "" if past_alerts.is_complete else "more than "
    console.print(f"It would have fired {more}{past_alerts.count} times in the last {past_alerts.days} days.")
    for line in past_alerts.lines:
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
    if as_json:
        print_endpoint(lambda ask: list_alerts(ask, unread=unread, limit=limit), tenant=tenant)
        return

    async def look(assembled: App) -> tuple[tuple[Alert, ...], ZoneInfo]:
        stores = assembled.tenant((await tenant_named(assembled, tenant)).tenant_id)
        return (await newest_alerts(stores=stores, limit=limit, unread_only=unread)).alerts, ZoneInfo(
            assembled.settings.telemetry.time_zone
        )

    newest, zone = with_app(look, needs_redis=False)
    if not newest:
        console.print("There are no alerts.")
    for alert in newest:
        head = Text(
            f"{alert.watch}  {alert.kind}  "
            f"{alert.happened_at.astimezone(zone):%Y-%m-%d %H:%M}  {alert.channel}  ",
            style="bold",
        )
        console.print(head.append(link_of_alert(alert), style="blue"))
        if alert.text:
            console.print(Text(alert.text))


@app.command()
def seen(tenant: TenantName = "default") -> None:
    """Mark all alerts as seen."""

    async def mark(assembled: App) -> int:
        known = await tenant_named(assembled, tenant)
        marked = await see_alerts(
            None, stores=assembled.tenant(known.tenant_id), by=ACTOR, until=datetime.now(UTC)
        )
        await record_change(assembled, known.tenant_id, "see_alerts_of_tenant", "/alerts/seen")
        return marked

    console.print(f"Alerts marked as seen: {with_app(mark)}.")


@app.command()
def pause(watch_id: WatchId, tenant: TenantName = "default") -> None:
    """Pause a watch. What happens meanwhile raises no alert later."""
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
        known = await tenant_named(assembled, tenant)
        await delete_watch(watch_id, stores=assembled.tenant(known.tenant_id))
        await record_change(assembled, known.tenant_id, "delete_watch", f"/watches/{watch_id}")

    with_app(end)
    console.print("The watch is deleted.")


def _pause(watch_id: UUID, tenant: str, *, is_paused: bool) -> None:
    async def change(assembled: App) -> None:
        known = await tenant_named(assembled, tenant)
        await pause_watch(watch_id, stores=assembled.tenant(known.tenant_id), is_paused=is_paused)
        await record_change(
            assembled, known.tenant_id, "pause_watch" if is_paused else "resume_watch", f"/watches/{watch_id}"
        )

    with_app(change)


def _times(text: str) -> tuple[time | None, time | None]:
    if not text:
        return None, None
    begins, _, ends = text.partition("-")
    try:
        return time.fromisoformat(begins.strip()), time.fromisoformat(ends.strip())
    except ValueError as error:
        raise typer.BadParameter("write it like 22:00-07:00", param_hint="--quiet") from error
