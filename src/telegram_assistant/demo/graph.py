"""The demo's graph on the Neo4j server that NEO4J_URI names: its labels begin with the name of the demo's
database, so nothing else on the server is touched, and they are deleted with the demo.
"""

from collections.abc import Mapping

from telegram_assistant.demo.folder import DemoFolder, update_state
from telegram_assistant.demo.servers import read_server_settings
from telegram_assistant.errors import Busy, CannotStart
from telegram_assistant.graph.opening import name_of, open_graph
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import GraphSettings


async def choose_graph(folder: DemoFolder, environ: Mapping[str, str]) -> GraphSettings | Reason:
    """The server, if one is named; the reason for people if it does not answer.

    From now on the folder remembers that the server holds a part of the demo.
    """
    settings = read_server_settings(GraphSettings, environ)
    try:
        async with open_graph(settings, name=name_of(folder.state.database)) as graph:
            if graph is not None:
                await graph.generations()
                update_state(folder.path, has_graph=True)
    except Busy as error:
        return Reason(
            "demo_without_graph",
            "The demo does not show similar channels, because the server of NEO4J_URI cannot be used: {why}",
            why=error.reason,
        )
    return settings


def graph_variables(settings: GraphSettings) -> dict[str, str]:
    """Settings of the program."""
    if not settings.uri:
        return {}
    return {
        "NEO4J_URI": settings.uri,
        "NEO4J_USER": settings.user,
        "NEO4J_PASSWORD": settings.password.get_secret_value(),
    }


async def forget_graph(folder: DemoFolder, environ: Mapping[str, str]) -> None:
    """Deletes the demo's part of the server. Raises CannotStart if there is one, and the server is away."""
    if not folder.state.has_graph:
        return
    try:
        async with open_graph(
            read_server_settings(GraphSettings, environ), name=name_of(folder.state.database)
        ) as graph:
            if graph is None:
                raise CannotStart(
                    Reason("demo_on_given_graph", "this demo has a graph on an external Neo4j server"),
                    remedy=Reason("set_given_graph", "Set NEO4J_URI to the value used when it was created"),
                )
            await graph.erase()
    except Busy as error:
        raise CannotStart(
            error.reason,
            remedy=Reason("start_given_graph", "Start the server of NEO4J_URI, then remove the demo again"),
        ) from error
