"""Making the graph anew from PostgreSQL while questions go on, by request or because it has missed something."""

import asyncio
from datetime import UTC, datetime, time, timedelta

from telegram_assistant.domain.spreading import oldest_day
from telegram_assistant.errors import AssistantError, Busy
from telegram_assistant.graph.index import GraphIndex
from telegram_assistant.graph.store import Generations
from telegram_assistant.stores.postgres.outbox import Outbox
from telegram_assistant.stores.postgres.post_states import PostStates
from telegram_assistant.stores.postgres.rebuilds import Projection, Rebuild, Rebuilds
from telegram_assistant.supervision import sleep_unless
from telegram_assistant.telemetry.health import Health, State
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()

AT_ONCE = 500
LEASE = timedelta(seconds=120)
LOOK_EVERY_SECONDS = 5.0
PART = "graph"


async def rebuild_graph(
    *, index: GraphIndex, states: PostStates, rebuilds: Rebuilds, outbox: Outbox, owner: str, stopping: asyncio.Event, batch: int = AT_ONCE
) -> bool:
    """Do what is wanted, or go on where another process died. False: nothing was wanted, or it is not finished yet.

    The new generation is filled beside the one that answers; what is stored meanwhile goes into both.
    """
    claimed = await rebuilds.claim(Projection.GRAPH, owner=owner, lease=LEASE)
    if claimed is None:
        return False
    try:
        target = await _target(claimed, index=index, states=states, rebuilds=rebuilds, outbox=outbox, owner=owner)
        is_done = await _fill(target, claimed, index=index, states=states, rebuilds=rebuilds, owner=owner, stopping=stopping, batch=batch)
        if is_done:
            await index.graph.switch(target)
            await rebuilds.finish(Projection.GRAPH, owner=owner)
            log.info("graph_rebuilt", generation=target)
    except BaseException as error:
        await rebuilds.release(Projection.GRAPH, owner=owner, error=str(error) if isinstance(error, AssistantError) else type(error).__name__)
        raise
    if not is_done:
        await rebuilds.release(Projection.GRAPH, owner=owner)
    return is_done


async def _target(claimed: Rebuild, *, index: GraphIndex, states: PostStates, rebuilds: Rebuilds, outbox: Outbox, owner: str) -> int:
    building = (await index.graph.generations()).building
    if building is not None and claimed.target == str(building):
        return building
    target = await index.graph.begin((await outbox.known_epoch())[0])
    await rebuilds.begin(Projection.GRAPH, owner=owner, target=str(target), total=await states.about_how_many())
    return target


async def _fill(
    target: int, claimed: Rebuild, *, index: GraphIndex, states: PostStates, rebuilds: Rebuilds, owner: str, stopping: asyncio.Event, batch: int
) -> bool:
    last = claimed.last if claimed.target == str(target) else None
    while not stopping.is_set():
        now = datetime.now(UTC)
        posts = await states.after_since(last, since=datetime.combine(oldest_day(now), time.min, UTC), limit=batch)
        if not posts:
            return True
        await index.write(posts, now=now, into=target)
        last = posts[-1]
        if not await rebuilds.note(Projection.GRAPH, owner=owner, last=last, done=len(posts), lease=LEASE):
            return False
    return False


async def keep_graph(
    stopping: asyncio.Event, *, index: GraphIndex | None, states: PostStates, rebuilds: Rebuilds, outbox: Outbox, owner: str, health: Health
) -> None:
    """Do what people ask to be made anew, and what nobody must ask for: see `_want_what_is_missing`.

    Who runs without a graph forgets that it was ever complete, so whoever turns it on again makes it anew.
    """
    if index is None:
        await rebuilds.forget(Projection.GRAPH)
        health.report(PART, State.OK, used="off")
        await stopping.wait()
        return
    while not stopping.is_set():
        try:
            known = await _want_what_is_missing(index=index, rebuilds=rebuilds, outbox=outbox)
            health.report(PART, State.OK, used="neo4j", is_filled=known.shown is not None, is_being_rebuilt=known.building is not None)
            await rebuild_graph(index=index, states=states, rebuilds=rebuilds, outbox=outbox, owner=owner, stopping=stopping)
        except Busy as busy:
            health.report(PART, State.FAILING, str(busy), used="neo4j")
        await sleep_unless(stopping, LOOK_EVERY_SECONDS)


async def _want_what_is_missing(*, index: GraphIndex, rebuilds: Rebuilds, outbox: Outbox) -> Generations:
    """A graph that was off or away for too long answers nothing until it is made anew; one that Redis may have kept something from goes on."""
    known = await index.graph.generations()
    is_known = await rebuilds.look(Projection.GRAPH) is not None
    if not is_known:
        await index.graph.hide()
    if not is_known or known.shown is None or known.epoch != (await outbox.known_epoch())[0]:
        await rebuilds.want(Projection.GRAPH)
    return known
