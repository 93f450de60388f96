"""graph_indexing: writes forwards, links and names to the graph. posts.indexed -> the graph; emits nothing.

Search never waits for it.
"""

from datetime import UTC, datetime

from telegram_assistant.errors import Busy
from telegram_assistant.events import PostIndexed
from telegram_assistant.graph.index import GraphIndex
from telegram_assistant.stores.postgres.pipeline.rebuilds import Projection, Rebuilds
from telegram_assistant.streams.stage import stage

PATIENCE_SECONDS = 1800.0
"""How long posts wait in Redis while the graph is unavailable."""


@stage(consumes=PostIndexed, batch=200, concurrency=1, timeout_seconds=120, may_lag=True)
async def graph_indexing(events: list[PostIndexed], *, graph_index: GraphIndex, rebuilds: Rebuilds) -> None:
    """Writes the current state of each post, not the state at the time of the event.

    After half an hour without the graph, posts are skipped and a rebuild of the graph is requested, so that
    Redis does not fill up.
    """
    try:
        await graph_index.write([event.post for event in events], now=datetime.now(UTC))
    except Busy:
        if graph_index.away_seconds() < PATIENCE_SECONDS:
            raise
        await rebuilds.forget(Projection.GRAPH)
