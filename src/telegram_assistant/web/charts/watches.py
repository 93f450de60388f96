"""How many alerts watches raised, day by day, as bars that templates draw: lengths are attributes,
because pages have no inline styles.
"""

from collections.abc import Sequence
from dataclasses import dataclass

HEIGHT = 20
STEP = 10
MIN_HEIGHT, MIN_COUNTED_HEIGHT = 1, 4
"""A day without an alert is a line; one alert among hundreds is seen, too."""


@dataclass(frozen=True, slots=True)
class AlertBar:
    """The bar of a day: its place and its height."""

    x: int
    y: int
    height: int
    is_newest: bool


def draw_days(counts: Sequence[int], *, highest: int) -> tuple[AlertBar, ...]:
    """One bar a day. `highest` is the highest count of all lists that are compared."""
    heights = [
        max(MIN_COUNTED_HEIGHT, round(HEIGHT * count / highest)) if count else MIN_HEIGHT for count in counts
    ]
    return tuple(
        AlertBar(height_index * STEP, HEIGHT - height, height, height_index == len(counts) - 1)
        for height_index, height in enumerate(heights)
    )
