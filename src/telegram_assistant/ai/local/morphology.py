"""Russian words from pymorphy3's dictionary: all forms of a word, and whether a word is somebody's name."""

from functools import lru_cache

from pymorphy3 import MorphAnalyzer

from telegram_assistant.ai.local.names import NameKind
from telegram_assistant.ai.local.words import Forms, plain_forms
from telegram_assistant.ai.outputs import EntityKind

NAMES = {"Geox": EntityKind.PLACE, "Orgn": EntityKind.ORGANISATION, "Name": EntityKind.PERSON, "Surn": EntityKind.PERSON, "Patr": EntityKind.PERSON}
SURE = 0.3
"""Of a word's readings so much must be a name."""


def dictionary() -> tuple[Forms, NameKind]:
    """Loads the dictionary, about 15 MB; words are remembered, because people use few."""
    analyser = MorphAnalyzer()

    def forms(word: str) -> frozenset[str]:
        if word.isascii():
            return plain_forms(word)
        read = analyser.parse(word)
        normal = [one for one in read if one.normal_form == word] or read[:1]
        return frozenset({word, *(one.word for reading in normal for one in reading.lexeme)})

    @lru_cache(maxsize=50_000)
    def name_kind(word: str) -> EntityKind | None:
        for reading in analyser.parse(word):
            if reading.score < SURE:
                break
            found = next((kind for mark, kind in NAMES.items() if mark in reading.tag), None)
            if found is not None:
                return found
        return None

    return forms, name_kind
