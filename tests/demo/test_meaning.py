"""Search by meaning in the demo: the process with the worker has the vectors, and the api asks it."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from telegram_assistant.ai.local.models import DEFAULT_MODEL, ModelCard, folder_of, write_card
from telegram_assistant.demo.meaning import DemoModel, find_model
from telegram_assistant.reasons import Reason
from testkit.demos import OpenApi, running_demo
from testkit.engines import Engine, free_port, running_engine
from testkit.models import MINILM, package_models

QUESTION = "/search?limit=50&q=scientists+observe+distant+worlds"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with running_engine("redis", tmp_path / "redis") as running:
        yield running


def install_model(models: Path, name: str) -> None:
    folder = folder_of(models, name)
    folder.mkdir(parents=True)
    write_card(folder, ModelCard(name=name))


def test_the_model_of_the_environment_comes_first_then_the_usual_one_then_any(tmp_path: Path) -> None:
    environ = {"MODELS_DIR": str(tmp_path)}
    install_model(tmp_path, "our/tiny")
    assert find_model(environ) == DemoModel("our/tiny", tmp_path)
    install_model(tmp_path, DEFAULT_MODEL)
    assert find_model(environ) == DemoModel(DEFAULT_MODEL, tmp_path)
    assert find_model({**environ, "AI_EMBEDDINGS_MODEL": "our/tiny"}) == DemoModel("our/tiny", tmp_path)
    assert find_model({**environ, "AI_EMBEDDINGS_MODEL": "our/other"}) == DemoModel(DEFAULT_MODEL, tmp_path)


def test_without_a_model_the_demo_names_the_command_that_fetches_one(tmp_path: Path) -> None:
    reason = find_model({"MODELS_DIR": str(tmp_path)})
    assert isinstance(reason, Reason)
    assert f"{tmp_path} has no sentence model" in str(reason)
    assert "`tga models pull`" in str(reason)


def until_found_by_meaning(api: OpenApi) -> None:
    """Waits for a post that has no word of the question."""
    deadline = time.monotonic() + 120
    while not any(post["by_meaning"] and not post["by_words"] for post in api.get(QUESTION)["items"]):
        assert time.monotonic() < deadline, "no post is found by meaning"
        time.sleep(0.5)


@pytest.mark.serial
@pytest.mark.long
def test_the_page_finds_posts_by_meaning_with_the_vectors_of_the_worker(
    environ: dict[str, str], engine: Engine, tmp_path: Path
) -> None:
    folder, models = tmp_path / "demo", package_models(tmp_path / "models")
    given = {**environ, "REDIS_URL": engine.url, "MODELS_DIR": str(models), "NEO4J_URI": ""}
    with running_demo(folder, given, "--port", str(free_port())) as demo:
        until_found_by_meaning(demo.until_open())
        assert f"Search also finds posts by meaning ({MINILM})." in demo.output
        assert (folder / "vectors" / "search.sock").is_socket()
        assert demo.stop() == 0
    with running_demo(folder, given, "--remove") as removal:
        assert removal.process.wait(60) == 0
    assert not folder.exists()
