"""Sentence models: fetched from a hub or brought by hand, and checked either way."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from telegram_assistant.ai.local.fetching import check_address
from telegram_assistant.ai.local.models import (
    CARD,
    DEFAULT_MODEL,
    FILES,
    PINNED,
    ModelChoices,
    card_of,
    folder_of,
    list_installed,
    pull,
)
from telegram_assistant.ai.local.understanding import LocalModels
from telegram_assistant.ai.protocols import TextKind
from telegram_assistant.errors import Rejected
from telegram_assistant.settings import AiSettings, read_group
from testkit.models import MINILM

REVISION = "c0ffee" + "0" * 34
E5 = "intfloat/e5-of-our-own"
QWEN_QUERY = "Instruct: Given a search query, retrieve posts that answer the query\nQuery:"


def say_nothing(_file: str, _size: int) -> None:
    pass


@contextmanager
def hub(folder: Path, *, redirects_to: str = "") -> Iterator[str]:
    """A server that has models where the hub has them, or sends everybody elsewhere."""

    class Quiet(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            if not redirects_to:
                super().do_GET()
                return
            self.send_response(302)
            self.send_header("Location", redirects_to)
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def put_on_hub(folder: Path, minilm: Path, name: str, revision: str = REVISION) -> Path:
    published = folder / name / "resolve" / revision
    (published / "onnx").mkdir(parents=True)
    shutil.copy(folder_of(minilm, MINILM) / "model.onnx", published / "onnx/model.onnx")
    shutil.copy(folder_of(minilm, MINILM) / "tokenizer.json", published / "tokenizer.json")
    return published


@pytest.mark.turns("MODELS_HUB_URL")
async def test_a_model_is_fetched_once_and_then_used_without_the_hub(minilm: Path, tmp_path: Path) -> None:
    put_on_hub(tmp_path / "hub", minilm, E5)
    models, files = tmp_path / "models", list[str]()
    with hub(tmp_path / "hub") as url:
        address = read_group(AiSettings, {"MODELS_HUB_URL": url}).hub_url
        first = pull(
            E5, models=models, hub=address, tell=lambda file, _size: files.append(file), revision=REVISION
        )
    again = pull(E5, models=models, hub="https://hub.invalid", tell=lambda file, _size: files.append(file))
    assert first == again
    assert set(files) == {"tokenizer.json", "model.onnx"}
    assert (first.card.query_prefix, first.card.document_prefix, first.card.revision) == (
        "query: ",
        "passage: ",
        REVISION,
    )
    assert len(first.card.sha256["model.onnx"]) == 64
    local = LocalModels(models=models)
    made = [await local.embed(["snow"], kind, model=E5, timeout_seconds=0) for kind in TextKind]
    assert made[0].vectors != made[1].vectors, "a question and a document are told apart"


def test_a_half_fetched_model_is_no_model(minilm: Path, tmp_path: Path) -> None:
    (put_on_hub(tmp_path / "hub", minilm, MINILM) / "onnx/model.onnx").unlink()
    models = tmp_path / "models"
    with hub(tmp_path / "hub") as url:
        with pytest.raises(Rejected, match="HTTP 404"):
            pull(MINILM, models=models, hub=url, tell=say_nothing, revision=REVISION)
        for name, revision in (
            ("../../etc", REVISION),
            (MINILM, "main"),
            (MINILM, "../" * 13 + "a"),
            (f"{MINILM}/../..", REVISION),
        ):
            with pytest.raises(Rejected, match="is not a model and revision"):
                pull(name, models=models, hub=url, tell=say_nothing, revision=revision)
        with pytest.raises(Rejected, match="needs a revision"):
            pull(MINILM, models=models, hub=url, tell=say_nothing)
    assert list(list_installed(models)) == []
    assert list(models.iterdir()) == []


def test_other_bytes_than_those_of_the_release_are_refused(minilm: Path, tmp_path: Path) -> None:
    put_on_hub(tmp_path / "hub", minilm, DEFAULT_MODEL, PINNED[DEFAULT_MODEL].revision)
    with hub(tmp_path / "hub") as url, pytest.raises(Rejected, match="its SHA-256 is"):
        pull(DEFAULT_MODEL, models=tmp_path / "models", hub=url, tell=say_nothing)
    assert list(list_installed(tmp_path / "models")) == []


def test_files_that_were_brought_by_hand_are_checked_before_they_are_a_model(
    minilm: Path, tmp_path: Path
) -> None:
    for name in (DEFAULT_MODEL, MINILM):
        folder = folder_of(tmp_path, name)
        folder.mkdir()
        for file in FILES:
            shutil.copy(folder_of(minilm, MINILM) / file, folder / file)
    with pytest.raises(Rejected, match="its SHA-256 is"):
        pull(DEFAULT_MODEL, models=tmp_path, hub="https://hub.invalid", tell=say_nothing)
    assert not (folder_of(tmp_path, DEFAULT_MODEL) / CARD).exists()
    accepted = pull(MINILM, models=tmp_path, hub="https://hub.invalid", tell=say_nothing)
    assert set(accepted.card.sha256) == set(FILES)
    assert [model.card.name for model in list_installed(tmp_path)] == [MINILM]


def test_without_a_network_it_is_said_which_files_go_where(tmp_path: Path) -> None:
    with pytest.raises(Rejected) as refused:
        pull(DEFAULT_MODEL, models=tmp_path, hub="http://127.0.0.1:9", tell=say_nothing)
    message = str(refused.value)
    assert str(folder_of(tmp_path, DEFAULT_MODEL)) in message
    assert f"/{DEFAULT_MODEL}/resolve/{PINNED[DEFAULT_MODEL].revision}/onnx/model.onnx" in message
    assert "model.onnx (ONNX" in message
    assert "tokenizer.json (" in message


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1.evil.com/model",
        "http://127.0.0.1@evil.com/model",
        "http://localhost.evil.com/model",
        "http://hub.example/model",
        "ftp://hub.example/model",
        "file:///etc/passwd",
        "HTTP://evil.com",
    ],
)
def test_only_https_or_this_machine_is_asked(url: str, tmp_path: Path) -> None:
    with pytest.raises(Rejected, match="over https only"):
        check_address(url)
    with hub(tmp_path, redirects_to=url) as address, pytest.raises(Rejected):
        pull(MINILM, models=tmp_path / "models", hub=address, tell=say_nothing, revision=REVISION)


@pytest.mark.parametrize(
    "url",
    [
        "https://huggingface.co/model",
        "http://127.0.0.1:8000/model",
        "http://[::1]/model",
        "http://localhost/model",
    ],
)
def test_https_and_this_machine_are_asked(url: str) -> None:
    check_address(url)


@pytest.mark.parametrize(
    ("name", "pooling", "prefixes"),
    [
        ("intfloat/multilingual-e5-large", "mean", ("query: ", "passage: ")),
        (MINILM, "mean", ("", "")),
        ("BAAI/bge-m3", "cls", ("", "")),
        ("deepvk/USER-bge-m3", "cls", ("", "")),
        ("deepvk/USER2-base", "mean", ("search_query: ", "search_document: ")),
        ("ai-forever/FRIDA", "cls", ("search_query: ", "search_document: ")),
        ("Qwen/Qwen3-Embedding-0.6B", "last", (QWEN_QUERY, "")),
    ],
)
def test_families_are_used_as_they_were_trained(name: str, pooling: str, prefixes: tuple[str, str]) -> None:
    card = card_of(name)
    assert (card.pooling, (card.query_prefix, card.document_prefix)) == (pooling, prefixes)


def test_the_operator_knows_better_than_the_name() -> None:
    card = card_of("our/e5-tuned", None, ModelChoices(query_prefix="", pooling="cls"))
    assert (card.query_prefix, card.document_prefix, card.pooling) == ("", "passage: ", "cls")
