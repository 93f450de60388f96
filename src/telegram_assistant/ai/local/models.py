"""Local sentence models: downloaded once from a hub, verified, and described by a card in their folder."""

import hashlib
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

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
DATA = "data of model.onnx"
NAME = r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*"
REVISION = r"([0-9a-f]{40})?"
POOLING = r"(mean|cls|last|output:[\w./:-]{1,100})"
"""How the states of all tokens become one vector: their mean, that of the first or of the last token, or a
named output of the model that is the vector already.
"""
DATA_FILE = r"[A-Za-z0-9][\w.-]{0,100}"


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
    """How a model is used, and the files that were downloaded."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    name: str = Field(pattern=f"^{NAME}$")
    revision: str = Field(default="", pattern=f"^{REVISION}$")
    pooling: str = Field(default="mean", pattern=f"^{POOLING}$")
    query_prefix: str = Field(default="", max_length=1000)
    document_prefix: str = Field(default="", max_length=1000)
    max_tokens: int = Field(default=512, ge=8, le=8192)
    dimensions: int | None = Field(default=None, ge=8, le=8192)
    """Of a vector, its first so many numbers; only for models that were trained for it. None: all."""
    data_files: tuple[Annotated[str, Field(pattern=f"^{DATA_FILE}$")], ...] = ()
    """Beside model.onnx: files that it refers to."""
    sha256: dict[str, str] = {}

    @property
    def files(self) -> dict[str, str]:
        """The files of the model, and their paths at a hub."""
        return FILES | {file: f"onnx/{file}" for file in self.data_files}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoices:
    """The operator's choices for a model. None and empty mean the defaults of its model family."""

    pooling: str | None = None
    query_prefix: str | None = None
    document_prefix: str | None = None
    dimensions: int | None = None
    max_tokens: int | None = None
    data_files: tuple[str, ...] = ()

    def as_fields(self) -> dict[str, object]:
        """The fields of the card that are chosen."""
        return {name: value for name, value in asdict(self).items() if value not in (None, ())}


NO_CHOICES = ModelChoices()
FAMILIES: tuple[tuple[str, ModelChoices], ...] = (
    (r"(^|-)e5(-|$)", ModelChoices(query_prefix="query: ", document_prefix="passage: ")),
    (r"^bge-m3$", ModelChoices(pooling="cls", data_files=("model.onnx_data",))),
    (r"(^|-)bge-", ModelChoices(pooling="cls")),
    (r"^user2-", ModelChoices(query_prefix="search_query: ", document_prefix="search_document: ")),
    (
        r"^frida(-|$)",
        ModelChoices(pooling="cls", query_prefix="search_query: ", document_prefix="search_document: "),
    ),
    (
        r"^qwen3-embedding-",
        ModelChoices(
            pooling="last",
            query_prefix="Instruct: Given a search query, retrieve posts that answer the query\nQuery:",
        ),
    ),
)
"""Families by the name of a model, in lower case and without its owner; the first that fits."""


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
                "{folder} has no sentence model; download one with `tga models pull`",
                folder=str(folder),
            )
        ) from error


def write_card(folder: Path, card: ModelCard) -> None:
    (folder / CARD).write_text(card.model_dump_json(indent=2) + "\n", encoding="utf-8")


def card_of(name: str, revision: str | None = None, choices: ModelChoices = NO_CHOICES) -> ModelCard:
    """The card of a model: what its family needs, unless the operator chooses otherwise."""
    if revision is None:
        revision = PINNED[name].revision if name in PINNED else ""
    model = name.rpartition("/")[2].lower()
    family = next((known_card for pattern, known_card in FAMILIES if re.search(pattern, model)), NO_CHOICES)
    return ModelCard.model_validate(
        {"name": name, "revision": revision, **family.as_fields(), **choices.as_fields()}
    )


def list_installed(models: Path) -> Iterator[InstalledModel]:
    for card in sorted(models.glob(f"*/{CARD}")):
        folder = card.parent
        yield InstalledModel(read_card(folder), folder, sum(file.stat().st_size for file in folder.iterdir()))


