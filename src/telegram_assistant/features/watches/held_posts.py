"""Lets alerts go on without stories: posts that the stage `stories` has held for two minutes are matched as
they are.

It holds them because it is stopped, broken or far behind, or because it has made them dead letters. Their
stories may then be told twice.
"""

import asyncio
from dataclasses import dataclass

from telegram_assistant.domain.branch import Branch
from telegram_assistant.errors import Busy
from telegram_assistant.stores.postgres.pipeline.outbox import Outbox
from telegram_assistant.supervision import sleep_unless
from telegram_assistant.telemetry.health import Health
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()

HELD_SECONDS = 120.0
"""Longer than it takes until another process has taken over what a lost one held, on a busy machine, too."""
LOOK_SECONDS = 10.0
SUSPENDED_SECONDS = 20.0
"""A pause that took so much longer than it should says that the process did not run."""
AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class HeldBranches:
    """The branches of the pipeline that decide whether a post is held."""

    ended: Branch
    """It has ended before a post counts as held."""
    held_by: Branch
    waiting: Branch


async def keep_releasing(
    stopping: asyncio.Event,
    *,
    outbox: Outbox,
    branches: HeldBranches,
    health: Health,
    held_seconds: float = HELD_SECONDS,
    look_seconds: float = LOOK_SECONDS,
) -> None:
    """Looks for held posts until `stopping` is set.

    The time during which this process did not run, or a server did not answer, does not count: the stage
    could not work either.
    """
    clock = asyncio.get_running_loop().time
    able_since = clock()
    while not stopping.is_set():
        looked_at = clock()
        await sleep_unless(stopping, look_seconds)
        was_suspended = clock() - looked_at > look_seconds + SUSPENDED_SECONDS
        if was_suspended or await health.unavailable_servers():
            able_since = clock()
        elif clock() - able_since >= held_seconds:
            try:
                await _release(outbox, branches, held_seconds)
            except Busy:
                able_since = clock()


async def _release(outbox: Outbox, branches: HeldBranches, held_seconds: float) -> None:
    post_count, count = 0, AT_ONCE
    while count == AT_ONCE:
        count = await outbox.release_held(
            ended_branch=branches.ended,
            held_by=branches.held_by,
            waiting=branches.waiting,
            held_seconds=held_seconds,
            limit=AT_ONCE,
        )
        post_count += count
    if post_count:
        log.warning(
            "posts_matched_without_stories",
            posts=post_count,
            why=f"the stage stories has held them for {held_seconds:g} s",
        )
