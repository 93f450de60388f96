"""Local sentence models: downloaded once from a hub, verified, and described by a card in their folder."""

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from telegram_assistant.ai.local.fetching import ModelUnavailable, fetch
from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason

DEFAULT_MODEL = "intfloat/multilingual-e5-small"
CARD = "model.json"
FILES = {"tokenizer.json": "tokenizer.json", "model.onnx": "onnx/model.onnx"}
"""The files of a model, and their paths at a hub."""
FORMATS = {
    "tokenizer.json": "as the library tokenizers writes it",
    "model.onnx": "ONNX, from input_ids and attention_mask to last_hidden_state",
}
NAME = r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*"
REVISION = r"([0-9a-f]{40})?"


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """The commit at the hub, and the SHA-256 of its files."""

    revision: str
    sha256: Mapping[str, str]


PINNED = {
    DEFAULT_MODEL: PinnedFile(
        "614241f622f53c4eeff9890bdc4f31cfecc418b3",
        {
            "tokenizer.json": "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39",
            "model.onnx": "ca456c06b3a9505ddfd9131408916dd79290368331e7d76bb621f1cba6bc8665",
        },
    )
}


class ModelCard(BaseModel):
    """The prefixes and limits of a model, and the files that were downloaded."""

    model_config = ConfigDict(frozen=True)

    name: str = Field(pattern=f"^{NAME}$")
    revision: str = Field(default="", pattern=f"^{REVISION}$")
    query_prefix: str = ""
    document_prefix: str = ""
    max_tokens: int = Field(default=512, ge=8, le=8192)
    sha256: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model that is ready for use."""

    card: ModelCard
    folder: Path
    size_bytes: int


def folder_of(models: Path, name: str) -> Path:
    return models / name.replace("/", "--")


def read_card(folder: Path) -> ModelCard:
    """Reads the card. Raises Rejected if the folder holds no model."""
    try:
        return ModelCard.model_validate_json((folder / CARD).read_bytes())
    except (OSError, ValidationError) as error:
        raise Rejected(
            Reason(
                "model_not_installed",
                "there is no sentence model in {folder}; fetch one with `tga models pull`",
                folder=str(folder),
            )
        ) from error


def write_card(folder: Path, card: ModelCard) -> None:
    (folder / CARD).write_text(card.model_dump_json(indent=2) + "\n", encoding="utf-8")


def card_of(name: str, revision: str | None = None) -> ModelCard:
    """The card of a model.

    The e5 family needs prefixes that distinguish queries from passages; others need none.
    """
    if revision is None:
        revision = PINNED[name].revision if name in PINNED else ""
    if "e5" in name.rpartition("/")[2].lower().split("-"):
        return ModelCard(name=name, revision=revision, query_prefix="query: ", document_prefix="passage: ")
    return ModelCard(name=name, revision=revision)


def installed(models: Path) -> Iterator[InstalledModel]:
    for card in sorted(models.glob(f"*/{CARD}")):
        folder = card.parent
        yield InstalledModel(read_card(folder), folder, sum(file.stat().st_size for file in folder.iterdir()))


def pull(
    name: str, *, models: Path, hub: str, tell: Callable[[str, int], None], revision: str | None = None
) -> InstalledModel:
    """Downloads a missing model, or accepts one whose files were put into its folder by hand.

    The folder appears only when all files are complete and verified. Blocks, so call it in a thread.
    """
    try:
        card = card_of(name, revision)
    except ValidationError as error:
        raise Rejected(
            Reason(
                "model_name_invalid",
                "a model is named like {example} and its revision is 40 hexadecimal digits; "
                "not {model!r} {revision}",
                example=DEFAULT_MODEL,
                model=name,
                revision=revision or "",
            )
        ) from error
    folder = folder_of(models, name)
    if not (folder / CARD).exists():
        if all((folder / file).is_file() for file in FILES):
            write_card(
                folder,
                card.model_copy(
                    update={"sha256": _checked({file: _sum(folder / file) for file in FILES}, card)}
                ),
            )
        else:
            _fetch_all(card, folder, hub, tell)
    return next(model for model in installed(models) if model.folder == folder)


def _fetch_all(card: ModelCard, folder: Path, hub: str, tell: Callable[[str, int], None]) -> None:
    if not card.revision:
        raise Rejected(
            Reason(
                "model_revision_needed",
                "which {model}? Name the revision (the commit at the hub): what a branch holds can change",
                model=card.name,
            )
        )
    urls = {
        file: f"{hub.rstrip('/')}/{card.name}/resolve/{card.revision}/{where}"
        for file, where in FILES.items()
    }
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".pull-") as temporary:
        half = Path(temporary) / "model"
        half.mkdir()
        try:
            sums = {file: fetch(url, half / file, tell) for file, url in urls.items()}
        except ModelUnavailable as error:
            by_hand = "; ".join(f"{file} ({FORMATS[file]}) from {url}" for file, url in urls.items())
            raise Rejected(
                Reason(
                    "model_not_fetched",
                    "{error}. Try again, or bring it by hand: put into {folder} {by_hand}; then pull again, "
                    "which checks them",
                    error=error.reason,
                    folder=str(folder),
                    by_hand=by_hand,
                )
            ) from error
        write_card(half, card.model_copy(update={"sha256": _checked(sums, card)}))
        shutil.rmtree(folder, ignore_errors=True)
        half.rename(folder)


def _checked(sums: dict[str, str], card: ModelCard) -> dict[str, str]:
    """Raises Rejected if a file of a pinned model has another SHA-256."""
    pin = PINNED.get(card.name)
    for file, wanted in pin.sha256.items() if pin is not None and pin.revision == card.revision else ():
        if sums[file] != wanted:
            raise Rejected(
                Reason(
                    "model_file_differs",
                    "{file} is not that of {model} at {revision}: its SHA-256 is {found}, not {wanted}",
                    file=file,
                    model=card.name,
                    revision=card.revision,
                    found=sums[file],
                    wanted=wanted,
                )
            )
    return sums


def _sum(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
