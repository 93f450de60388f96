"""Whether two files show the same picture, perhaps saved again, scaled down or with a watermark.

A perceptual hash finds similar pictures. It does not notice a changed date on a notice, so the text in both pictures must
match too: the numbers exactly, the words nearly.
"""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

COARSE_BITS = 64
NEAR = 7
"""The most coarse bits of 64 that may differ; `probes` depends on it."""
FINE_NEAR = 16
"""The most fine bits of 256 that may differ. Saved or watermarked copies differ in up to 15, cropped ones in more: those count as different."""
PLAIN_BITS = 4
"""A picture with fewer set (or unset) bits is nearly one colour and would match every other such picture."""
SAME_WORDS = 0.8
BANDS = 4
_BAND = COARSE_BITS // BANDS
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"(?<![@\w])[^\W\d_]{3,}")


@dataclass(frozen=True, slots=True)
class Look:
    """Two perceptual hashes of a picture: which of two neighbouring points is brighter, on a coarse and on a fine grid."""

    coarse: int
    fine: int

    @property
    def is_plain(self) -> bool:
        return not PLAIN_BITS <= self.coarse.bit_count() <= COARSE_BITS - PLAIN_BITS


def is_same_picture(one: Look, other: Look, *, words: str, other_words: str) -> bool:
    """Compares two pictures. `words` and `other_words` are their texts, read by the same OCR."""
    is_near = (one.coarse ^ other.coarse).bit_count() <= NEAR and (one.fine ^ other.fine).bit_count() <= FINE_NEAR
    if one.is_plain or other.is_plain or not is_near:
        return False
    if sorted(_NUMBER.findall(words)) != sorted(_NUMBER.findall(other_words)):
        return False
    here, there = (_WORD.findall(text.casefold()) for text in (words, other_words))
    return SequenceMatcher(None, here, there, autojunk=False).ratio() >= SAME_WORDS


def bands(coarse: int) -> tuple[int, ...]:
    """Splits the hash into four pieces, the lowest first."""
    return tuple(coarse >> (_BAND * band) & ((1 << _BAND) - 1) for band in range(BANDS))


def probes(coarse: int) -> tuple[tuple[int, ...], ...]:
    """The values to look up for each piece: hashes that differ in at most seven bits have a piece that differs in at most one."""
    return tuple((piece, *(piece ^ (1 << bit) for bit in range(_BAND))) for piece in bands(coarse))
