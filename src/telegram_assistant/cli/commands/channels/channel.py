"""Shows one channel: health, completeness, hours of the week, rhythm, freshness, edits and deletions."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.markup import escape
from rich.text import Text

from telegram_assistant.api.endpoints.channels.channel_health import (
    ActivityResponse,
    ChannelActivityResponse,
    get_channel_activity,
)
from telegram_assistant.api.request_context import RequestContext
from telegram_assistant.cli.endpoints import show_endpoint
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson
from telegram_assistant.domain.channels.activity import posts_per_day
from telegram_assistant.features.channels.channels import find_followed

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
SHADES = " ░▒▓█"


def show_channel(
    which: Annotated[str, typer.Argument(help="The channel: its id, @name or title.")],
    tenant: Annotated[str, typer.Option("--tenant", help="Tenant that follows the channel.")] = "default",
    as_json: AsJson = False,
) -> None:
    """Show how a channel is read, when it posts, and how soon its posts are stored."""

    async def answer(context: RequestContext) -> ChannelActivityResponse:
        followed_channel = await find_followed(which, followed=context.stores.followed)
        zone = context.app.settings.telemetry.time_zone
        return await get_channel_activity(context, followed_channel.channel_id, zone)

    show_endpoint(answer, _print_channel, as_json=as_json, tenant=tenant)


def _print_channel(channel: ChannelActivityResponse) -> None:
    console.print(f"[bold]{escape(channel.title or str(channel.channel_id))}[/]  {channel.health.state}")
    for sentence in (
        channel.health.why,
        channel.health.next,
        channel.coverage.summary if channel.coverage else None,
    ):
        if sentence is not None:
            console.print(Text(sentence))
    if channel.activity is not None:
        _print_activity(channel.activity)


def _print_activity(activity: ActivityResponse) -> None:
    freshness = activity.freshness
    per_day = posts_per_day(activity.posts, since=activity.since, now=datetime.now(UTC))
    console.print(f"{activity.posts} posts since {activity.since:%Y-%m-%d}, {per_day:.1f} a day")
    if activity.rhythm:
        console.print(
            f"usually {_span(activity.rhythm.median_seconds)} between two posts; "
            f"longer than {_span(activity.rhythm.long_seconds)} is unusual"
        )
    console.print(
        f"promised within {_span(freshness.promised_seconds)}; "
        f"{freshness.on_time} of {freshness.posts} posts since {freshness.since:%Y-%m-%d} were on time"
    )
    console.print(
        f"{activity.edited} edits and {activity.deleted} deletions since {activity.changed_since:%Y-%m-%d}"
    )
    if activity.posts:
        _draw_week(activity.hours)


def _draw_week(hours: Sequence[Sequence[int]]) -> None:
    """One line per day; the darker, the more posts."""
    max_posts = max(map(max, hours))
    for name, day in zip(DAYS, hours, strict=True):
        cells = "".join(SHADES[-(-(len(SHADES) - 1) * post_count // max_posts)] * 2 for post_count in day)
        console.print(Text(f"{name}  {cells}"), soft_wrap=True)
    console.print(Text("     0           6           12          18"), soft_wrap=True)


def _span(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
