"""Making an index anew from PostgreSQL, while searches go on with the one that is there: the same for every index."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from telegram_assistant.domain.ids import PostId
from telegram_assistant.errors import AssistantError
from telegram_assistant.stores.postgres.delivery.rebuilds import Projection, Rebuilds
from telegram_assistant.stores.postgres.posts.post_states import PostStates
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()

LEASE = timedelta(seconds=120)


class ProjectionRebuild(Protocol):
    """How one projection is made anew."""

    async def has(self, target: str) -> bool:
        """Whether what somebody began to fill is still there."""
        ...

    async def prepare(self) -> str:
        """Something new to fill; what was begun before and never used goes. Empty: what is in use."""
        ...

    async def after(self, last: PostId | None) -> Sequence[PostId]:
        """The posts that come next; none: that was all."""
        ...

    async def write(self, posts: Sequence[PostId], target: str) -> None: ...

    async def switch(self, target: str) -> None:
        """Whoever asks sees it from one moment to the next."""
        ...


async def rebuild(
    projection: Projection, work: ProjectionRebuild, *, states: PostStates, rebuilds: Rebuilds, owner: str, stopping: asyncio.Event
) -> bool:
    """Do what is wanted, or go on where another process died. False: nothing was wanted, or it is not finished yet.

    Whatever is stored meanwhile goes into both; what was read before and written after it is noticed and mended.
    """
    claimed = await rebuilds.claim(projection, owner=owner, lease=LEASE)
    if claimed is None:
        return False
    try:
        target, last = claimed.target, claimed.last
        if last is None or not await work.has(target):
            target, last = await work.prepare(), None
            await rebuilds.begin(projection, owner=owner, target=target, total=await states.estimate_count())
        is_done = await _fill(projection, work, target, last, rebuilds=rebuilds, owner=owner, stopping=stopping)
        if is_done:
            await work.switch(target)
            await rebuilds.finish(projection, owner=owner)
            log.info("rebuilt", projection=projection.value, target=target)
    except BaseException as error:
        await rebuilds.release(projection, owner=owner, error=str(error) if isinstance(error, AssistantError) else type(error).__name__)
        raise
    if not is_done:
        await rebuilds.release(projection, owner=owner)
    return is_done


async def _fill(
    projection: Projection, work: ProjectionRebuild, target: str, last: PostId | None, *, rebuilds: Rebuilds, owner: str, stopping: asyncio.Event
) -> bool:
    while not stopping.is_set():
        posts = await work.after(last)
        if not posts:
            return True
        await work.write(posts, target)
        last = posts[-1]
        if not await rebuilds.note(projection, owner=owner, last=last, done=len(posts), lease=LEASE):
            return False
    return False
