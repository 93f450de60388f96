"""graph_indexing: who forwards whom, links where, speaks of whom. posts.indexed -> the graph, nothing told. Search never waits for it."""

from datetime import UTC, datetime

from telegram_assistant.errors import Busy
from telegram_assistant.events import PostIndexed
from telegram_assistant.graph.index import GraphIndex
from telegram_assistant.stores.postgres.delivery.rebuilds import Projection, Rebuilds
from telegram_assistant.streams.stage import stage

PATIENCE_SECONDS = 1800.0
"""So long posts wait in Redis for a graph that is away."""


@stage(consumes=PostIndexed, batch=200, concurrency=1, timeout_seconds=120, may_lag=True)
async def graph_indexing(events: list[PostIndexed], *, graph_index: GraphIndex, rebuilds: Rebuilds) -> None:
    """Whatever the events say, posts are written as they are now.

    After half an hour without an answer they pass, and it is noted that the graph must be made anew: Redis is not filled for it.
    """
    try:
        await graph_index.write([event.post for event in events], now=datetime.now(UTC))
    except Busy:
        if graph_index.away_seconds() < PATIENCE_SECONDS:
            raise
        await rebuilds.forget(Projection.GRAPH)
