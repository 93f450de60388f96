"""The texts of the demo world: data files that were frozen before anything was measured with them."""

import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, NamedTuple

from telegram_simulator.world.article import Furniture

LANGUAGES = ("ru", "en")
NAMED = frozenset(
    {
        "city",
        "tech",
        "firm",
        "person",
        "team",
        "observatory",
        "expedition",
        "clinic",
        "sealab",
        "museum",
        "ship",
        "bridge",
        "film",
    }
)
"""Kinds of names that are entities; streets and seas come as phrases."""
_HOURS = re.compile(r"(\d\d)-(\d\d) ")
TOPICS = ("city", "incident", "tech", "science", "sport", "market", "culture", "osint")


class Name(NamedTuple):
    """Somebody or something with a name: Russian in all forms that texts need, and English."""

    kind: str
    ru: Mapping[str, str]
    en: Mapping[str, str]

    def spell(self, language: str, form: str = "") -> str:
        forms = self.ru if language == "ru" else self.en
        return forms[form] if form in forms else next(iter(forms.values()))


class Numbers(NamedTuple):
    """Numbers from `low` to `high`; whole ones, or with one decimal."""

    low: float
    high: float
    step: int = 1


type Choice = tuple[Name, ...] | Numbers
type Words = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, repr=False)
class EventType:
    """A kind of event: what may differ from one to the next,
    and sentences that say the same in both languages.
    """

    name: str
    topic: str
    scene: str
    key: str
    """The slot whose number reports may get wrong."""
    slots: Mapping[str, Choice]
    words: Mapping[str, Words]
    beside: Mapping[str, Sequence[Sequence[int]]]
    """By language and lead: the facts that do not tell a number again which the lead has told."""


@dataclass(frozen=True, slots=True)
class Filler:
    """Sentences that are no story: advertising, the weather."""

    slots: Mapping[str, Choice]
    texts: Words
    hours: Mapping[str, Sequence[range]]
    """By language and text: the hours of the day at which it may be said."""


@dataclass(frozen=True, slots=True, repr=False)
class Voice:
    """How a channel speaks."""

    before: Words
    after: Words
    emoji: Sequence[str]
    sentences: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Manner:
    """One channel's character."""

    index: int
    name: str
    title: str
    language: str
    topics: tuple[str, ...]
    per_day: float
    profile: int
    voice: Voice
    habits: tuple[int, int, int]
    """How it takes up a story of others: weights of forwards, copies and rewrites."""
    ads: float
    members: int
    invite: str

    @property
    def is_rumour(self) -> bool:
        return self.voice is packs().voices["rumour"]


@dataclass(frozen=True, slots=True)
class PressPack:
    """The texts that a newspaper puts around the facts of a story."""

    furniture: Furniture
    authors: Sequence[str]
    more: Sequence[str]
    why: Sequence[str]
    end: Sequence[str]
    background: Words


@dataclass(frozen=True, slots=True)
class Packs:
    """All of it."""

    events: tuple[EventType, ...]
    notes: Mapping[str, Mapping[str, Words]]
    last_words: Words
    advertising: Filler
    daily: Mapping[str, Filler]
    polls: tuple[Mapping[str, Sequence[str]], ...]
    voices: Mapping[str, Voice]
    marks: Mapping[str, Words]
    hashtags: Mapping[str, Sequence[str]]
    channels: tuple[Manner, ...]
    press: Mapping[str, PressPack]


def _folder() -> Traversable:
    return files("telegram_simulator.world.demo") / "packs"


def _pack_files(folder: Traversable) -> Iterator[Traversable]:
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if file.is_dir():
            yield from _pack_files(file)
        elif file.name.endswith(".toml"):
            yield file


def packs_sha256() -> str:
    """The hash of every pack, in the order of their names."""
    digest = hashlib.sha256()
    for file in _pack_files(_folder()):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


