"""Opens the graph: NEO4J_URI turns it on, and only then its library is loaded."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module

from telegram_assistant.domain.operations.diagnosis import Finding, off
from telegram_assistant.graph.store import Graph
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import GraphSettings

SERVER = "telegram_assistant.graph.server"


@asynccontextmanager
async def open_graph(settings: GraphSettings, *, name: str) -> AsyncIterator[Graph | None]:
    """The graph; None if it is off.

    Raises CannotStart if the address is invalid; an unavailable server does not prevent the start.
    """
    if not settings.uri:
        yield None
        return
    server = import_module(SERVER).Neo4jServer(settings)
    try:
        yield Graph(server, name=name)
    finally:
        await server.close()


def name_of(database: str) -> str:
    """The graph's name: that of the database it is a projection of, so several graphs can share a server."""
    return re.sub(r"\W+", "_", database, flags=re.ASCII).strip("_").capitalize() or "Graph"


async def examine(settings: GraphSettings) -> list[Finding]:
    """Checks the server."""
    if not settings.uri:
        return [off("neo4j", Reason("graph_is_off", "NEO4J_URI is empty: the graph is off"))]
    return [await import_module(SERVER).examine(settings)]
