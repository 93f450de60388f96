"""Strangers' characters: which of them a page shows, and which it replaces or leaves out.

Control characters become U+FFFD. Characters that set the direction of the text after them are left out: our
elements set the direction (`dir="auto"`), and one stray character would end them early or turn what follows.
Marks like U+200F stay, they act like one letter.
"""

import re
import unicodedata

from telegram_assistant.domain.posts.text import storable

_LEFT_OUT = (*range(0x202A, 0x202F), *range(0x2066, 0x2070))
"""Embeddings, overrides, isolates, and deprecated characters that change how others are drawn."""
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0))
_ALLOWED_CONTROLS = {ord("\t"): "\t", ord("\n"): "\n"}
_SPACES = dict.fromkeys(map(ord, "\r\v\f"), " ")
_LINE_BREAKS = dict.fromkeys((0x85, 0x2028, 0x2029), "\n")
_SHOWN_AS = (
    dict.fromkeys(_CONTROLS, "\ufffd")
    | dict.fromkeys(_LEFT_OUT, "")
    | _SPACES
    | _LINE_BREAKS
    | _ALLOWED_CONTROLS
)
_REPLACED = re.compile(f"[{''.join(map(re.escape, map(chr, _SHOWN_AS.keys() - _ALLOWED_CONTROLS.keys())))}]")
_SHIFTING = re.compile("[\u202a-\u202e\u2066-\u206f\U00010000-\U0010ffff]")
"""Two UTF-16 units, or left out: what follows has another place in the text than its unit says."""
_BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Fillers, which Unicode counts as letters and symbols."""


def clean_characters(text: str) -> str:
    text = storable(text)
    return text.translate(_SHOWN_AS) if _REPLACED.search(text) else text


def places_of_units(text: str) -> list[int]:
    """The place in the cleaned text of each UTF-16 unit of `text`, and of its end.

    The place between the two units of one character is the place before it.
    """
    text, letter_indexes, copied_until, letter_index = storable(text), list[int](), 0, 0
    for shifting in _SHIFTING.finditer(text):
        letter_indexes += range(letter_index, letter_index + shifting.start() - copied_until)
        letter_index += shifting.start() - copied_until
        copied_until = shifting.end()
        letter_indexes += (letter_index, letter_index) if shifting[0] > "\uffff" else (letter_index,)
        letter_index += shifting[0] > "\uffff"
    letter_indexes += range(letter_index, letter_index + len(text) - copied_until + 1)
    return letter_indexes


def has_visible(text: str) -> bool:
    """Whether a reader sees anything: a letter, number, sign or symbol."""
    return any(
        unicodedata.category(character)[0] in "LNPS" and character not in _BLANK_LETTERS for character in text
    )
