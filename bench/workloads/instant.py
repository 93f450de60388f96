"""Understanding that takes no time, so that a bench measures everything around it."""

from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import numpy as np

from telegram_assistant.ai.local.understanding import LocalModels
from telegram_assistant.ai.protocols import Embedded, Hear, Instruction, Picture, Reply, TextKind, Vector
from telegram_assistant.domain.understanding.spending import Tokens
from telegram_assistant.vectors.protocol import Space

DIMENSION = 384
SPACE = Space("bench/instant", DIMENSION)
DRAWN = 256
ANSWER = (
    '{"tags": ["экономика", "economy", "погода", "weather"], "topic": "economy", "kind": "news", '
    '"entities": []}'
)


class InstantModel:
    """A provider that answers at once."""

    async def chat(
        self, instruction: Instruction, *, model: str, timeout_seconds: float, hear: Hear | None = None
    ) -> Reply:
        del model, timeout_seconds, hear
        return Reply(ANSWER, Tokens(len(instruction.user) // 4, 40))

    async def look(
        self, instruction: Instruction, picture: Picture, *, model: str, timeout_seconds: float
    ) -> Reply:
        raise NotImplementedError

    async def embed(
        self, texts: Sequence[str], kind: TextKind, *, model: str, timeout_seconds: float
    ) -> Embedded:
        raise NotImplementedError

    async def close(self) -> None:
        return None


class Drawn:
    """Vectors in heaps, like those of texts: the near ones of one are the rest of its heap."""

    def __init__(self) -> None:
        self._hand = np.random.default_rng(1)
        self._heaps = self._hand.normal(size=(500, DIMENSION))

    def some(self, count: int) -> list[Vector]:
        vectors = self._heaps[self._hand.integers(0, len(self._heaps), count)] + 0.7 * self._hand.normal(
            size=(count, DIMENSION)
        )
        return [
            tuple(vector) for vector in (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).tolist()
        ]


class InstantLocal(LocalModels):
    """The words of a text are really looked at; its vector was drawn before."""

    def __init__(self, drawn: Drawn) -> None:
        super().__init__(models=Path())
        self._vectors = drawn.some(DRAWN)

    async def embed(
        self, texts: Sequence[str], kind: TextKind, *, model: str, timeout_seconds: float
    ) -> Embedded:
        del kind, model, timeout_seconds
        return Embedded(tuple(self._vectors[crc32(text.encode()) % DRAWN] for text in texts), Tokens())