@cache
def packs() -> Packs:
    """The packs, read once."""
    folder = _folder()
    kinds = {
        kind: _names(table.get("kind", kind), table)
        for kind, table in _read_toml(folder / "entities.toml").items()
    }
    events = tuple(
        _event(topic, table, kinds)
        for topic in TOPICS
        for table in _read_toml(folder / "events" / f"{topic}.toml")["event"]
    )
    fillers, voice_tables, notes = (
        _read_toml(folder / "fillers.toml"),
        _read_toml(folder / "voices.toml"),
        _read_toml(folder / "notes.toml"),
    )
    last_words, marks, hashtags = notes.pop("c"), voice_tables.pop("marks"), voice_tables.pop("topics")
    voices = {name: _voice(table) for name, table in voice_tables.items()}
    manners = enumerate(_read_toml(folder / "channels.toml")["channel"])
    return Packs(
        events=events,
        notes=notes,
        last_words=last_words,
        advertising=_filler(fillers["advertising"], kinds),
        daily={topic: _filler(table, kinds) for topic, table in fillers["daily"].items()},
        polls=tuple(fillers["poll"]),
        voices=voices,
        marks=marks,
        hashtags=hashtags,
        channels=tuple(make_manner(index, table, voices) for index, table in manners),
        press={language: _press(table) for language, table in _read_toml(folder / "articles.toml").items()},
    )


def _read_toml(file: Traversable) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


def _names(kind: str, table: Mapping[str, Any]) -> tuple[Name, ...]:
    return tuple(_name(kind, text, table["forms"]) for text in table["names"])


def _name(kind: str, text: str, forms: Sequence[str]) -> Name:
    ru, en = ([form.strip() for form in side.split("|")] for side in text.split(" = "))
    return Name(kind, dict(zip(forms, ru, strict=True)), dict(zip(forms, en, strict=False)))


def _slots(table: Mapping[str, Any], kinds: Mapping[str, tuple[Name, ...]]) -> dict[str, Choice]:
    return {slot: _choice(slot, choice, kinds) for slot, choice in table.items()}


def _choice(slot: str, choice: Any, kinds: Mapping[str, tuple[Name, ...]]) -> Choice:
    if isinstance(choice, str):
        return kinds[choice]
    if isinstance(choice[0], str):
        forms = [str(number + 1) for number in range(choice[0].split(" = ")[0].count("|") + 1)]
        return tuple(_name(slot, text, forms) for text in choice)
    return Numbers(*choice)


def _event(topic: str, table: Mapping[str, Any], kinds: Mapping[str, tuple[Name, ...]]) -> EventType:
    words, slots = {language: table[language] for language in LANGUAGES}, _slots(table["slots"], kinds)
    beside_texts = {
        language: [_beside(lead, phrases["fact"], slots) for lead in phrases["lead"]]
        for language, phrases in words.items()
    }
    return EventType(table["id"], topic, table["scene"], table["key"], slots, words, beside_texts)


def _beside(lead: str, facts: Sequence[str], slots: Mapping[str, Choice]) -> list[int]:
    def numbers(sentence: str) -> set[str]:
        return {
            slot
            for slot, choice in slots.items()
            if isinstance(choice, Numbers) and re.search(rf"\{{{slot}\b", sentence)
        }

    return [fact_index for fact_index, fact in enumerate(facts) if not numbers(fact) & numbers(lead)]


def _filler(table: Mapping[str, Any], kinds: Mapping[str, tuple[Name, ...]]) -> Filler:
    texts = {language: [_split_hours(text) for text in table[language]] for language in LANGUAGES}
    return Filler(
        _slots(table["slots"], kinds),
        {language: [text for text, _ in timed] for language, timed in texts.items()},
        {language: [hours for _, hours in timed] for language, timed in texts.items()},
    )


def _split_hours(text: str) -> tuple[str, range]:
    """A text, and the hours that may stand before it: `05-10 Morning in {city}`."""
    match = _HOURS.match(text)
    return (
        (text, range(24)) if match is None else (text[match.end() :], range(int(match[1]), int(match[2]) + 1))
    )


def _press(table: Mapping[str, Any]) -> PressPack:
    return PressPack(**{**table, "furniture": Furniture(**table["furniture"])})


def _voice(table: Mapping[str, Any]) -> Voice:
    before, after = (
        {language: table[language][side] for language in LANGUAGES} for side in ("before", "after")
    )
    return Voice(before, after, table["emoji"], tuple(table["sentences"]))


def make_manner(index: int, table: Mapping[str, Any], voices: Mapping[str, Voice]) -> Manner:
    fields = {
        **table,
        "voice": voices[table["voice"]],
        "topics": tuple(table["topics"]),
        "habits": tuple(table["habits"]),
    }
    return Manner(index=index, invite=fields.pop("invite", ""), **fields)
