"""The sentence model that the demo searches with, and what it says without one."""

from pathlib import Path

from telegram_assistant.ai.local.models import DEFAULT_MODEL, ModelCard, folder_of, write_card
from telegram_assistant.demo.meaning import DemoModel, find_model
from telegram_assistant.reasons import Reason


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
