"""Everything that happens in the demo world, in the order of time;
days are planned when time comes to them.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from typing import NamedTuple

from telegram_simulator.world.demo.fillers import fillers_of
from telegram_simulator.world.demo.plan import DAY, Day, Planned, day_of
from telegram_simulator.world.demo.stories import stories_of, with_albums

type DayPlan = Callable[[Day], Iterable[Planned]]
"""Plans the posts of all stories that begin on a day, and those between."""


def plan_day(day: Day) -> Iterator[Planned]:
    yield from stories_of(day)
    yield from fillers_of(day)


class Act(IntEnum):
    """The kind of a planned event: a post is published, edited or deleted."""

    POST = 0
    EDIT = 1
    DELETE = 2


class Happening(NamedTuple):
    """One planned event. Sorted by time; `order` keeps the posts of an album together."""

    at: int
    order: int
    act: Act
    post: Planned


class Timeline:
    """From `begins` on, without end. The same seed and the same days give the same happenings."""

    def __init__(self, seed: int, begins: int, plan: DayPlan = plan_day) -> None:
        self._seed = seed
        self._plan_day = plan
        self._begins = begins
        self._next_day = begins // DAY
        self._due: list[Happening] = []

    def until(self, moment: int) -> Iterator[Happening]:
        """The events up to the moment that were not returned before."""
        while self._next_day * DAY <= moment:
            self._plan(self._next_day)
            self._next_day += 1
        while self._due and self._due[0].at <= moment:
            yield heapq.heappop(self._due)

    def following(self) -> list[Happening]:
        """The next event, at whatever time it is planned: a single event or a whole album."""
        while not self._due or self._due[0].at >= self._next_day * DAY:
            self._plan(self._next_day)
            self._next_day += 1
        happenings = [heapq.heappop(self._due)]
        while self._due and _are_one_album(happenings[0], self._due[0]):
            happenings.append(heapq.heappop(self._due))
        return happenings

    def next_at(self) -> int:
        """When something happens next, as far as is planned."""
        midnight = self._next_day * DAY
        return min(self._due[0].at, midnight) if self._due else midnight

    def _plan(self, number: int) -> None:
        """Stories that began before the beginning are left out: their first posts could not be found."""
        day = day_of(self._seed, number)
        for post in with_albums(list(self._plan_day(day)), day.rng):
            if post.date < self._begins or (post.story is not None and post.story.begins < self._begins):
                continue
            heapq.heappush(self._due, Happening(post.date, post.key, Act.POST, post))
            if post.edit_at is not None:
                heapq.heappush(self._due, Happening(post.edit_at, post.key, Act.EDIT, post))
            if post.deleted_at is not None:
                heapq.heappush(self._due, Happening(post.deleted_at, post.key, Act.DELETE, post))


def _are_one_album(happening: Happening, other: Happening) -> bool:
    are_posted = happening.act is Act.POST and other.act is Act.POST
    return (
        are_posted
        and happening.post.parts > 1
        and happening.post.key - happening.post.part == other.post.key - other.post.part
    )
