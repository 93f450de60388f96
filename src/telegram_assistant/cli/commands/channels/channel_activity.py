"""Shows one channel: health, completeness, hours of the week, rhythm, freshness, edits and deletions."""

from datetime import UTC, datetime, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

import typer
from rich.markup import escape
from rich.text import Text

from telegram_assistant.api.endpoints.channels.channel_health import (
    ChannelActivityResponse,
    get_channel_activity,
)
from telegram_assistant.api.request_context import RequestContext
from telegram_assistant.assembly import App
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.endpoints import print_endpoint
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson
from telegram_assistant.cli.wording import say_here
from telegram_assistant.domain.channels.activity import ChannelActivity, WeekHours
from telegram_assistant.features.channels.activity import ActiveChannel, channel_with_activity
from telegram_assistant.features.channels.channels import pick
from telegram_assistant.features.channels.coverage import describe_coverage

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
SHADES = " ░▒▓█"


def show_channel(
    which: Annotated[str, typer.Argument(help="The channel: its id, @name or title.")],
    tenant: Annotated[str, typer.Option("--tenant", help="Tenant that follows the channel.")] = "default",
    as_json: AsJson = False,
) -> None:
    """Show how a channel is read, when it posts, and how soon its posts are stored."""
    if as_json:

        async def answer(ask: RequestContext) -> ChannelActivityResponse:
            followed = pick(await ask.stores.followed.channels(), which)
            return await get_channel_activity(ask, followed.channel_id, ask.app.settings.telemetry.time_zone)

        print_endpoint(answer, tenant=tenant)
        return

    async def read(assembled: App) -> tuple[ActiveChannel, ZoneInfo]:
        stores, zone = (
            assembled.tenant((await tenant_named(assembled, tenant)).tenant_id),
            ZoneInfo(assembled.settings.telemetry.time_zone),
        )
        followed = pick(await stores.followed.channels(), which)
        return await channel_with_activity(
            followed.channel_id, stores=stores, zone=zone, now=datetime.now(UTC)
        ), zone

    active, zone = with_app(read)
    console.print(
        f"[bold]{escape(active.channel.title or str(active.channel.channel_id))}[/]  {active.report.health}"
    )
    for reason in (
        active.report.why,
        active.report.next,
        describe_coverage(active.coverage.channel) if active.coverage else None,
    ):
        if reason is not None:
            console.print(Text(say_here(reason, zone=zone)))
    if active.activity is not None:
        _print_activity(active.activity)


def _print_activity(activity: ChannelActivity) -> None:
    fresh = activity.freshness
    console.print(
        f"{activity.posts} posts since {activity.since:%Y-%m-%d}, "
        f"{activity.posts_per_day(datetime.now(UTC)):.1f} a day"
    )
    if activity.rhythm:
        console.print(
            f"usually {_span(activity.rhythm.median_seconds)} between two posts; "
            f"longer than {_span(activity.rhythm.long_seconds)} is unusual"
        )
    console.print(
        f"promised within {_span(fresh.promised.total_seconds())}: "
        f"kept for {fresh.kept} of {fresh.posts} posts since {fresh.since:%Y-%m-%d}"
    )
    console.print(
        f"{activity.edited} edits and {activity.deleted} deletions since {activity.changed_since:%Y-%m-%d}"
    )
    if activity.posts:
        _draw_week(activity.hours)


def _draw_week(hours: WeekHours) -> None:
    """One line per day; the darker, the more posts."""
    most = max(map(max, hours))
    for name, day in zip(DAYS, hours, strict=True):
        cells = "".join(SHADES[-(-(len(SHADES) - 1) * posts // most)] * 2 for posts in day)
        console.print(Text(f"{name}  {cells}"), soft_wrap=True)
    console.print(Text("     0           6           12          18"), soft_wrap=True)


def _span(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
