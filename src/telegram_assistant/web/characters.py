"""Strangers' characters: which of them a page shows, and which it replaces or leaves out.

Control characters become U+FFFD. Characters that set the direction of the text after them are left out: our elements set the direction
(`dir="auto"`), and one stray character would end them early or turn what follows. Marks like U+200F stay, they act like one letter.
"""

import unicodedata
from itertools import accumulate

from telegram_assistant.domain.posts.text import storable

_LEFT_OUT = frozenset(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x2070))))
"""Embeddings, overrides, isolates, and deprecated characters that change how others are drawn."""
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0))
_KEPT = {ord("\t"): "\t", ord("\n"): "\n"}
_SPACES = dict.fromkeys(map(ord, "\r\v\f"), " ")
_LINE_BREAKS = dict.fromkeys((0x85, 0x2028, 0x2029), "\n")
_SHOWN_AS = dict.fromkeys(_CONTROLS, "\ufffd") | dict.fromkeys(map(ord, _LEFT_OUT), "") | _SPACES | _LINE_BREAKS | _KEPT
_BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Fillers, which Unicode counts as letters and symbols."""


def clean_characters(text: str) -> str:
    return storable(text).translate(_SHOWN_AS)


def places_of_units(text: str) -> list[int]:
    """The place in the cleaned text of each UTF-16 unit of `text`, and of its end.

    The place between the two units of one character is the place before it.
    """
    steps = (step for character in storable(text) for step in ((0, 1) if character > "\uffff" else (int(character not in _LEFT_OUT),)))
    return list(accumulate(steps, initial=0))


def has_visible(text: str) -> bool:
    """Whether a reader sees anything: a letter, number, sign or symbol."""
    return any(unicodedata.category(character)[0] in "LNPS" and character not in _BLANK_LETTERS for character in text)
