"""The demo's graph on a given Neo4j server: used if it answers, and never left behind."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from telegram_assistant.demo.folder import DemoFolder, existing_folder, open_folder
from telegram_assistant.demo.graph import choose_graph, forget_graph, graph_variables
from telegram_assistant.errors import CannotStart
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import GraphSettings

AWAY = {"NEO4J_URI": "bolt://127.0.0.1:1"}


@contextmanager
def made_folder(place: Path) -> Iterator[DemoFolder]:
    with open_folder(place, seed=None, has_own_servers=False, web_port=1) as folder:
        yield folder


async def test_without_a_server_the_demo_has_no_graph(tmp_path: Path) -> None:
    with made_folder(tmp_path / "demo") as folder:
        settings = await choose_graph(folder, {})
        assert isinstance(settings, GraphSettings)
        assert graph_variables(settings) == {}
        await forget_graph(folder, {})


async def test_a_server_that_is_away_keeps_no_demo_from_starting_or_ending(tmp_path: Path) -> None:
    with made_folder(tmp_path / "demo") as folder:
        reason = await choose_graph(folder, AWAY)
        assert isinstance(reason, Reason)
        assert "does not show similar channels" in str(reason)
    with existing_folder(tmp_path / "demo") as again:
        assert again is not None
        await forget_graph(again, {})


async def test_a_graph_is_forgotten_only_on_its_server(environ: dict[str, str], tmp_path: Path) -> None:
    with made_folder(tmp_path / "demo") as folder:
        settings = await choose_graph(folder, environ)
        assert isinstance(settings, GraphSettings)
        assert graph_variables(settings)["NEO4J_URI"] == environ["NEO4J_URI"]
    with existing_folder(tmp_path / "demo") as again:
        assert again is not None
        with pytest.raises(CannotStart, match="external Neo4j server"):
            await forget_graph(again, {})
        with pytest.raises(CannotStart, match="Neo4j does not answer"):
            await forget_graph(again, AWAY)
        await forget_graph(again, environ)
