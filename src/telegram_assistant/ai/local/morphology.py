"""Russian words from pymorphy3's dictionary: all forms of a word, and names with their dictionary forms."""

from collections import Counter
from functools import lru_cache
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING

from telegram_assistant.ai.local.names import NameDictionary
from telegram_assistant.ai.local.words import Forms, plain_forms
from telegram_assistant.ai.outputs import EntityKind

if TYPE_CHECKING:
    from telegram_assistant.language.russian import Analyser, Reading

NAMES = {
    "Geox": EntityKind.PLACE,
    "Orgn": EntityKind.ORGANISATION,
    "Name": EntityKind.PERSON,
    "Surn": EntityKind.PERSON,
    "Patr": EntityKind.PERSON,
}
SURE = 0.3
"""The share of a word's readings that must be a name."""
MAX_READINGS = 6
MAX_COMBINATIONS = 500


def dictionary(analyser: "Analyser") -> tuple[Forms, NameDictionary]:
    """Lookups in the dictionary. Words are cached, because texts use few different ones."""

    def forms(word: str) -> frozenset[str]:
        if word.isascii():
            return plain_forms(word)
        read = analyser.parse(word)
        normal = [reading for reading in read if reading.normal_form == word] or read[:1]
        return frozenset({word, *(form.word for reading in normal for form in reading.lexeme)})

    @lru_cache(maxsize=50_000)
    def kind_of(word: str) -> EntityKind | None:
        scores: Counter[EntityKind] = Counter()
        for reading in analyser.parse(word):
            kind = _kind_in(reading)
            if kind is not None:
                scores[kind] += reading.score
        kind, score = next(iter(scores.most_common(1)), (None, 0.0))
        return kind if score >= SURE else None

    @lru_cache(maxsize=20_000)
    def nominative(words: tuple[str, ...]) -> tuple[str, ...]:
        readings = [
            [reading for reading in analyser.parse(word) if _kind_in(reading) is not None][:MAX_READINGS]
            for word in words
        ]
        if not all(readings):
            return words
        agreed = max(islice(product(*readings), MAX_COMBINATIONS), key=_agreement)
        return tuple(
            inflected.word if (inflected := reading.inflect({"nomn"})) else reading.word for reading in agreed
        )

    return forms, NameDictionary(kind_of, nominative)


def _kind_in(reading: "Reading") -> EntityKind | None:
    return next((kind for mark, kind in NAMES.items() if mark in reading.tag), None)


def _agreement(readings: tuple["Reading", ...]) -> tuple[bool, int, float]:
    """How plausible these readings are together; most names belong to one person or place."""
    grammar = {(reading.tag.case, reading.tag.number, reading.tag.gender) for reading in readings}
    return (
        len(grammar) == 1,
        sum(reading.tag.number == "sing" for reading in readings),
        prod(reading.score for reading in readings),
    )
