"""Rebuilds vectors, on request or because posts have none yet, and reports their state."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.understanding.policy import Urgency
from telegram_assistant.features.operations.rebuilding import rebuild
from telegram_assistant.stores.postgres.pipeline.rebuilds import Projection, Rebuilds
from telegram_assistant.stores.postgres.posts.post_states import PostStates
from telegram_assistant.supervision import sleep_unless
from telegram_assistant.telemetry.health import Health, State
from telegram_assistant.vectors.index import VectorIndex
from telegram_assistant.vectors.protocol import Space, generation_of, space_in

AT_ONCE = 200
LOOK_EVERY_SECONDS = 5.0
PART = "vectors"


async def rebuild_vectors(
    *,
    index: VectorIndex,
    states: PostStates,
    rebuilds: Rebuilds,
    model: str,
    owner: str,
    stopping: asyncio.Event,
    batch_size: int = AT_ONCE,
) -> bool:
    """Rebuilds the vectors of all posts with the model in force."""
    work = _Vectors(index, states, model, batch_size)
    return await rebuild(
        Projection.VECTORS, work, states=states, rebuilds=rebuilds, owner=owner, stopping=stopping
    )


@dataclass(frozen=True, slots=True)
class _Vectors:
    """Writes into a new collection.

    An empty target means that the model has no collection yet: the first write creates it, in use at once.
    """

    index: VectorIndex
    states: PostStates
    model: str
    batch: int

    async def has(self, target: str) -> bool:
        return target in {"", *await self.index.vectors.collections()}

    async def prepare(self) -> str:
        collections = await self.index.vectors.collections()
        for unfinished_name in (name for name, space_name in collections.items() if space_name is None):
            await self.index.vectors.drop(unfinished_name)  # an unfinished rebuild left it
        space = _space_in_force(collections, self.model)
        if space is None:
            return ""
        target = space.collection(1 + max(generation_of(name) for name in collections if space.holds(name)))
        await self.index.vectors.create(space, target)
        return target

    async def after(self, last_post_id: PostId | None) -> Sequence[PostId]:
        return await self.states.after(last_post_id, limit=self.batch)

    async def write(self, post_ids: Sequence[PostId], target: str) -> None:
        await self.index.write(post_ids, into=target or None, urgency=Urgency.BACKFILL)

    async def switch(self, target: str) -> None:
        """Switches, then deletes all other collections, those of other models too."""
        collections = await self.index.vectors.collections()
        space = _space_in_force(collections, self.model)
        if space is None:
            return
        if target:
            await self.index.vectors.switch(space, target)
        for other in collections:
            if other != target and (target or not space.holds(other)):
                await self.index.vectors.drop(other)


def _space_in_force(collections: Mapping[str, str | None], model: str) -> Space | None:
    spaces = (space_in(name, model) for name, space_name in collections.items() if space_name is not None)
    return next((space for space in spaces if space is not None), None)


async def keep_vectors(
    stopping: asyncio.Event,
    *,
    index: VectorIndex | None,
    states: PostStates,
    rebuilds: Rebuilds,
    model: str,
    owner: str,
    fills_gaps: bool,
) -> None:
    """Runs requested rebuilds. With `fills_gaps`, it also makes vectors for posts that were stored while
    vectors were off.

    A worker without vectors deletes the record that they were complete, so the next worker with vectors fills
    them.
    """
    if index is None:
        await rebuilds.forget(Projection.VECTORS)
        await stopping.wait()
        return
    while not stopping.is_set():
        if fills_gaps and await rebuilds.look(Projection.VECTORS) is None:
            await rebuilds.want(Projection.VECTORS)
        await rebuild_vectors(
            index=index, states=states, rebuilds=rebuilds, model=model, owner=owner, stopping=stopping
        )
        await sleep_unless(stopping, LOOK_EVERY_SECONDS)


async def report_vectors(
    stopping: asyncio.Event, *, index: VectorIndex | None, rebuilds: Rebuilds, model: str, health: Health
) -> None:
    """Reports the state of the vectors to health, also during a rebuild."""
    if index is None:
        health.report(PART, State.OK, used="off")
        await stopping.wait()
        return
    while not stopping.is_set():
        names = [name for name, space in (await index.vectors.collections()).items() if space is not None]
        point_count = sum([await index.vectors.count(name) for name in names])
        last_rebuild = await rebuilds.look(Projection.VECTORS)
        health.report(
            PART,
            State.OK,
            ""
            if last_rebuild and last_rebuild.completed_at
            else "some posts have no vector yet; `tga rebuild vectors` makes them",
            used=index.vectors.where,
            model=model,
            points=point_count,
            is_being_rebuilt=last_rebuild is not None and last_rebuild.finished_at is None,
            posts_done=last_rebuild.done if last_rebuild else 0,
        )
        await sleep_unless(stopping, LOOK_EVERY_SECONDS)
