"""`tga trends`: stories that many channels told at once,
and names and tags that they mention more than usual.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

import typer
from rich.table import Table
from rich.text import Text

from telegram_assistant.api.endpoints.stories.trends import trends_response
from telegram_assistant.assembly import App
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.environment import console, zone_here
from telegram_assistant.cli.output import AsJson, print_json
from telegram_assistant.features.stories.keyword_trends import ExplainedTrend
from telegram_assistant.features.stories.trends import Trend, Trends, all_trends


def trends(
    tenant: Annotated[str, typer.Option(help="Tenant that follows the channels.")] = "default",
    hours: Annotated[int, typer.Option(min=1, max=168, help="How many hours back to look.")] = 24,
    as_json: AsJson = False,
) -> None:
    """List stories that five or more channels told within half an hour,
    and names and tags that they mention more than usual.
    """

    async def look(assembled: App) -> Trends:
        chosen_tenant = await tenant_named(assembled, tenant)
        now = datetime.now(UTC)
        return await all_trends(
            now - timedelta(hours=hours), stores=assembled.tenant(chosen_tenant.tenant_id), now=now
        )

    recent_trends = with_app(look, needs_redis=False)
    if as_json:
        print_json(trends_response(recent_trends))
    else:
        _print_trends(recent_trends, hours)


def _print_trends(recent_trends: Trends, hours: int) -> None:
    if recent_trends.stories:
        console.print(_stories(recent_trends.stories, zone_here()))
    else:
        console.print(f"No story was told by five channels within 30 minutes in the last {hours} hours.")
    if recent_trends.keywords:
        console.print(_keywords("last hour", recent_trends.keywords))
    for day in recent_trends.days:
        console.print(_keywords(f"{day.day} UTC", day.trends))


def _stories(story_trends: Sequence[Trend], zone: ZoneInfo) -> Table:
    table = Table("began", "channels", "posts", "story", pad_edge=False)
    for trend in story_trends:
        began = f"{trend.burst.began_at.astimezone(zone):%m-%d %H:%M}"
        table.add_row(
            began, str(trend.burst.channels), str(len(trend.story.posts)), Text(trend.telling.headline)
        )
    return table


def _keywords(title: str, explained_trends: Sequence[ExplainedTrend]) -> Table:
    table = Table(title, "channels", "mentions", "usual", "first post", pad_edge=False)
    for explained_trend in explained_trends:
        names = ", ".join(keyword.text for keyword in explained_trend.keywords)
        table.add_row(
            Text(names),
            str(explained_trend.trend.channels),
            str(explained_trend.trend.mentions),
            f"{explained_trend.trend.usual:.1f}",
            Text(explained_trend.posts[0].sentence),
        )
    return table
