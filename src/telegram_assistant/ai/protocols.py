"""Protocols of providers: chat, analysis of pictures, vectors.

Every error of a provider is raised as ProviderFailed with a Failure; no type of a provider's library leaves
its module.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from telegram_assistant.domain.understanding.spending import Tokens


@dataclass(frozen=True, slots=True)
class Picture:
    """A JPEG or PNG; `picture_readers` converts all other formats."""

    data: bytes = field(repr=False)
    mime: str


@dataclass(frozen=True, slots=True)
class Instruction:
    """The input of a model. `system` is trusted; `user` holds the fenced data."""

    system: str
    user: str
    max_tokens: int
    """The longest answer that is paid for."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer, and the tokens it used."""

    text: str
    tokens: Tokens
    is_blacklisted: bool = False
    """The model refuses the content. That may be billed like any answer."""


class TextKind(StrEnum):
    """Whether a text is a document or a query; some models embed them differently."""

    DOCUMENT = "document"
    QUERY = "query"


type Vector = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Embedded:
    """One vector per text, in their order."""

    vectors: tuple[Vector, ...]
    tokens: Tokens


type Hear = Callable[[str], None]
"""Receives the pieces of an answer while it is written."""


class Chat(Protocol):
    """Answers an instruction.

    With `hear` the answer is streamed, and returned as a whole at the end as well.
    """

    async def chat(
        self, instruction: Instruction, *, model: str, timeout_seconds: float, hear: Hear | None = None
    ) -> Reply: ...


class Vision(Protocol):
    """Answers an instruction about one picture."""

    async def look(
        self, instruction: Instruction, picture: Picture, *, model: str, timeout_seconds: float
    ) -> Reply: ...


class Embeddings(Protocol):
    """Turns texts into vectors."""

    async def embed(
        self, texts: Sequence[str], kind: TextKind, *, model: str, timeout_seconds: float
    ) -> Embedded: ...


class ClosableEmbeddings(Embeddings, Protocol):
    """A server that only turns texts into vectors."""

    async def close(self) -> None: ...


class Provider(Chat, Vision, Embeddings, Protocol):
    """All capabilities with one key."""

    async def close(self) -> None: ...


type Fetch = Callable[[], Awaitable[tuple[str, float]]]
"""Fetches a token from a server: the token, and its lifetime in seconds."""


class SharedToken(Protocol):
    """A token shared by all processes: one that finds none fetches it, while the others wait.

    Implemented by `AiToken`.
    """

    async def current(self) -> str | None: ...

    async def renew(self, fetch: Fetch, *, instead_of: str | None) -> str: ...
