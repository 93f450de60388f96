"""`tga channels record`: what a channel was first with, took from others, corrected, changed and deleted."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from telegram_assistant.api.endpoints.channels.channel_record import (
    ChannelRecordResponse,
    FirstReportResponse,
    get_channel_record,
)
from telegram_assistant.api.request_context import RequestContext
from telegram_assistant.cli.endpoints import show_endpoint
from telegram_assistant.cli.environment import console, zone_here
from telegram_assistant.cli.output import AsJson
from telegram_assistant.features.channels.channels import find_followed


def show_record(
    which: Annotated[str, typer.Argument(help="The channel: its id, @name or title.")],
    tenant: Annotated[str, typer.Option("--tenant", help="Tenant that follows the channel.")] = "default",
    as_json: AsJson = False,
) -> None:
    """Show the record of a channel over the last 30 days, counted from the posts of the tenant."""

    async def answer(context: RequestContext) -> ChannelRecordResponse:
        followed_channel = await find_followed(which, followed=context.stores.followed)
        return await get_channel_record(context, followed_channel.channel_id)

    show_endpoint(answer, _print_record, as_json=as_json, tenant=tenant)


def _print_record(channel: ChannelRecordResponse) -> None:
    console.print(f"[bold]{escape(channel.title or str(channel.channel_id))}[/]")
    record = channel.record
    if record is None:
        console.print("not counted yet; records are counted once a day, and every hour on the first day")
        return
    taken_posts = record.forwarded + record.copied
    for sentence in (
        f"first in {record.first} of {record.stories} stories",
        f"{taken_posts} of {record.posts} posts taken from others, {record.forwarded} of them forwards",
        f"{record.corrected} corrected openly, {record.edited} edited quietly",
        f"{record.deleted} deleted, {record.denied} denied later",
        f"since {record.since:%Y-%m-%d}, counted {record.counted_at:%Y-%m-%d %H:%M} UTC",
    ):
        console.print(Text(sentence))
    if channel.first_reports:
        _print_first_reports(channel.first_reports)


def _print_first_reports(reports: Sequence[FirstReportResponse]) -> None:
    table = Table("first at", "story", "post", "next", "ahead by", box=None)
    for report in reports:
        table.add_row(
            f"{report.posted_at.astimezone(zone_here()):%Y-%m-%d %H:%M}",
            Text(report.headline),
            report.post_id,
            Text(report.next_channel or "–"),
            "–" if report.lead_seconds is None else str(timedelta(seconds=round(report.lead_seconds))),
        )
    console.print()
    console.print(table)
