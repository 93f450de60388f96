"""`tga models try`: figures of a model on this machine, and of one on a server of the operator."""

import asyncio
import json
from pathlib import Path

from typer.testing import CliRunner

from telegram_assistant.ai.local.models import ModelCard, folder_of, write_card
from telegram_assistant.cli import app
from testkit.provider_server import fake_server
from testkit.tiny_models import DIMENSIONS, write_tiny_model

TRIED = ["models", "try", "--json", "--pairs"]


def write_pairs(folder: Path, *judged: tuple[str, str, bool]) -> str:
    file = folder / "pairs.jsonl"
    rows = [{"a": {"text": a}, "b": {"text": b}, "same_story": is_same} for a, b, is_same in judged]
    file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return str(file)


def test_a_local_model_is_measured_as_its_card_says(runner: CliRunner, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "models", "our/tiny")
    write_tiny_model(folder)
    write_card(folder, ModelCard(name="our/tiny", pooling="cls"))
    pairs = write_pairs(
        tmp_path, *[("snow falls", "snow today", True), ("snow falls", "rain falls", False)] * 5
    )
    environ = {"MODELS_DIR": str(tmp_path / "models"), "AI_EMBEDDINGS_MODEL": "our/tiny"}
    result = runner.invoke(app, [*TRIED, pairs], env=environ)
    assert result.exit_code == 0, result.output + result.stderr
    trial = json.loads(result.stdout)
    assert (trial["f1"], trial["pairs"], trial["same"], trial["dimensions"]) == (1.0, 10, 5, DIMENSIONS)
    write_card(folder, ModelCard(name="our/tiny", pooling="last"))
    other = json.loads(runner.invoke(app, [*TRIED, pairs], env=environ).stdout)
    assert other["f1"] < 1, "the last word misleads"


async def test_a_server_of_the_operator_is_measured_and_a_provider_is_not(
    runner: CliRunner, tmp_path: Path
) -> None:
    pairs = write_pairs(tmp_path, *[("a" * 9, "b" * 9, True), ("a", "b" * 90, False)] * 5)
    async with fake_server() as server:
        environ = {
            "AI_EMBEDDINGS": "openai",
            "EMBEDDINGS_BASE_URL": f"{server.url}/v1",
            "EMBEDDINGS_IS_OWN": "true",
        }
        result = await asyncio.to_thread(runner.invoke, app, [*TRIED, pairs], env=environ)
        trial = json.loads(result.stdout)
        assert (trial["f1"], trial["dimensions"]) == (1.0, 3)
        calls = server.calls
        environ["EMBEDDINGS_IS_OWN"] = "false"
        refused = await asyncio.to_thread(runner.invoke, app, [*TRIED, pairs], env=environ)
        assert (refused.exit_code, server.calls) == (1, calls)
        assert "which costs money" in refused.output + refused.stderr


def test_a_file_without_pairs_is_refused_with_its_line(runner: CliRunner, tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text('{"a": "snow"}\n', encoding="utf-8")
    result = runner.invoke(app, [*TRIED, str(file)])
    assert result.exit_code == 1
    assert "line 1 of" in " ".join((result.output + result.stderr).split())
