"""Rebuilds the graph from PostgreSQL while queries continue,
on request or because it may have missed posts.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time

from telegram_assistant.domain.graph.graph_facts import oldest_day
from telegram_assistant.domain.ids import PostId
from telegram_assistant.errors import Busy
from telegram_assistant.features.operations.rebuilding import rebuild
from telegram_assistant.graph.index import GraphIndex
from telegram_assistant.graph.store import Generations
from telegram_assistant.stores.postgres.pipeline.outbox import Outbox
from telegram_assistant.stores.postgres.pipeline.rebuilds import Projection, Rebuilds
from telegram_assistant.stores.postgres.posts.post_states import PostStates
from telegram_assistant.supervision import sleep_unless
from telegram_assistant.telemetry.health import Health, State

AT_ONCE = 500
LOOK_EVERY_SECONDS = 5.0
PART = "graph"


async def rebuild_graph(
    *,
    index: GraphIndex,
    states: PostStates,
    rebuilds: Rebuilds,
    outbox: Outbox,
    owner: str,
    stopping: asyncio.Event,
    batch_size: int = AT_ONCE,
) -> bool:
    """Rebuilds the graph from the posts of the last 90 days."""
    generation = _Generation(index, states, outbox, batch_size)
    return await rebuild(
        Projection.GRAPH, generation, states=states, rebuilds=rebuilds, owner=owner, stopping=stopping
    )


@dataclass(frozen=True, slots=True)
class _Generation:
    """A new generation, filled beside the one that answers queries."""

    index: GraphIndex
    states: PostStates
    outbox: Outbox
    batch: int

    async def has(self, target: str) -> bool:
        return target == str((await self.index.graph.generations()).building)

    async def prepare(self) -> str:
        return str(await self.index.graph.begin((await self.outbox.load_known_epoch())[0]))

    async def after(self, last_post_id: PostId | None) -> Sequence[PostId]:
        return await self.states.after_since(
            last_post_id,
            since=datetime.combine(oldest_day(datetime.now(UTC)), time.min, UTC),
            limit=self.batch,
        )

    async def write(self, post_ids: Sequence[PostId], target: str) -> None:
        await self.index.write(post_ids, now=datetime.now(UTC), into=int(target))

    async def switch(self, target: str) -> None:
        await self.index.graph.switch(int(target))


async def keep_graph(
    stopping: asyncio.Event,
    *,
    index: GraphIndex | None,
    states: PostStates,
    rebuilds: Rebuilds,
    outbox: Outbox,
    owner: str,
    health: Health,
) -> None:
    """Runs requested rebuilds, and requests those that are needed: see `_request_needed_rebuild`.

    A worker without a graph deletes the record that it was complete, so the graph is rebuilt when it is
    turned on again.
    """
    if index is None:
        await rebuilds.forget(Projection.GRAPH)
        health.report(PART, State.OK, used="off")
        await stopping.wait()
        return
    while not stopping.is_set():
        try:
            generations = await _request_needed_rebuild(index=index, rebuilds=rebuilds, outbox=outbox)
            health.report(
                PART,
                State.OK,
                used="neo4j",
                is_filled=generations.answering is not None,
                is_being_rebuilt=generations.building is not None,
            )
            await rebuild_graph(
                index=index, states=states, rebuilds=rebuilds, outbox=outbox, owner=owner, stopping=stopping
            )
        except Busy as busy:
            health.report(PART, State.FAILING, str(busy), used="neo4j")
        await sleep_unless(stopping, LOOK_EVERY_SECONDS)


async def _request_needed_rebuild(*, index: GraphIndex, rebuilds: Rebuilds, outbox: Outbox) -> Generations:
    """A graph that was off or unavailable for too long is hidden until it is rebuilt.

    One that may have missed events after a loss of Redis stays.
    """
    generations = await index.graph.generations()
    is_known = await rebuilds.look(Projection.GRAPH) is not None
    if not is_known:
        await index.graph.hide()
    if (
        not is_known
        or generations.answering is None
        or generations.epoch != (await outbox.load_known_epoch())[0]
    ):
        await rebuilds.want(Projection.GRAPH)
    return generations
