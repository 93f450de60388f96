"""Whether two files show the same picture, perhaps saved again, scaled down or with a watermark.

A perceptual hash finds similar pictures. It does not notice a changed date on a notice, so the text in both
pictures must match too: the numbers exactly, the words nearly.
"""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

COARSE_BITS = 64
NEAR = 7
"""The most coarse bits of 64 that may differ; `probes` depends on it."""
FINE_NEAR = 16
"""The most fine bits of 256 that may differ.

Saved or watermarked copies differ in up to 15, cropped ones in more: those count as different.
"""
PLAIN_BITS = 4
"""A picture with fewer set (or unset) bits is nearly one colour and would match every other such picture."""
CROP_NEAR, CROP_FINE_NEAR = 20, 72
"""The most bits in which a cropped copy differs.

Unlike pictures differ in half of them, pictures of one template in as few: the words decide.
"""
MIN_CROP_WORDS = 4
"""With fewer words in a picture, such as the name of a channel,
a crop cannot be told from another picture.
"""
SAME_WORDS = 0.8
MAX_WORDS = 100
"""So many different words of a picture are compared: what a stranger has written must not keep us busy."""
BANDS = 4
_BAND = COARSE_BITS // BANDS
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"(?<![@\w])[^\W\d_]{3,}")


@dataclass(frozen=True, slots=True)
class Look:
    """Two perceptual hashes of a picture: which of two neighbouring points is brighter,
    on a coarse and on a fine grid.
    """

    coarse: int
    fine: int

    @property
    def is_plain(self) -> bool:
        return not PLAIN_BITS <= self.coarse.bit_count() <= COARSE_BITS - PLAIN_BITS


def is_same_picture(look: Look, other: Look, *, words: str, other_words: str) -> bool:
    """Compares two pictures. `words` and `other_words` are their texts, read by the same OCR."""
    return look_alike(look, other) and _words_agree(words, other_words)


def is_copied_picture(look: Look, other: Look, *, words: str, other_words: str) -> bool:
    """Like `is_same_picture`, and finds cropped copies too, if there are words in them.

    For pictures of posts that tell the same.
    """
    if not look_alike(look, other, near=CROP_NEAR, fine_near=CROP_FINE_NEAR) or not _words_agree(
        words, other_words
    ):
        return False
    return (
        look_alike(look, other) or min(len(_words_of(words)), len(_words_of(other_words))) >= MIN_CROP_WORDS
    )


def look_alike(look: Look, other: Look, *, near: int = NEAR, fine_near: int = FINE_NEAR) -> bool:
    """Whether their hashes are near. Alone it proves nothing: notices of one kind look alike."""
    if look.is_plain or other.is_plain:
        return False
    return (look.coarse ^ other.coarse).bit_count() <= near and (
        look.fine ^ other.fine
    ).bit_count() <= fine_near


def _words_agree(text: str, other: str) -> bool:
    """The numbers exactly, the words nearly."""
    if sorted(_NUMBER.findall(text)) != sorted(_NUMBER.findall(other)):
        return False
    return SequenceMatcher(None, _words_of(text), _words_of(other), autojunk=False).ratio() >= SAME_WORDS


def _words_of(text: str) -> list[str]:
    return list(dict.fromkeys(_WORD.findall(text.casefold())))[:MAX_WORDS]


def bands(coarse: int) -> tuple[int, ...]:
    """Splits the hash into four pieces, the lowest first."""
    return tuple(coarse >> (_BAND * band) & ((1 << _BAND) - 1) for band in range(BANDS))


def probes(coarse: int) -> tuple[tuple[int, ...], ...]:
    """The values to look up for each piece: hashes that differ in at most
    seven bits have a piece that differs in at most one.
    """
    return tuple((piece, *(piece ^ (1 << bit) for bit in range(_BAND))) for piece in bands(coarse))
