"""Rebuilds an index from PostgreSQL while searches use the existing one.

The procedure is the same for every index.
"""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from telegram_assistant.domain.ids import PostId
from telegram_assistant.errors import AssistantError
from telegram_assistant.stores.postgres.pipeline.rebuilds import Projection, Rebuild, Rebuilds
from telegram_assistant.stores.postgres.posts.post_states import PostStates
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()

LEASE = timedelta(seconds=120)


class ProjectionRebuild(Protocol):
    """The steps of rebuilding one projection."""

    async def has(self, target: str) -> bool:
        """Whether this unfinished target still exists."""
        ...

    async def prepare(self) -> str:
        """Creates a target and deletes unfinished ones.

        Returns an empty string if the target is the index in use.
        """
        ...

    async def after(self, last_post_id: PostId | None) -> Sequence[PostId]:
        """Returns the next posts; none at the end."""
        ...

    async def write(self, post_ids: Sequence[PostId], target: str) -> None: ...

    async def switch(self, target: str) -> None:
        """Makes the target the one that queries use, atomically."""
        ...


async def rebuild(
    projection: Projection,
    work: ProjectionRebuild,
    *,
    states: PostStates,
    rebuilds: Rebuilds,
    owner: str,
    stopping: asyncio.Event,
) -> bool:
    """Runs a requested rebuild, or continues that of a process that died. Returns False if none was requested
    or it is not finished.

    Posts stored meanwhile are written to both indexes. If a rebuild writes an outdated state over a newer
    one, this is detected and repaired.
    """
    claimed_run = await rebuilds.claim(projection, owner=owner, lease=LEASE)
    if claimed_run is None:
        return False
    try:
        target, last_post_id = claimed_run.target, claimed_run.last
        if last_post_id is None or not await work.has(target):
            target, last_post_id = await work.prepare(), None
            await rebuilds.begin(projection, owner=owner, target=target, total=await states.estimate_count())
        is_done = await _fill(
            projection, work, target, last_post_id, rebuilds=rebuilds, owner=owner, stopping=stopping
        )
        if is_done:
            await work.switch(target)
            await rebuilds.finish(projection, owner=owner)
            log.info("index_rebuilt", projection=projection.value, target=target)
    except BaseException as error:
        await rebuilds.release(
            projection,
            owner=owner,
            error=str(error) if isinstance(error, AssistantError) else type(error).__name__,
        )
        raise
    if not is_done:
        await rebuilds.release(projection, owner=owner)
    return is_done


async def _fill(
    projection: Projection,
    work: ProjectionRebuild,
    target: str,
    last_post_id: PostId | None,
    *,
    rebuilds: Rebuilds,
    owner: str,
    stopping: asyncio.Event,
) -> bool:
    while not stopping.is_set():
        post_ids = await work.after(last_post_id)
        if not post_ids:
            return True
        await work.write(post_ids, target)
        last_post_id = post_ids[-1]
        if not await rebuilds.note(
            projection, owner=owner, last_post_id=last_post_id, post_count=len(post_ids), lease=LEASE
        ):
            return False
    return False


async def request_rebuild(projection: Projection, *, rebuilds: Rebuilds) -> None:
    await rebuilds.want(projection)


async def rebuild_status(projection: Projection, *, rebuilds: Rebuilds) -> Rebuild:
    """The progress of a rebuild that was requested."""
    status = await rebuilds.look(projection)
    assert status is not None  # it was requested
    return status
