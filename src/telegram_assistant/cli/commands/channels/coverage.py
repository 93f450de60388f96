"""Draws the coverage of channels as a table, or as a list if the terminal is too narrow for one."""

from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from telegram_assistant.cli.wording import say_here
from telegram_assistant.domain.channels.coverage import CoverageState
from telegram_assistant.stores.postgres.channels.coverage import ChannelCoverage

COLOURS = {
    CoverageState.COMPLETE: "green",
    CoverageState.FILLING: "cyan",
    CoverageState.WAITING: "cyan",
    CoverageState.MISSING: "yellow",
    CoverageState.UNREADABLE: "red",
    CoverageState.PREVIEW: "blue",
}
MIN_TABLE_COLUMNS = 110


def draw_coverage(channels: Sequence[ChannelCoverage], *, console: Console, zone: ZoneInfo) -> None:
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
            _when(channel.newest_posted_at, zone),
            _when(channel.last_polled_at, zone),
            Text(_why(channel, zone)),
        )
    console.print(table, soft_wrap=False)


def _draw_block(channel: ChannelCoverage, console: Console, zone: ZoneInfo) -> None:
    console.print(Text.assemble((channel.title, "bold"), "  ", _state(channel)), soft_wrap=False)
    newest, read = _when(channel.newest_posted_at, zone), _when(channel.last_polled_at, zone)
    for line in (
        f"since {_since(channel, zone)}",
        f"newest post {newest}, last read {read}",
        _why(channel, zone),
    ):
        if line:
            console.print(Padding(Text(line), (0, 0, 0, 2)), soft_wrap=False)


def _state(channel: ChannelCoverage) -> Text:
    return Text(channel.status.state, COLOURS[channel.status.state])


def _since(channel: ChannelCoverage, zone: ZoneInfo) -> str:
    return "everything" if channel.floor_at is None else _when(channel.floor_at, zone)


def _why(channel: ChannelCoverage, zone: ZoneInfo) -> str:
    status = channel.status
    why = say_here(status.why, zone=zone)
    if status.until is None:
        return why
    return (
        f"{why} ({'since' if status.state is CoverageState.UNREADABLE else 'until'} "
        f"{_when(status.until, zone)})"
    )


def _when(moment: datetime | None, zone: ZoneInfo) -> str:
    return "–" if moment is None else f"{moment.astimezone(zone):%Y-%m-%d %H:%M}"
