"""Sentence models on this machine: fetched once from a hub, checked, and described by a card beside them."""

import hashlib
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from telegram_assistant.errors import Rejected

DEFAULT_MODEL = "intfloat/multilingual-e5-small"
CARD = "model.json"
FILES = {"tokenizer.json": "tokenizer.json", "model.onnx": "onnx/model.onnx"}
"""What is kept, and where a hub has it."""
BLOCK_BYTES = 1 << 20
MOST_BYTES = 4_000_000_000
ANSWER_SECONDS = 60
NAME = r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*"


class Card(BaseModel):
    """How a model wants to be asked, and what was fetched."""

    model_config = ConfigDict(frozen=True)

    name: str = Field(pattern=NAME)
    query_prefix: str = ""
    document_prefix: str = ""
    most_tokens: int = Field(default=512, ge=8, le=8192)
    sha256: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Installed:
    """A model that can be used."""

    card: Card
    folder: Path
    size_bytes: int


def folder_of(models: Path, name: str) -> Path:
    return models / name.replace("/", "--")


def read_card(folder: Path) -> Card:
    """Rejected when the folder holds no model."""
    try:
        return Card.model_validate_json((folder / CARD).read_bytes())
    except (OSError, ValidationError) as error:
        raise Rejected(f"there is no sentence model in {folder}; fetch one with `tga models pull`") from error


def write_card(folder: Path, card: Card) -> None:
    (folder / CARD).write_text(card.model_dump_json(indent=2) + "\n", encoding="utf-8")


def card_of(name: str) -> Card:
    """The e5 family wants to be told which text is a question; the others are asked plainly."""
    if "e5" in name.rpartition("/")[2].lower().split("-"):
        return Card(name=name, query_prefix="query: ", document_prefix="passage: ")
    return Card(name=name)


def installed(models: Path) -> Iterator[Installed]:
    for card in sorted(models.glob(f"*/{CARD}")):
        folder = card.parent
        yield Installed(read_card(folder), folder, sum(file.stat().st_size for file in folder.iterdir()))


def pull(name: str, *, models: Path, hub: str, tell: Callable[[str, int], None]) -> Installed:
    """Fetch a model that is not here yet. The folder appears when everything in it is complete; blocks, so call it in a thread."""
    try:
        card = card_of(name)
    except ValidationError as error:
        raise Rejected(f"a model is named like {DEFAULT_MODEL}, not {name!r}") from error
    folder = folder_of(models, name)
    if not (folder / CARD).exists():
        models.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=models, prefix=".pull-") as temporary:
            half = Path(temporary) / "model"
            half.mkdir()
            sums = {file: _fetch(f"{hub.rstrip('/')}/{name}/resolve/main/{where}", half / file, tell) for file, where in FILES.items()}
            write_card(half, card.model_copy(update={"sha256": sums}))
            shutil.rmtree(folder, ignore_errors=True)
            half.rename(folder)
    return next(one for one in installed(models) if one.folder == folder)


def _fetch(url: str, file: Path, tell: Callable[[str, int], None]) -> str:
    if not url.startswith(("https://", "http://127.0.0.1")):
        raise Rejected(f"models are fetched over https only, not from {url}")
    summed, size = hashlib.sha256(), 0
    try:
        with urllib.request.urlopen(url, timeout=ANSWER_SECONDS) as answer, file.open("wb") as kept:  # noqa: S310 -- the scheme was checked just above
            promised = int(answer.headers.get("Content-Length") or 0)
            while block := answer.read(BLOCK_BYTES):
                size += len(block)
                if size > MOST_BYTES:
                    raise Rejected(f"{url} is larger than any model that this program can use")
                summed.update(block)
                kept.write(block)
                tell(file.name, size)
    except (OSError, HTTPException) as error:
        why = f"the hub answered {error.code}" if isinstance(error, urllib.error.HTTPError) else type(error).__name__
        raise Rejected(f"{url} cannot be fetched ({why}); try again, or put {', '.join(FILES)} and {CARD} into the folder yourself") from error
    if promised and size != promised:
        raise Rejected(f"{url} broke off after {size:,} of {promised:,} bytes; try again")
    return summed.hexdigest()
