"""People, places and organisations by how their names are written: large, within a sentence.

A network finds more (natasha's takes 45 ms of a core for a post of 400 characters, measured); this takes a fiftieth of a millisecond.
"""

import re
from collections.abc import Callable, Iterator
from itertools import groupby

from telegram_assistant.ai.outputs import Entity, EntityKind

MOST_NAMES = 10
MOST_CHARACTERS = 4_000
LONGEST = 100
_RUN = re.compile(r"(?<![\w#@/])[A-ZА-ЯЁ][\w’'-]*(?:[ \u00a0](?:of |de |van |von |the )?[A-ZА-ЯЁ][\w’'-]*)*")
_BEGINS = re.compile(r"(?:^|[.!?…:;\n«\"“—–-]\s*|\W{3,})$")
_ORGANISATION = re.compile(
    r"\b(?:Inc|Corp|Ltd|LLC|GmbH|Bank|University|Ministry|Agency|Council|Committee|Party|Club|Group|Institute|Museum|Court|Parliament)\b"
)
_TITLED = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|President|Minister|Mayor|Governor|Senator|Judge|Captain|Professor)\.? [A-Z]")
_PREPOSITION = re.compile(r"\b(?:in|at|near|from|to)\s$")
_TWO_WORDS = 2

type NameKind = Callable[[str], EntityKind | None]
"""What a word is the name of, by a dictionary; None for no name."""


def no_dictionary(_word: str) -> EntityKind | None:
    return None


def names_in(text: str, name_kind: NameKind) -> tuple[Entity, ...]:
    """In the order of the text, each once."""
    found: dict[str, EntityKind] = {}
    for name, kind in _found(text[:MOST_CHARACTERS], name_kind):
        found.setdefault(name[:LONGEST], kind)
        if len(found) == MOST_NAMES:
            break
    return tuple(Entity(text=name, kind=kind) for name, kind in found.items())


def _found(text: str, name_kind: NameKind) -> Iterator[tuple[str, EntityKind]]:
    for run in _RUN.finditer(text):
        name, start = run.group().rstrip("-’'"), run.start()
        before = text[max(0, start - 6) : start]
        begins = _BEGINS.search(before) is not None or start == 0
        if not name.isascii():
            yield from _russian(name, name_kind, begins=begins)
        elif (kind := _english(name, before, begins=begins)) is not None:
            yield name, kind


def _russian(name: str, name_kind: NameKind, *, begins: bool) -> Iterator[tuple[str, EntityKind]]:
    """A dictionary knows; at the beginning of a sentence only a name and a surname together are believed."""
    words = [(word, name_kind(word.casefold())) for word in name.split()]
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
    """No dictionary: what stands around the name."""
    if _ORGANISATION.search(name) or (name.isupper() and len(name) > _TWO_WORDS and not begins):
        return EntityKind.ORGANISATION
    if _TITLED.match(name):
        return EntityKind.PERSON
    if begins and " " not in name:
        return None
    if _PREPOSITION.search(before):
        return EntityKind.PLACE
    return EntityKind.PERSON if len(name.split()) == _TWO_WORDS and not name.isupper() else None
