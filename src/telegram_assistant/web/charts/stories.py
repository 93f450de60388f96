"""How a story spread, as shapes that templates draw: lengths are percents of the width,
because pages have no inline styles.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from markupsafe import Markup

from telegram_assistant.domain.stories.visible import VisiblePost, VisibleStory

COLUMNS = 24
SPANS = tuple(timedelta(minutes=minutes) for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440))
"""The times that one column may stand for. The chart takes the shortest with which the story fits."""
MIN_ROWS, MAX_ROWS = 4, 8
CHART_HEIGHT = 84.0


@dataclass(frozen=True, slots=True)
class Brick:
    """One post or album, or several where a column has more than fit."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    """`own` words, `copy`, or `gone`: deleted since."""


@dataclass(frozen=True, slots=True)
class SpreadChart:
    """Posts over time. `seen_x` is where the reader was last, if that lies inside."""

    bricks: tuple[Brick, ...]
    since: datetime
    until: datetime
    span_seconds: float
    own: int
    copies: int
    gone: int
    seen_x: float | None

    @property
    def svg(self) -> Markup:
        """The bricks as elements of SVG: a template would escape each of hundreds of numbers."""
        bricks = (
            f'<rect class="{brick.kind}" x="{brick.x}%" y="{brick.y}" '
            f'width="{brick.width}%" height="{brick.height}" rx="2"/>'
            for brick in self.bricks
        )
        return Markup("".join(bricks))  # noqa: S704 -- numbers, and words of ours


def draw_spread(
    story: VisibleStory, *, seen_at: datetime | None = None, height: float = CHART_HEIGHT
) -> SpreadChart:
    """One brick for each post or album, in columns of equal time, those in own words at the bottom."""
    length = story.newest.posted_at - story.first.posted_at
    span = next((span for span in SPANS if span * COLUMNS > length), length / (COLUMNS - 1))
    columns: dict[int, list[str]] = {}
    for post in story.entries:
        columns.setdefault(int((post.posted_at - story.first.posted_at) / span), []).append(
            _kind(story, post)
        )
    count = max(columns) + 1
    width = 100 / max(count, 6)
    kinds = [kind for column in columns.values() for kind in column]
    seen_x = None if seen_at is None else (seen_at - story.first.posted_at) / span * width
    return SpreadChart(
        tuple(
            brick
            for column_index, column in sorted(columns.items())
            for brick in _column(column_index * width, width, column, height)
        ),
        story.first.posted_at,
        story.newest.posted_at,
        span.total_seconds(),
        kinds.count("own"),
        kinds.count("copy"),
        kinds.count("gone"),
        round(seen_x, 2) if seen_x is not None and 0 < seen_x < count * width else None,
    )


def _kind(story: VisibleStory, post: VisiblePost) -> str:
    return "gone" if post.deleted_at else "copy" if story.repeats(post) else "own"


def _column(x: float, width: float, kinds: Sequence[str], height: float) -> list[Brick]:
    row_count = min(MAX_ROWS, len(kinds))
    ordered_kinds = sorted(kinds, key=("own", "copy", "gone").index)
    sampled_kinds = [ordered_kinds[number * len(ordered_kinds) // row_count] for number in range(row_count)]
    step = height / max(row_count, MIN_ROWS)
    return [
        Brick(
            round(x + width * 0.06, 2),
            round(height - step * (number + 0.92), 2),
            round(width * 0.88, 2),
            round(step * 0.84, 2),
            kind,
        )
        for number, kind in enumerate(sampled_kinds)
    ]
