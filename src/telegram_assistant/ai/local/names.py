"""Finds names of people, places and organisations by their capital letters within a sentence, each in its
dictionary form.

A neural network finds more (natasha's takes 45 ms of a core for a post of 400 characters, measured); this
takes a fiftieth of a millisecond.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from telegram_assistant.ai.outputs import EntityKind, NamedEntity

MAX_NAMES = 10
MAX_CHARACTERS = 4_000
LONGEST = 100
MAX_WORD_CHARACTERS = 30
"""No name is longer, and the dictionary analyses long words slowly."""
MAX_LOOKUPS = 30
"""The most dictionary lookups per text; each takes up to a millisecond."""
_RUN = re.compile(r"(?<![\w#@/])[A-ZА-ЯЁ][\w’'-]*(?:[ \u00a0](?:of |de |van |von |the )?[A-ZА-ЯЁ][\w’'-]*)*")
_BEGINS = re.compile(r"(?:^|[.!?…:;\n«\"“—–-]\s*|\W{3,})$")
_ORGANISATION = re.compile(
    r"\b(?:Inc|Corp|Ltd|LLC|GmbH|Bank|University|Ministry|Agency|Council|Committee|Party|Club|Group|"
    r"Institute|Museum|Court|Parliament)\b"
)
_TITLED = re.compile(
    r"\b(?:Mr|Mrs|Ms|Dr|President|Minister|Mayor|Governor|Senator|Judge|Captain|Professor)\.? [A-Z]"
)
_PREPOSITION = re.compile(r"\b(?:in|at|near|from|to)\s$")
_POSSESSIVE = re.compile(r"[’']s\b")
_TWO_WORDS = 2


@dataclass(frozen=True, slots=True)
class NameDictionary:
    """Lookups of Russian words, in lower case."""

    kind_of: Callable[[str], EntityKind | None]
    """The kind of entity that a word names; None if it is no name."""
    nominative: Callable[[tuple[str, ...]], tuple[str, ...]]
    """The words of one name in the nominative; they agree in case, number and gender."""


NO_DICTIONARY = NameDictionary(kind_of=lambda _word: None, nominative=lambda words: words)


def names_in(text: str, dictionary: NameDictionary) -> tuple[NamedEntity, ...]:
    """The distinct names of a text in its order, whatever grammatical case they stand in."""
    kinds: dict[str, EntityKind] = {}
    for name, kind in _found(text[:MAX_CHARACTERS], _limited(dictionary)):
        kinds.setdefault(name[:LONGEST], kind)
        if len(kinds) == MAX_NAMES:
            break
    return tuple(NamedEntity(text=name, kind=kind) for name, kind in kinds.items())


def _limited(dictionary: NameDictionary) -> NameDictionary:
    """Limits the number of lookups and the length of words."""
    lookups = 0

    def kind_of(word: str) -> EntityKind | None:
        nonlocal lookups
        lookups += 1
        return (
            dictionary.kind_of(word) if lookups <= MAX_LOOKUPS and len(word) <= MAX_WORD_CHARACTERS else None
        )

    return replace(dictionary, kind_of=kind_of)


def _found(text: str, dictionary: NameDictionary) -> Iterator[tuple[str, EntityKind]]:
    for run in _RUN.finditer(text):
        name, start = _POSSESSIVE.sub("", run.group()).rstrip("-’'"), run.start()
        before = text[max(0, start - 6) : start]
        begins = _BEGINS.search(before) is not None or start == 0
        if not name.isascii():
            yield from (
                (_canonical(part, dictionary), kind)
                for part, kind in _russian(name, dictionary, begins=begins)
            )
        elif (kind := _english(name, before, begins=begins)) is not None:
            yield name, kind


def _canonical(name: str, dictionary: NameDictionary) -> str:
    """The name in the nominative, capitalised like the text.

    A name in capitals may be an abbreviation and stays unchanged.
    """
    if name.isupper():
        return name
    words = name.split()
    plain = dictionary.nominative(tuple(word.casefold() for word in words))
    return " ".join(_written_like(word, form) for word, form in zip(words, plain, strict=True))


def _written_like(written: str, form: str) -> str:
    parts, likes = form.split("-"), written.split("-")
    if len(parts) != len(likes):
        return form.capitalize()
    return "-".join(
        part.capitalize() if like[:1].isupper() else part for part, like in zip(parts, likes, strict=True)
    )


def _russian(name: str, dictionary: NameDictionary, *, begins: bool) -> Iterator[tuple[str, EntityKind]]:
    """Names found by the dictionary. At the beginning of a sentence a person needs both name and surname."""
    words = [(word, dictionary.kind_of(word.casefold())) for word in name.split()]
    for kind, some in groupby(words, key=lambda word: word[1]):
        together = " ".join(word for word, _ in some)
        is_first, is_two = begins and name.startswith(together), " " in together
        if kind is EntityKind.PERSON:
            if is_two or not is_first:
                yield together, kind
        elif kind is not None:
            yield together, kind
        elif together.isupper() and len(together) >= _TWO_WORDS and not is_first:
            yield together, EntityKind.ORGANISATION


def _english(name: str, before: str, *, begins: bool) -> EntityKind | None:
    """The kind of an English name by its context, without a dictionary."""
    if _ORGANISATION.search(name) or (name.isupper() and len(name) > _TWO_WORDS and not begins):
        return EntityKind.ORGANISATION
    if _TITLED.match(name):
        return EntityKind.PERSON
    if begins and " " not in name:
        return None
    if _PREPOSITION.search(before):
        return EntityKind.PLACE
    return EntityKind.PERSON if len(name.split()) == _TWO_WORDS and not name.isupper() else None
