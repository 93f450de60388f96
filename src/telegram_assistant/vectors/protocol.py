"""The protocol of vector stores, and its values. The text of a post never enters a store."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.search.query import Has
from telegram_assistant.domain.understanding.policy import Tier

PREFIX = "posts-"
OVERSAMPLING = 2.0
"""Quantized vectors find this many times the limit; the original vectors rank those."""


class FieldType(StrEnum):
    """How a field of a point is indexed."""

    NUMBER = "number"
    """An integer, matched by equality."""
    MOMENT = "moment"
    """Seconds since 1970, matched by range."""
    WORD = "word"


FIELDS = {
    "channel": FieldType.NUMBER,
    "at": FieldType.MOMENT,
    "lang": FieldType.WORD,
    "flags": FieldType.WORD,
    **{f"{name}_{tier.value}": FieldType.WORD for tier in Tier for name in ("tags", "topic", "kind")},
}
"""The fields that can be filtered by; each has an index."""

type Payload = Mapping[str, int | str | Sequence[str]]


@dataclass(frozen=True, slots=True)
class Space:
    """Comparable vectors: those of one model. Searches use its name, whichever collection is behind it."""

    model: str
    dimension: int

    @property
    def name(self) -> str:
        return f"{PREFIX}{re.sub(r'[^a-z0-9.]+', '-', self.model.lower()).strip('-')}-{self.dimension}"

    def collection(self, generation: int) -> str:
        return f"{self.name}-g{generation}"

    def holds(self, collection: str) -> bool:
        return bool(re.fullmatch(re.escape(self.name) + r"-g\d+", collection))


def space_in(collection: str, model: str) -> Space | None:
    """The space of a collection, if it belongs to this model."""
    numbers = re.search(r"-(\d+)-g\d+$", collection)
    space = Space(model, int(numbers[1])) if numbers else None
    return space if space is not None and space.holds(collection) else None


def generation_of(collection: str) -> int:
    return int(collection.rpartition("-g")[2])


@dataclass(frozen=True, slots=True)
class Point:
    """One post in the store."""

    post_id: PostId
    vector: Sequence[float]
    payload: Payload = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hit:
    """A found post and its similarity; 1 is identical."""

    post_id: PostId
    score: float


@dataclass(frozen=True, slots=True)
class Reach:
    """The channels that a tenant may see, by the tier of results that it may see there."""

    local: frozenset[ChannelId] = frozenset()
    provider: frozenset[ChannelId] = frozenset()
    since: Mapping[ChannelId, datetime] = field(default_factory=dict)
    """The beginning of a channel's window; a channel without an entry is visible from its beginning."""

    @property
    def channels(self) -> frozenset[ChannelId]:
        return self.local | self.provider


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorQuery:
    """A search by vector. Of several values of one filter any one matches."""

    vector: Sequence[float] = ()
    reach: Reach | None
    """None: every channel is visible, with providers' results."""
    limit: int
    since: datetime | None = None
    until: datetime | None = None
    languages: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    without_ads: bool = False
    has: tuple[Has, ...] = ()
    """All of these are required."""

    @property
    def reaches_nothing(self) -> bool:
        """Whether the query reaches no channel and so finds nothing."""
        return self.reach is not None and not self.reach.channels


class Searchable(Protocol):
    """A store that can be searched. Raises Busy for passing errors."""

    where: str
    """A description for people."""

    async def search(self, space: Space, query: VectorQuery) -> tuple[Hit, ...]:
        """The nearest posts first; empty if there is no such space."""
        ...


class Vectors(Searchable, Protocol):
    """The store. Every write may run twice; a write to a dropped collection is lost."""

    async def collections(self) -> Mapping[str, str | None]:
        """Every collection of this installation, and the name of the space that shows it now;
        None while it is being built.
        """
        ...

    async def create(self, space: Space, collection: str) -> None:
        """Creates a collection with its indexes. An existing one stays unchanged."""
        ...

    async def switch(self, space: Space, collection: str) -> None:
        """Makes searches in that space see this collection, at once and for all processes."""
        ...

    async def drop(self, collection: str) -> None: ...

    async def upsert(self, collection: str, points: Sequence[Point]) -> None: ...

    async def delete(self, collection: str, post_ids: Sequence[PostId]) -> None: ...

    async def count(self, collection: str) -> int: ...


def post_id_in(uuid: UUID) -> PostId:
    """The post of a point."""
    return PostId(ChannelId(uuid.int >> 64), MessageId(uuid.int & (1 << 64) - 1))
