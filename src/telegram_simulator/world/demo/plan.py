"""The plan of the demo world: stories, and posts that tell, repeat or ignore them."""

import math
import random
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache

from telegram_simulator.world.demo.packs import EventType, Manner
from telegram_simulator.world.demo.wording import Values
from telegram_simulator.world.rhythm import Rhythm, busy_at, moments_at

DAY = 86_400
HOUR = 3600
HOURS_EAST = {"ru": 3.0, "en": 0.0}
"""Russian channels live by Moscow's clock, English ones by London's."""


class Role(StrEnum):
    """The role of a post in its story."""

    FIRST = "first"
    FORWARD = "forward"
    COPY = "copy"
    REWRITE = "rewrite"
    TRANSLATION = "translation"
    FOLLOW_UP = "follow-up"
    NONE = "none"


REPEATING = frozenset({Role.FORWARD, Role.COPY, Role.TRANSLATION})


class Kind(StrEnum):
    """The purpose of a post."""

    NEWS = "news"
    OPINION = "opinion"
    ADVERTISING = "advertising"
    SERVICE = "service"


class Shows(StrEnum):
    """The media of a post."""

    NOTHING = ""
    PHOTO = "photo"
    VIDEO = "video"
    PDF = "pdf"
    WEBP = "webp"
    GIF = "gif"
    PNG = "png"
    PAGE = "page"
    POLL = "poll"


class Reuse(StrEnum):
    """How a channel changed a picture that another channel had shown before."""

    ORIGINAL = "original"
    RECOMPRESSED = "recompressed"
    CROPPED = "cropped"
    WATERMARKED = "watermarked"


class Edit(StrEnum):
    """Why a post is edited."""

    CORRECTION = "correction"
    """It said a wrong number."""
    UPDATE = "update"
    TYPO = "typo"


@dataclass(frozen=True, slots=True)
class Story:
    """Something happened."""

    story_id: str
    number: int
    event: EventType
    values: Values
    wrong: Values
    """The same with another number, for reports that contradict it."""
    begins: int
    burst: bool
    resembles: str | None
    """Another story of the same kind that day: an event that looks alike and is a different one."""


@dataclass(frozen=True, slots=True)
class Wording:
    """The sentences of a story that a post uses: a translation uses the same ones, a rewrite others."""

    head: int
    lead: int
    facts: tuple[int, ...]
    quote: int | None


@dataclass(frozen=True, slots=True)
class Filling:
    """A post without a story: its sentence and what fills its holes."""

    template: str
    values: Values
    poll: int | None = None


type Piece = tuple[str, str, str]
"""A piece of a text: its words, the kind of its entity and the address behind it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """The changes that the unruly world makes to a post."""

    kinds: tuple[str, ...]
    """The kinds of the changes, for the truth."""
    pieces: tuple[Piece, ...] = ()
    """The whole text of a post that tells no story."""
    sentences: tuple[str, ...] = ()
    """The sentences of a follow-up."""
    beside: tuple[str, ...] = ()
    """Sentences behind the others."""
    dateline: str = ""
    signature: tuple[Piece, ...] = ()
    named_source: str = ""
    state: str = ""
    """The state of its story from this post on."""
    repeats: bool = False
    """A follow-up in the words of its source."""
    is_verbatim: bool = False
    """A copy that changes nothing, not even the signature."""
    is_reply: bool = True
    """Whether a follow-up replies to its channel's earlier post."""


@dataclass(frozen=True, slots=True, eq=False)
class Planned:
    """One message that will appear. `source` is the post it repeats or follows."""

    key: int
    channel: Manner
    date: int
    role: Role
    kind: Kind
    topic: str
    story: Story | None = None
    source: "Planned | None" = None
    wording: Wording = Wording(0, 0, (), None)
    filling: Filling | None = None
    shows: Shows = Shows.NOTHING
    reuse: Reuse = Reuse.ORIGINAL
    part: int = 0
    parts: int = 1
    wrong: bool = False
    denies: bool = False
    links: bool = False
    edit: Edit | None = None
    edit_at: int | None = None
    deleted_at: int | None = None
    planted: Planted | None = None

    @property
    def root(self) -> "Planned":
        """The post that a forward of this one shows: a forward of a forward names the first."""
        return self.source.root if self.role is Role.FORWARD and self.source is not None else self

    @property
    def author(self) -> "Planned":
        """The post that wrote the words: forwards, copies and translations have the words of their source."""
        is_repeated = self.role in REPEATING or (self.planted is not None and self.planted.repeats)
        return self.source.author if is_repeated and self.source is not None else self


@dataclass(slots=True)
class Day:
    """A day that is being planned. Everything in it follows from the seed and the number of the day."""

    seed: int
    number: int
    rng: random.Random
    keys: int = 0
    used: Counter[tuple[str, ...]] = field(default_factory=Counter)
    """How often each kind of text was used today, by the names given to `turn`."""
    orders: dict[tuple[str, ...], list[int]] = field(default_factory=dict)

    @property
    def begins(self) -> int:
        return self.number * DAY

    @property
    def is_weekend(self) -> bool:
        return self.number % 7 in {2, 3}  # Unix time began on a Thursday

    def key(self) -> int:
        self.keys += 1
        return self.number * 1_000_000 + self.keys * 16

    def turn(self, *name: str) -> int:
        """How often it was called today with this name before: so that sentences take turns."""
        self.used[name] += 1
        return self.used[name] - 1

    def order(self, length: int, *name: str) -> list[int]:
        """Today's order of so many sentences."""
        if name not in self.orders:
            self.orders[name] = list(range(length))
            random.Random(f"{self.seed} {self.number} {name}").shuffle(self.orders[name])
        return self.orders[name]


def day_of(seed: int, number: int) -> Day:
    return Day(seed, number, random.Random(f"demo {seed} {number}"))


@cache
def _rhythm(per_day: float, profile: int, language: str) -> Rhythm:
    return Rhythm(per_day, profile, HOURS_EAST[language])


def busyness(channel: Manner, begins: int) -> float:
    """How busy the channel is that day, beside its average: weekends are slower for most."""
    rhythm = _rhythm(channel.per_day, channel.profile, channel.language)
    return (busy_at(rhythm, begins + DAY) - busy_at(rhythm, begins)) / 24


def moment_within(channel: Manner, begins: int, rng: random.Random) -> int:
    """A moment of that day at which the channel would post."""
    rhythm = _rhythm(channel.per_day, channel.profile, channel.language)
    morning, night = busy_at(rhythm, begins), busy_at(rhythm, begins + DAY)
    return max(moments_at(rhythm, [morning + (night - morning) * rng.random()])[0], begins)


def hour_of(channel: Manner, moment: int) -> int:
    """The hour by the clock of the channel's readers."""
    return int((moment + HOURS_EAST[channel.language] * HOUR) % DAY // HOUR)


def moment_after(channel: Manner, moment: int, busy_hours: float) -> int:
    """After so many of the channel's busy hours; who sleeps answers in the morning."""
    rhythm = _rhythm(channel.per_day, channel.profile, channel.language)
    return max(moments_at(rhythm, [busy_at(rhythm, moment) + busy_hours])[0], moment + 20)


def poisson(mean: float, rng: random.Random) -> int:
    count, threshold = 0, math.exp(-mean)
    chance = rng.random()
    while chance > threshold:
        count += 1
        chance *= rng.random()
    return count
