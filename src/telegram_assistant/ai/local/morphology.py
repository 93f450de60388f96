"""Russian words from pymorphy3's dictionary: all forms of a word, and names with their dictionary forms."""

from collections import Counter
from functools import lru_cache
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING

from telegram_assistant.ai.local.base_forms import agreeing_person
from telegram_assistant.ai.local.name_dictionary import NameDictionary, NameWord
from telegram_assistant.ai.local.name_words import GIVEN_NAMES, ORGANISATION, PLACE, SURNAME
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
MIN_SURNAME = 5
SURE = 0.3
"""The share of a word's readings that must be a name."""
MAX_READINGS = 6
MAX_COMBINATIONS = 500


def dictionary(analyser: "Analyser") -> tuple[Forms, NameDictionary]:
    """Lookups in the dictionary. Words are cached, because texts use few different ones."""

    def forms(word: str) -> frozenset[str]:
        if word.isascii():
            return plain_forms(word)
        readings = analyser.parse(word)
        normal_readings = [reading for reading in readings if reading.normal_form == word] or readings[:1]
        return frozenset({word, *(form.word for reading in normal_readings for form in reading.lexeme)})

    @lru_cache(maxsize=50_000)
    def read(word: str) -> NameWord:
        return _read(analyser, word)

    @lru_cache(maxsize=20_000)
    def nominative(
        words: tuple[str, ...],
        kind: EntityKind,
        is_woman: bool,  # noqa: FBT001 -- a key of the cache
    ) -> tuple[str, ...]:
        if kind is EntityKind.PERSON:
            return _person(analyser, words, is_woman=is_woman)
        readings = _readings(analyser, words, kind)
        if not all(readings):
            readings = [[reading for reading in analyser.parse(word) if _kind_in(reading)] for word in words]
        return _agreeing([word_readings[:MAX_READINGS] for word_readings in readings]) or words

    return forms, NameDictionary(read, nominative)


def _read(analyser: "Analyser", word: str) -> NameWord:
    scores: Counter[EntityKind] = Counter()
    ordinary_score, is_adjective = 0.0, False
    marks: set[str] = set()
    normal_form = word
    for reading in analyser.parse(word):
        kind = _kind_in(reading)
        if kind is None or (kind is EntityKind.PLACE and "ADJF" in reading.tag):
            ordinary_score += reading.score
            is_adjective = is_adjective or "ADJF" in reading.tag
        elif kind is not EntityKind.PERSON or reading.tag.number != "plur":
            if kind not in scores:
                normal_form = reading.normal_form
            scores[kind] += reading.score
            marks |= {mark for mark in ("Name", "Surn", "Patr") if mark in reading.tag}
    kind, score = next(iter(scores.most_common(1)), (None, 0.0))
    is_known = bool(analyser.word_is_known(word))
    if not is_known and "Surn" in marks and _is_plausible(word, normal_form, EntityKind.PERSON):
        kind, score = EntityKind.PERSON, SURE
    if kind is not None and not is_known and not _is_plausible(word, normal_form, kind):
        kind = None
    return NameWord(
        kind=kind if score >= SURE else None,
        is_known=is_known,
        is_given_name=word in GIVEN_NAMES or (is_known and "Name" in marks),
        is_surname="Surn" in marks or "Patr" in marks,
        is_place=EntityKind.PLACE in scores,
        is_adjective=is_adjective,
        is_ordinary=is_known and ordinary_score > 0,
    )


def _is_plausible(word: str, normal_form: str, kind: EntityKind) -> bool:
    """Whether a word that the dictionary lacks looks like a name of this kind.

    It guesses by the last letters only.
    """
    if kind is EntityKind.PERSON:
        return len(word) >= MIN_SURNAME and SURNAME.search(word) is not None
    if kind is EntityKind.PLACE:
        return PLACE.search(normal_form) is not None
    return ORGANISATION.search(word) is not None


def _person(analyser: "Analyser", words: tuple[str, ...], *, is_woman: bool) -> tuple[str, ...]:
    """A person in the nominative; words that do not agree stay as they are."""
    if len(words) > 1:
        return agreeing_person(words, analyser, is_woman=is_woman) or words
    readings = _readings(analyser, words, EntityKind.PERSON)
    singular = [
        [reading for reading in word_readings if reading.tag.number == "sing"] for word_readings in readings
    ]
    if is_woman:
        singular = [
            [reading for reading in word_readings if reading.tag.gender == "femn"] or word_readings
            for word_readings in singular
        ]
    return _agreeing(singular) or words


def _readings(analyser: "Analyser", words: tuple[str, ...], kind: EntityKind) -> list[list["Reading"]]:
    """The readings of each word as a name of this kind.

    Persons that the dictionary lacks are read as surnames only.
    """
    readings = []
    for word in words:
        of_kind = [reading for reading in analyser.parse(word) if _kind_in(reading) is kind]
        surnames = [reading for reading in of_kind if "Surn" in reading.tag]
        is_guess = kind is EntityKind.PERSON and not analyser.word_is_known(word)
        readings.append((surnames if is_guess else of_kind)[:MAX_READINGS])
    return readings


def _agreeing(readings: list[list["Reading"]]) -> tuple[str, ...] | None:
    if not all(readings):
        return None
    agreed_readings = max(islice(product(*readings), MAX_COMBINATIONS), key=_agreement)
    return tuple(
        inflected_reading.word if (inflected_reading := reading.inflect({"nomn"})) else reading.word
        for reading in agreed_readings
    )


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
