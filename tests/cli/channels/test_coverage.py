"""How complete channels are, in windows of different widths."""

import io
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from rich.console import Console

from telegram_assistant.api.endpoints.channels.coverage import CoverageSummaryResponse
from telegram_assistant.cli.commands.channels.coverage import draw_coverage
from telegram_assistant.domain.channels.coverage import CoverageState

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
WHY = "no account can open it any more: it is private now, and whoever was in it was put out by its owner"


@pytest.mark.parametrize("columns", [60, 120, 200])
def test_every_word_is_there_and_no_line_is_longer_than_the_window(columns: int) -> None:
    output = io.StringIO()
    channel = CoverageSummaryResponse(
        channel_id=1,
        title="Новости города [и области]",
        state=CoverageState.UNREADABLE,
        complete=False,
        why=WHY,
        until=NOON,
        floor_at=NOON,
        newest_posted_at=NOON,
        checked_at=NOON,
        missing_ids=0,
        summary="",
    )
    draw_coverage(
        [channel], console=Console(file=output, width=columns, soft_wrap=True), zone=ZoneInfo("Europe/Moscow")
    )
    lines = output.getvalue().splitlines()
    assert max(map(len, lines)) <= columns
    for words in ("Новости города [и", "unreadable", "2026-11-15 15:00"):
        assert any(words in line for line in lines), output.getvalue()
    assert all(word in output.getvalue() for word in WHY.split())
