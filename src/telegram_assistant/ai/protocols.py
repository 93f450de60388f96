"""What a provider can do, in our words: chat, look at a picture, turn texts into vectors.

Whatever goes wrong there is raised as ProviderFailed with a Failure; no type of a provider's library leaves its file.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from telegram_assistant.domain.understanding.spending import Tokens


@dataclass(frozen=True, slots=True)
class Picture:
    """A jpeg or png; see picture_readers for all others."""

    data: bytes = field(repr=False)
    mime: str


@dataclass(frozen=True, slots=True)
class Instruction:
    """What a model is told. `system` is ours; `user` holds the fenced data."""

    system: str
    user: str
    max_tokens: int
    """The longest answer that is wanted and paid for."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What it said, and what that took."""

    text: str
    tokens: Tokens
    is_blacklisted: bool = False
    """It does not speak about this. That may be billed like any answer."""


class TextKind(StrEnum):
    """Some models embed a question and the texts that may answer it differently."""

    DOCUMENT = "document"
    QUERY = "query"


type Vector = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Embedded:
    """A vector for each text, in their order."""

    vectors: tuple[Vector, ...]
    tokens: Tokens


class Chat(Protocol):
    """Answers an instruction."""

    async def chat(self, instruction: Instruction, *, model: str, timeout_seconds: float) -> Reply: ...


class Vision(Protocol):
    """Answers an instruction about one picture."""

    async def look(self, instruction: Instruction, picture: Picture, *, model: str, timeout_seconds: float) -> Reply: ...


class Embeddings(Protocol):
    """Turns texts into vectors."""

    async def embed(self, texts: Sequence[str], kind: TextKind, *, model: str, timeout_seconds: float) -> Embedded: ...


class Provider(Chat, Vision, Embeddings, Protocol):
    """All of it, behind one key."""

    async def close(self) -> None: ...


type Fetch = Callable[[], Awaitable[tuple[str, float]]]
"""Asks a server for a token: its text, and how many seconds it is good for."""


class SharedToken(Protocol):
    """A token that all processes use: whoever finds none fetches it, while the others wait for that one."""

    async def current(self) -> str | None: ...

    async def renew(self, fetch: Fetch, *, instead_of: str | None) -> str: ...
