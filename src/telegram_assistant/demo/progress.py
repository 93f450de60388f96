"""The steps of a start, and how they are reported."""

from collections.abc import Coroutine
from enum import StrEnum
from typing import Protocol


class DemoStep(StrEnum):
    """A step of the start, in the order in which they are shown. The first two run at the same time."""

    SERVERS = "servers"
    SIMULATOR = "simulator"
    SCHEMA = "schema"
    ACCOUNTS = "accounts"
    CHANNELS = "channels"
    POSTS = "first posts"
    STORIES = "first story"


class DemoProgress(Protocol):
    """Shows the steps: on a terminal as a list that changes, elsewhere as lines."""

    def begin(self, step: DemoStep) -> None: ...
    def finish(self, step: DemoStep) -> None: ...


async def report[T](progress: DemoProgress, step: DemoStep, work: Coroutine[None, None, T]) -> T:
    """Does the work of a step and shows that it begins and ends."""
    progress.begin(step)
    result = await work
    progress.finish(step)
    return result
