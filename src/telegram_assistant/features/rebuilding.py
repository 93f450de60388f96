"""Making an index anew from PostgreSQL, while searches go on with the one that is there."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta

from telegram_assistant.domain.understanding import Urgency
from telegram_assistant.errors import AssistantError
from telegram_assistant.stores.postgres.post_states import PostStates
from telegram_assistant.stores.postgres.rebuilds import Projection, Rebuild, Rebuilds
from telegram_assistant.supervision import sleep_unless
from telegram_assistant.telemetry.health import Health, State
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.vectors.index import Index
from telegram_assistant.vectors.protocol import Space, generation_of, space_in

log = get_logger()

AT_ONCE = 200
LEASE = timedelta(seconds=120)
LOOK_EVERY_SECONDS = 5.0
PART = "vectors"


async def rebuild_vectors(
    *, index: Index, states: PostStates, rebuilds: Rebuilds, model: str, owner: str, stopping: asyncio.Event, batch: int = AT_ONCE
) -> bool:
    """Do what is wanted, or go on where another process died. False: nothing was wanted, or it is not finished yet.

    Whatever is stored meanwhile goes into both collections; what was read before and written after it is noticed and mended.
    """
    claimed = await rebuilds.claim(Projection.VECTORS, owner=owner, lease=LEASE)
    if claimed is None:
        return False
    try:
        target = await _target(claimed, index=index, states=states, rebuilds=rebuilds, model=model, owner=owner)
        is_done = await _fill(target, claimed, index=index, states=states, rebuilds=rebuilds, owner=owner, stopping=stopping, batch=batch)
        if is_done:
            await _switch(target, index=index, model=model)
            await rebuilds.finish(Projection.VECTORS, owner=owner)
            log.info("vectors_rebuilt", collection=target)
    except BaseException as error:
        await rebuilds.release(Projection.VECTORS, owner=owner, error=str(error) if isinstance(error, AssistantError) else type(error).__name__)
        raise
    if not is_done:
        await rebuilds.release(Projection.VECTORS, owner=owner)
    return is_done


async def _target(claimed: Rebuild, *, index: Index, states: PostStates, rebuilds: Rebuilds, model: str, owner: str) -> str:
    """The collection to fill. Empty: there is none of this model yet, so posts make the first one, and it is seen at once."""
    collections = await index.vectors.collections()
    if claimed.last is not None and claimed.target in {"", *collections}:
        return claimed.target
    for left in (name for name, shown in collections.items() if shown is None):
        await index.vectors.drop(left)  # somebody began to fill it and gave up
    space = _space_in_force(collections, model)
    target = ""
    if space is not None:
        target = space.collection(1 + max(generation_of(name) for name in collections if space.holds(name)))
        await index.vectors.create(space, target)
    await rebuilds.begin(Projection.VECTORS, owner=owner, target=target, total=await states.about_how_many())
    return target


async def _fill(
    target: str, claimed: Rebuild, *, index: Index, states: PostStates, rebuilds: Rebuilds, owner: str, stopping: asyncio.Event, batch: int
) -> bool:
    last = claimed.last if target == claimed.target else None
    while not stopping.is_set():
        posts = await states.after(last, limit=batch)
        if not posts:
            return True
        await index.write(posts, into=target or None, urgency=Urgency.BACKFILL)
        last = posts[-1]
        if not await rebuilds.note(Projection.VECTORS, owner=owner, last=last, done=len(posts), lease=LEASE):
            return False
    return False


async def _switch(target: str, *, index: Index, model: str) -> None:
    """Searches see the new collection from one moment to the next; then all others go, those of other models too."""
    collections = await index.vectors.collections()
    space = _space_in_force(collections, model)
    if space is None:
        return
    if target:
        await index.vectors.switch(space, target)
    for other in collections:
        if other != target and (target or not space.holds(other)):
            await index.vectors.drop(other)


def _space_in_force(collections: Mapping[str, str | None], model: str) -> Space | None:
    spaces = (space_in(name, model) for name, shown in collections.items() if shown is not None)
    return next((space for space in spaces if space is not None), None)


async def keep_vectors(
    stopping: asyncio.Event, *, index: Index | None, states: PostStates, rebuilds: Rebuilds, model: str, owner: str, health: Health
) -> None:
    """Do what people ask to be made anew, and tell how the vectors are."""
    if index is None:
        health.report(PART, State.OK, used="off")
        await stopping.wait()
        return
    while not stopping.is_set():
        collections = await index.vectors.collections()
        shown = [name for name, space in collections.items() if space is not None]
        points = sum([await index.vectors.count(name) for name in shown])
        health.report(PART, State.OK, used=index.vectors.where, model=model, points=points, is_being_rebuilt=len(shown) < len(collections))
        await rebuild_vectors(index=index, states=states, rebuilds=rebuilds, model=model, owner=owner, stopping=stopping)
        await sleep_unless(stopping, LOOK_EVERY_SECONDS)
