"""Charts of a channel, as shapes that templates draw: lengths are percents of the width,
because pages have no inline styles.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from telegram_assistant.domain.channels.activity import HOURS_OF_DAY, WeekHours
from telegram_assistant.domain.channels.coverage import IdRange
from telegram_assistant.stores.postgres.channels.coverage import Coverage

MIN_GAP_PERCENT = 0.6
"""A gap of one message among thousands is seen, too."""
MAX_PARTS = 200
LEVELS = 4
LABELS_PERCENT = 9.0
"""The names of the days stand to the left of the hours."""


@dataclass(frozen=True, slots=True)
class StripPart:
    """A part of a strip: where it begins, and how long it is."""

    x: float
    width: float


@dataclass(frozen=True, slots=True)
class CoverageStrip:
    """Message ids from the oldest wanted to the newest known: what is verified, and above it the gaps."""

    verified: tuple[StripPart, ...]
    gaps: tuple[StripPart, ...]


@dataclass(frozen=True, slots=True)
class HeatCell:
    """An hour of the week. Level 0 is no post, the highest level is near the most."""

    day: int
    hour: int
    posts: int
    level: int
    x: float
    width: float


def draw_coverage(ledger: Coverage) -> CoverageStrip:
    """The newest parts are drawn exactly; beyond MAX_PARTS older ones are left out."""
    first_id, length = ledger.floor_id, ledger.newest_id - ledger.floor_id + 1
    verified_parts = tuple(
        _part(verified_range, first_id, length, 0.0) for verified_range in ledger.verified[:MAX_PARTS]
    )
    return CoverageStrip(
        verified_parts,
        tuple(_part(gap, first_id, length, MIN_GAP_PERCENT) for gap in ledger.gaps[:MAX_PARTS]),
    )


def _part(ids: IdRange, first: int, length: int, min_width: float) -> StripPart:
    width = max(min_width, 100 * len(ids) / length)
    return StripPart(round(min(100 - width, 100 * (ids.low - first) / length), 3), round(width, 3))


def draw_week(hours: WeekHours) -> tuple[tuple[HeatCell, ...], ...]:
    """One row of 24 cells for each day, Monday first."""
    max_posts = max(map(max, hours)) or 1
    width = (100 - LABELS_PERCENT) / HOURS_OF_DAY
    hour_offsets = [round(LABELS_PERCENT + hour * width, 3) for hour in range(HOURS_OF_DAY)]
    return tuple(
        tuple(
            HeatCell(
                day, hour, post_count, _level(post_count, max_posts), hour_offsets[hour], round(width, 3)
            )
            for hour, post_count in enumerate(row)
        )
        for day, row in enumerate(hours)
    )


def _level(post_count: int, max_posts: int) -> int:
    return -(-LEVELS * post_count // max_posts)


def busiest(week: Sequence[Sequence[HeatCell]]) -> HeatCell | None:
    """The hour with the most posts; None if there is no post."""
    busiest_cell = max((cell for row in week for cell in row), key=lambda cell: cell.posts)
    return busiest_cell if busiest_cell.posts else None
