"""Sentence models of every pooling, beside NumPy: tiny ones, which the test makes."""

import asyncio
import shutil
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from telegram_assistant.ai.local.models import ModelCard, ModelChoices, folder_of, pull, write_card
from telegram_assistant.ai.local.sentence_model import SentenceModel, pool
from telegram_assistant.ai.local.understanding import LocalModels
from telegram_assistant.ai.protocols import TextKind
from telegram_assistant.errors import Rejected
from testkit.tiny_models import DATA, DIMENSIONS, SENTENCE, put_tiny_model_on_hub, states_of, write_tiny_model
from tests.ai.test_models import REVISION, hub, say_nothing

TEXTS = ("snow falls today", "rain", "rain falls")


def unit(vector: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
def test_a_vector_is_pooled_as_the_card_says_whatever_stands_beside_the_text(
    tmp_path: Path, pooling: str
) -> None:
    write_tiny_model(tmp_path)
    write_card(tmp_path, ModelCard(name="our/tiny", pooling=pooling, query_prefix="query: "))
    made = SentenceModel(tmp_path).embed(TEXTS, TextKind.QUERY)
    for text, vector in zip(TEXTS, made, strict=True):
        states = states_of(f"query: {text}")
        wanted = {"mean": states.mean(axis=0), "cls": states[0], "last": states[-1]}[pooling]
        np.testing.assert_allclose(vector, unit(wanted), atol=1e-5)


def test_a_named_output_is_the_vector_itself(tmp_path: Path) -> None:
    write_tiny_model(tmp_path)
    write_card(tmp_path, ModelCard(name="our/tiny", pooling=f"output:{SENTENCE}"))
    (vector,) = SentenceModel(tmp_path).embed(["snow falls"], TextKind.DOCUMENT)
    np.testing.assert_allclose(vector, unit(states_of("snow falls").max(axis=0)), atol=1e-5)


def test_an_output_that_the_model_lacks_is_refused_with_those_that_it_has(tmp_path: Path) -> None:
    write_tiny_model(tmp_path)
    write_card(tmp_path, ModelCard(name="our/tiny", pooling="output:pooled"))
    with pytest.raises(Rejected, match=f"no output pooled; it has last_hidden_state, {SENTENCE}"):
        SentenceModel(tmp_path)


def test_padding_on_the_left_changes_no_vector() -> None:
    states, padding = states_of("snow falls"), np.ones((2, DIMENSIONS), dtype=np.float32)
    left, right = np.concatenate([padding, states])[None], np.concatenate([states, padding])[None]
    for pooling in ("mean", "cls", "last"):
        np.testing.assert_allclose(
            pool(left, np.array([[0, 0, 1, 1]]), pooling), pool(right, np.array([[1, 1, 0, 0]]), pooling)
        )


def test_fewer_dimensions_are_the_first_numbers_at_length_one(tmp_path: Path) -> None:
    write_tiny_model(tmp_path)
    write_card(tmp_path, ModelCard(name="our/tiny", dimensions=8))
    (vector,) = SentenceModel(tmp_path).embed(["snow falls"], TextKind.DOCUMENT)
    np.testing.assert_allclose(vector, unit(states_of("snow falls").mean(axis=0)[:8]), atol=1e-5)


def test_a_model_whose_numbers_are_in_a_file_of_their_own_is_fetched_with_it(tmp_path: Path) -> None:
    name, models = "BAAI/bge-m3", tmp_path / "models"
    put_tiny_model_on_hub(tmp_path / "hub", name, REVISION, has_data_file=True)
    with hub(tmp_path / "hub") as url:
        model = pull(name, models=models, hub=url, tell=say_nothing, revision=REVISION)
    assert (set(model.card.sha256), model.card.pooling) == ({"tokenizer.json", "model.onnx", DATA}, "cls")
    (vector,) = SentenceModel(model.folder).embed(["snow falls"], TextKind.DOCUMENT)
    np.testing.assert_allclose(vector, unit(states_of("snow")[0]), atol=1e-5)
    (model.folder / DATA).unlink()
    with pytest.raises(Rejected, match="a file of it may be missing"):
        SentenceModel(model.folder)


def test_choices_change_the_card_of_a_model_that_is_there(tmp_path: Path) -> None:
    write_tiny_model(folder_of(tmp_path, "our/tiny"))
    for choices in (ModelChoices(), ModelChoices(pooling="last", document_prefix="passage: ")):
        card = pull("our/tiny", models=tmp_path, hub="", tell=say_nothing, choices=choices).card
    assert (card.pooling, card.document_prefix) == ("last", "passage: ")
    assert pull("our/tiny", models=tmp_path, hub="", tell=say_nothing).card == card, "they stay"
    for wrong in (
        ModelChoices(pooling="max"),
        ModelChoices(dimensions=1),
        ModelChoices(data_files=("../../etc/passwd",)),
    ):
        with pytest.raises(Rejected, match="is wrong: pooling is"):
            pull("our/tiny", models=tmp_path, hub="", tell=say_nothing, choices=wrong)


async def test_a_query_that_stopped_waiting_leaves_the_loaded_model_to_the_next_one(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "our/tiny")
    write_tiny_model(folder)
    write_card(folder, ModelCard(name="our/tiny"))
    local = LocalModels(models=tmp_path)
    others = asyncio.all_tasks()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await local.embed(["snow"], TextKind.QUERY, model="our/tiny", timeout_seconds=0)
    await asyncio.gather(*asyncio.all_tasks() - others)
    shutil.rmtree(folder)
    embedded = await local.embed(["snow"], TextKind.QUERY, model="our/tiny", timeout_seconds=0)
    assert len(embedded.vectors) == 1
