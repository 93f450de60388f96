"""Draws the coverage of channels as a table, or as a list if the terminal is too narrow for one."""

from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from telegram_assistant.api.endpoints.channels.coverage import CoverageSummaryResponse
from telegram_assistant.domain.channels.coverage import CoverageState

COLOURS = {
    CoverageState.COMPLETE: "green",
    CoverageState.FILLING: "cyan",
    CoverageState.WAITING: "cyan",
    CoverageState.MISSING: "yellow",
    CoverageState.UNREADABLE: "red",
    CoverageState.PREVIEW: "blue",
}
MIN_TABLE_COLUMNS = 110


def draw_coverage(channels: Sequence[CoverageSummaryResponse], *, console: Console, zone: ZoneInfo) -> None:
    """Draws the coverage; times are in `zone`."""
    if console.width < MIN_TABLE_COLUMNS:
        for channel in channels:
            _draw_block(channel, console, zone)
        return
    table = Table("channel", "state", "since", "newest post", "last read", "why", pad_edge=False)
    for channel in channels:
        table.add_row(
            Text(channel.title),
            _state(channel),
            _since(channel, zone),
            _format_moment(channel.newest_posted_at, zone),
            _format_moment(channel.checked_at, zone),
            Text(_why(channel, zone)),
        )
    console.print(table, soft_wrap=False)


def _draw_block(channel: CoverageSummaryResponse, console: Console, zone: ZoneInfo) -> None:
    console.print(Text.assemble((channel.title, "bold"), "  ", _state(channel)), soft_wrap=False)
    newest_text, last_read = (
        _format_moment(channel.newest_posted_at, zone),
        _format_moment(channel.checked_at, zone),
    )
    for line in (
        f"since {_since(channel, zone)}",
        f"newest post {newest_text}, last read {last_read}",
        _why(channel, zone),
    ):
        if line:
            console.print(Padding(Text(line), (0, 0, 0, 2)), soft_wrap=False)


def _state(channel: CoverageSummaryResponse) -> Text:
    return Text(channel.state, COLOURS[channel.state])


def _since(channel: CoverageSummaryResponse, zone: ZoneInfo) -> str:
    return "everything" if channel.floor_at is None else _format_moment(channel.floor_at, zone)


def _why(channel: CoverageSummaryResponse, zone: ZoneInfo) -> str:
    if channel.until is None:
        return channel.why
    word = "since" if channel.state is CoverageState.UNREADABLE else "until"
    return f"{channel.why} ({word} {_format_moment(channel.until, zone)})"


def _format_moment(moment: datetime | None, zone: ZoneInfo) -> str:
    return "–" if moment is None else f"{moment.astimezone(zone):%Y-%m-%d %H:%M}"
