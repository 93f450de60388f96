"""What changed between two versions of a text, word by word."""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

_WORDS = re.compile(r"\s+|\d+(?:[.,:]\d+)+|\w+|[^\w\s]")
"""A number is one word, with its decimals: 2.1 became 10.8, not 2 → 10 and 1 → 8."""
LONGEST = 4000
"""Words: beyond that, what follows is told as one piece."""


class Change(StrEnum):
    """What became of a piece of text."""

    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text that was kept, taken out or put in."""

    change: Change
    text: str


def difference(before: str, after: str) -> tuple[Piece, ...]:
    """The pieces in reading order: those kept and removed make the old text, those kept and added the new one."""
    old, new = _words(before), _words(after)
    pieces: list[Piece] = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            pieces.append(Piece(Change.SAME, "".join(old[a:b])))
            continue
        if a < b:
            pieces.append(Piece(Change.REMOVED, "".join(old[a:b])))
        if c < d:
            pieces.append(Piece(Change.ADDED, "".join(new[c:d])))
    return tuple(pieces)


def _words(text: str) -> list[str]:
    words = _WORDS.findall(text)
    return words if len(words) <= LONGEST else [*words[:LONGEST], "".join(words[LONGEST:])]
