"""Whether two texts of a few sentences tell one event, although their posts were not grouped."""

from collections.abc import Sequence

from telegram_assistant.language.names import names_in
from telegram_assistant.language.parsed_text import ParsedWord
from telegram_assistant.summaries.disputes import words_around

MIN_SHARED_NAMES = 1
MIN_SHARED_WORDS = 4
MIN_SHARE = 0.3
"""Of the words beside names, of the shorter text."""


def tell_same_event(text: str, other_text: str) -> bool:
    """Whether both have a name in common, and many of the other words of the shorter one."""
    if len(names_in(text) & names_in(other_text)) < MIN_SHARED_NAMES:
        return False
    shorter, longer = sorted((_words_in(text), _words_in(other_text)), key=len)
    readings = frozenset(reading for word in longer for reading in word.readings)
    shared = sum(bool(word.readings & readings) for word in shorter)
    return shared >= max(MIN_SHARED_WORDS, MIN_SHARE * len(shorter))


def _words_in(text: str) -> Sequence[ParsedWord]:
    words = {word.folded: word for word in words_around(text)}
    return tuple(words.values())
