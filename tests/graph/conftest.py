"""A graph of this test process's own, on the server that all share; posts go in through the stores,
as in the program.
"""

from collections.abc import AsyncIterator

import pytest

from telegram_assistant.graph.index import GraphIndex
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.graphs import opened_graph


@pytest.fixture(scope="session")
async def graph_index(
    environ: dict[str, str], system: SystemStores, worker: str
) -> AsyncIterator[GraphIndex]:
    async with opened_graph(environ, name=f"Test_{worker}") as graph:
        await graph.switch(await graph.begin())
        yield GraphIndex(graph, states=system.post_states)
