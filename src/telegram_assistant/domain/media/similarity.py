"""Whether two files show the same picture: saved again, made smaller, with a mark in its corner.

A hash of its looks finds pictures that are near. It does not see that a date on a notice is another one, so what is written
in them must be the same too: the numbers exactly, the words nearly.
"""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

COARSE_BITS = 64
NEAR = 7
"""So many of the 64 coarse bits may differ; `probes` depends on it."""
FINE_NEAR = 16
"""Of the 256 fine bits. What is saved again or marked differs in up to 15, what is cropped in more: that is another picture here."""
PLAIN_BITS = 4
"""A picture with fewer edges than that is nearly one colour, and like every other of that kind."""
SAME_WORDS = 0.8
BANDS = 4
_BAND = COARSE_BITS // BANDS
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"(?<![@\w])[^\W\d_]{3,}")


@dataclass(frozen=True, slots=True)
class Look:
    """Two hashes of what a picture looks like: which of two neighbouring points is brighter, on a coarse and on a fine grid."""

    coarse: int
    fine: int

    @property
    def is_plain(self) -> bool:
        return not PLAIN_BITS <= self.coarse.bit_count() <= COARSE_BITS - PLAIN_BITS


def is_same_picture(one: Look, other: Look, *, words: str, other_words: str) -> bool:
    """`words` is what was read in each of them, by the same reader."""
    is_near = (one.coarse ^ other.coarse).bit_count() <= NEAR and (one.fine ^ other.fine).bit_count() <= FINE_NEAR
    if one.is_plain or other.is_plain or not is_near:
        return False
    if sorted(_NUMBER.findall(words)) != sorted(_NUMBER.findall(other_words)):
        return False
    here, there = (_WORD.findall(text.casefold()) for text in (words, other_words))
    return SequenceMatcher(None, here, there, autojunk=False).ratio() >= SAME_WORDS


def bands(coarse: int) -> tuple[int, ...]:
    """The hash in four pieces, the lowest first."""
    return tuple(coarse >> (_BAND * band) & ((1 << _BAND) - 1) for band in range(BANDS))


def probes(coarse: int) -> tuple[tuple[int, ...], ...]:
    """What to look for in each piece: hashes that differ in at most seven bits have a piece that differs in at most one."""
    return tuple((piece, *(piece ^ (1 << bit) for bit in range(_BAND))) for piece in bands(coarse))