def pull(
    name: str,
    *,
    models: Path,
    hub: str,
    tell: Callable[[str, int], None],
    revision: str | None = None,
    choices: ModelChoices = NO_CHOICES,
) -> InstalledModel:
    """Downloads a missing model, or accepts one whose files were put into its folder by hand. The choices
    also change the card of a model that is there.

    The folder appears only when all files are complete and verified. Blocks, so call it in a thread.
    """
    try:
        folder, card = folder_of(models, name), card_of(name, revision, choices)
        if (folder / CARD).exists():
            existing_card = read_card(folder)
            card = ModelCard.model_validate(existing_card.model_dump() | choices.as_fields())
            if card == existing_card:
                return _find_installed(models, folder)
    except ValidationError as error:
        raise _invalid(error, name, revision) from error
    if all((folder / file).is_file() for file in card.files):
        sums = _verify_sums({file: _sum(folder / file) for file in card.files}, card)
        write_card(folder, card.model_copy(update={"sha256": sums}))
    else:
        _fetch_all(card, folder, hub, tell)
    return _find_installed(models, folder)


def _find_installed(models: Path, folder: Path) -> InstalledModel:
    return next(model for model in list_installed(models) if model.folder == folder)


def _invalid(error: ValidationError, name: str, revision: str | None) -> Rejected:
    field = str(error.errors()[0]["loc"][0])
    if field in {"name", "revision"}:
        return Rejected(
            Reason(
                "model_name_invalid",
                "{model!r} {revision} is not a model and revision; write the model like {example} and the "
                "revision as 40 hexadecimal digits",
                example=DEFAULT_MODEL,
                model=name,
                revision=revision or "",
            )
        )
    return Rejected(
        Reason(
            "model_choice_invalid",
            "{field} of {model} is wrong: pooling is mean, cls, last or output:NAME, dimensions are from 8 "
            "to 8192, and files are names without a folder",
            field=field,
            model=name,
        )
    )


def _fetch_all(card: ModelCard, folder: Path, hub: str, tell: Callable[[str, int], None]) -> None:
    if not card.revision:
        raise Rejected(
            Reason(
                "model_revision_needed",
                "{model} needs a revision (the commit at the hub), because the content of a branch can "
                "change",
                model=card.name,
            )
        )
    urls = {
        file: f"{hub.rstrip('/')}/{card.name}/resolve/{card.revision}/{hub_path}"
        for file, hub_path in card.files.items()
    }
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".pull-") as temporary:
        half = Path(temporary) / "model"
        half.mkdir()
        try:
            sums = {file: fetch(url, half / file, tell) for file, url in urls.items()}
        except ModelUnavailable as error:
            by_hand = "; ".join(
                f"{file} ({FORMATS.get(file, DATA)}) from {url}" for file, url in urls.items()
            )
            raise Rejected(
                Reason(
                    "model_not_fetched",
                    "{error}. Try again, or download the files yourself: put {by_hand} into {folder}, "
                    "then pull again to check them",
                    error=error.reason,
                    folder=str(folder),
                    by_hand=by_hand,
                )
            ) from error
        write_card(half, card.model_copy(update={"sha256": _verify_sums(sums, card)}))
        shutil.rmtree(folder, ignore_errors=True)
        half.rename(folder)


def _verify_sums(sums: dict[str, str], card: ModelCard) -> dict[str, str]:
    """Raises Rejected if a file of a pinned model has another SHA-256."""
    pin = PINNED.get(card.name)
    for file, expected_sha256 in (
        pin.sha256.items() if pin is not None and pin.revision == card.revision else ()
    ):
        if sums[file] != expected_sha256:
            raise Rejected(
                Reason(
                    "model_file_differs",
                    "{file} does not belong to {model} at {revision}: its SHA-256 is {found}, not {wanted}",
                    file=file,
                    model=card.name,
                    revision=card.revision,
                    found=sums[file],
                    wanted=expected_sha256,
                )
            )
    return sums


def _sum(file: Path) -> str:
    with file.open("rb") as model_file:
        return hashlib.file_digest(model_file, "sha256").hexdigest()
