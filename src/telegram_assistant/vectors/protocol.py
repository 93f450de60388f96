"""What a vector store must do for us, and the values that go in and out. The text of a post never does."""

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
CHOSEN_FROM = 2.0
"""So many times as many as are asked for are found by their small copies, and then ranked by the vectors themselves."""


class FieldType(StrEnum):
    """How a field of a point is indexed."""

    NUMBER = "number"
    """Equal to one of many."""
    MOMENT = "moment"
    """Seconds since 1970, by range."""
    WORD = "word"


FIELDS = {
    "channel": FieldType.NUMBER,
    "at": FieldType.MOMENT,
    "lang": FieldType.WORD,
    "flags": FieldType.WORD,
    **{f"{name}_{tier.value}": FieldType.WORD for tier in Tier for name in ("tags", "topic", "kind")},
}
"""What can be filtered by; each has an index."""

type Payload = Mapping[str, int | str | Sequence[str]]


@dataclass(frozen=True, slots=True)
class Space:
    """Vectors that can be compared: those of one model. Its name is what searches ask for, whichever collection stands behind it."""

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
    """The space of a collection, if it is of this model."""
    numbers = re.search(r"-(\d+)-g\d+$", collection)
    space = Space(model, int(numbers[1])) if numbers else None
    return space if space is not None and space.holds(collection) else None


def generation_of(collection: str) -> int:
    return int(collection.rpartition("-g")[2])


@dataclass(frozen=True, slots=True)
class Point:
    """One post."""

    post_id: PostId
    vector: Sequence[float]
    payload: Payload = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hit:
    """A post that was found, and how near it is: 1 is the same."""

    post_id: PostId
    score: float


@dataclass(frozen=True, slots=True)
class Reach:
    """The channels that somebody may see, by the tier of understanding that is theirs to see there."""

    local: frozenset[ChannelId] = frozenset()
    provider: frozenset[ChannelId] = frozenset()
    since: Mapping[ChannelId, datetime] = field(default_factory=dict)
    """Where the window of a channel begins; one that is not named here is seen from its beginning."""

    @property
    def channels(self) -> frozenset[ChannelId]:
        return self.local | self.provider


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorQuery:
    """What is looked for. Several values of one kind mean any of them."""

    vector: Sequence[float] = ()
    reach: Reach | None
    """None: the asker sees every channel, with a provider's understanding."""
    limit: int
    since: datetime | None = None
    until: datetime | None = None
    languages: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    without_ads: bool = False
    has: tuple[Has, ...] = ()
    """All of them."""

    @property
    def is_in_vain(self) -> bool:
        """Who reaches no channel finds nothing."""
        return self.reach is not None and not self.reach.channels


class Searchable(Protocol):
    """What answers searches. Busy is whatever passes."""

    where: str
    """In words, for people."""

    async def search(self, space: Space, sought: VectorQuery) -> tuple[Hit, ...]:
        """The nearest first; nothing where there is no such space."""
        ...


class Vectors(Searchable, Protocol):
    """The store. Every write may run twice; what is written into a collection that is gone is lost with it."""

    async def collections(self) -> Mapping[str, str | None]:
        """Every collection of ours, and the name of the space that shows it now; None while it is being built."""
        ...

    async def create(self, space: Space, collection: str) -> None:
        """With its indexes. One that exists stays as it is."""
        ...

    async def switch(self, space: Space, collection: str) -> None:
        """From now on searches in that space see this collection; at once, for everybody."""
        ...

    async def drop(self, collection: str) -> None: ...

    async def upsert(self, collection: str, points: Sequence[Point]) -> None: ...

    async def delete(self, collection: str, post_ids: Sequence[PostId]) -> None: ...

    async def count(self, collection: str) -> int: ...


def post_id_in(uuid: UUID) -> PostId:
    """The post of a point."""
    return PostId(ChannelId(uuid.int >> 64), MessageId(uuid.int & (1 << 64) - 1))
