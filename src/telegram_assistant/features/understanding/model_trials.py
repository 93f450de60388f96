"""Figures of the configured embedding model on pairs of texts that people have judged."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from telegram_assistant.ai.protocols import Embeddings, TextKind, Vector
from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason

FOLDS = 5
BATCH = 32
TIMEOUT_SECONDS = 120.0
MAX_CHARACTERS = 2000
"""Of a text; posts get their vectors from as many."""


class PairText(BaseModel):
    """A text of a pair."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    title: str = ""
    text: str

    @property
    def whole(self) -> str:
        return f"{self.title}\n{self.text}".strip()[:MAX_CHARACTERS]


class JudgedPair(BaseModel):
    """Two texts, and whether people say that they tell the same story."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    same_story: bool
    first: PairText = Field(alias="a")
    other: PairText = Field(alias="b")


@dataclass(frozen=True, slots=True)
class ModelTrial:
    """The quality and speed of a model on these pairs."""

    model: str
    pairs: int
    same: int
    """Of the pairs, how many people call the same."""
    f1: float
    """With thresholds that were chosen on other pairs."""
    precision: float
    recall: float
    threshold: float
    """The cosine from which on two texts are the same, chosen on all pairs."""
    dimensions: int
    milliseconds: float
    """Per text."""


def read_pairs(file: Path) -> list[JudgedPair]:
    """Reads JSON lines with `a`, `b` and `same_story`. Raises Rejected for anything else."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Rejected(
            Reason("pairs_unreadable", "{file} cannot be read as a text in UTF-8", file=str(file))
        ) from error
    pairs = [_read_pair(line, number, file) for number, line in enumerate(lines, 1) if line.strip()]
    if not {True, False} <= {pair.same_story for pair in pairs}:
        raise Rejected(
            Reason(
                "pairs_too_few",
                "{file} needs pairs of both kinds: the same story, and others",
                file=str(file),
            )
        )
    return pairs


def _read_pair(line: str, number: int, file: Path) -> JudgedPair:
    try:
        return JudgedPair.model_validate_json(line)
    except ValidationError as error:
        raise Rejected(
            Reason(
                "pair_invalid",
                "line {number} of {file} is no pair; write {example}",
                number=number,
                file=str(file),
                example='{"a": {"text": "..."}, "b": {"text": "..."}, "same_story": true}',
            )
        ) from error


async def try_model(pairs: Sequence[JudgedPair], *, embeddings: Embeddings, model: str) -> ModelTrial:
    """Raises Rejected or ProviderFailed if the model gives no vectors."""
    texts = list(dict.fromkeys(text.whole for pair in pairs for text in (pair.first, pair.other)))
    await embeddings.embed(texts[:1], TextKind.DOCUMENT, model=model, timeout_seconds=TIMEOUT_SECONDS)
    vectors: dict[str, Vector] = {}
    began_at = time.perf_counter()
    for start in range(0, len(texts), BATCH):
        batch_texts = texts[start : start + BATCH]
        embedded = await embeddings.embed(
            batch_texts, TextKind.DOCUMENT, model=model, timeout_seconds=TIMEOUT_SECONDS
        )
        vectors |= zip(batch_texts, embedded.vectors, strict=True)
    seconds = time.perf_counter() - began_at
    judged = [
        (_cosine(vectors[pair.first.whole], vectors[pair.other.whole]), pair.same_story) for pair in pairs
    ]
    decided = []
    for fold in range(FOLDS):
        threshold = _best_threshold([pair for index, pair in enumerate(judged) if index % FOLDS != fold])
        decided += [(cosine >= threshold, is_same) for cosine, is_same in judged[fold::FOLDS]]
    f1, precision, recall = _figures(decided)
    return ModelTrial(
        model=model,
        pairs=len(pairs),
        same=sum(pair.same_story for pair in pairs),
        f1=round(f1, 3),
        precision=round(precision, 3),
        recall=round(recall, 3),
        threshold=round(_best_threshold(judged), 3),
        dimensions=len(next(iter(vectors.values()))),
        milliseconds=round(seconds / len(texts) * 1000, 1),
    )


def _best_threshold(judged: Sequence[tuple[float, bool]]) -> float:
    return max(
        (cosine for cosine, _ in judged),
        key=lambda threshold: _figures([(cosine >= threshold, is_same) for cosine, is_same in judged])[0],
        default=0.0,
    )


def _figures(decided: Sequence[tuple[bool, bool]]) -> tuple[float, float, float]:
    hit_count = sum(is_guess and truth for is_guess, truth in decided)
    precision = hit_count / max(1, sum(is_guess for is_guess, _ in decided))
    recall = hit_count / max(1, sum(truth for _, truth in decided))
    return 2 * precision * recall / max(1e-9, precision + recall), precision, recall


def _cosine(one_vector: Vector, other: Vector) -> float:
    length = math.hypot(*one_vector) * math.hypot(*other)
    return math.sumprod(one_vector, other) / length if length else 0.0
