"""The difference between two versions of a text, word by word, at a bounded cost.

The author of a post chooses both texts, so the work is bounded for any input: a patience diff in a few
passes, and beyond a number of words everything between the common ends counts as one replacement.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import batched, pairwise

_WORDS = re.compile(r"\s+|\d+(?:[.,:]\d+)+|\w+|[^\w\s]")
"""A number is one word, with its decimals: 2.1 became 10.8, not 2 → 10 and 1 → 8."""
MAX_WORDS = 2000
"""The most words of each text between the common ends. Comparing so many takes a few milliseconds."""
MAX_CHARACTERS = 50_000
"""Longer texts, which no post has, count as replaced as a whole."""
MAX_CHANGES = 100
"""The most changes of one edit.

Nobody reads more, and a page of edits with a thousand each would delay other requests.
"""
_SENTENCE_ENDS = re.compile(r"(?<=[.!?…])\s+|\n+")
MAX_DEPTH = 4
"""The most passes over the same words."""
STEP_SIZE = 3


class PieceChange(StrEnum):
    """Whether a piece of text was kept, removed or added."""

    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of text that was kept, removed or added."""

    change: PieceChange
    text: str


type Difference = tuple[int, ...]
"""The number of characters kept, removed and added, in turn.

Together with both texts it is complete, and it is small enough to store.
"""

type _Run = tuple[int, int, int]
"""A run of equal words: their position in the old text, in the new text, and how many."""


def difference(before: str, after: str) -> Difference:
    """Compares the texts word by word. An edit of more than `MAX_CHANGES` counts as a replacement."""
    steps = _compare_texts(before, after, max_words=MAX_WORDS)
    return steps if len(steps) <= (MAX_CHANGES + 1) * STEP_SIZE else replacement(before, after)


def replacement(before: str, after: str) -> Difference:
    """Treats everything between the common ends as replaced. Takes time linear in the length of the texts."""
    return _compare_texts(before, after, max_words=0)


def pieces_of(steps: Difference | None, before: str, after: str) -> tuple[Piece, ...]:
    """The pieces in reading order: those kept and removed make the old text, those kept and added the new
    one.

    Falls back to `replacement` if there is no difference yet, or it belongs to other texts.
    """
    pieces = tuple(_pieces(steps or (), before, after))
    if (_without(PieceChange.ADDED, pieces), _without(PieceChange.REMOVED, pieces)) != (before, after):
        pieces = tuple(_pieces(replacement(before, after), before, after))
    return tuple(piece for piece in pieces if piece.text)


def first_changed_sentence(pieces: Sequence[Piece], *, max_letters: int = 90) -> tuple[Piece, ...]:
    """The pieces of the first sentence in which a word or a number changed, each cut to so many letters."""
    piece_index = next(
        (piece_index for piece_index, piece in enumerate(pieces) if _is_changed_word(piece)), None
    )
    if piece_index is None:
        return ()
    while piece_index and pieces[piece_index - 1].change is not PieceChange.SAME:
        piece_index -= 1
    line = (
        [Piece(PieceChange.SAME, _last_words(pieces[piece_index - 1].text, max_letters))]
        if piece_index
        else []
    )
    for piece in pieces[piece_index:]:
        if piece.change is not PieceChange.SAME:
            line.append(Piece(piece.change, _first_words(piece.text, max_letters)))
            continue
        sentence_end = _SENTENCE_ENDS.search(piece.text)
        if sentence_end or len(piece.text) > max_letters:
            line.append(Piece(piece.change, _first_words(_SENTENCE_ENDS.split(piece.text)[0], max_letters)))
            break
        line.append(piece)
    return tuple(piece for piece in line if piece.text)


def _is_changed_word(piece: Piece) -> bool:
    return piece.change is not PieceChange.SAME and any(letter.isalnum() for letter in piece.text)


def _first_words(text: str, max_letters: int) -> str:
    return text if len(text) <= max_letters else text[:max_letters].rsplit(maxsplit=1)[0] + "…"


def _last_words(text: str, max_letters: int) -> str:
    sentence = _SENTENCE_ENDS.split(text)[-1]
    return sentence if len(sentence) <= max_letters else "…" + sentence[-max_letters:].partition(" ")[2]


def _compare_texts(before: str, after: str, *, max_words: int) -> Difference:
    if max(len(before), len(after)) > MAX_CHARACTERS:
        return 0, len(before), len(after)
    old_words, new_words = _WORDS.findall(before), _WORDS.findall(after)
    steps, same_characters, last_old, last_new = list[int](), 0, 0, 0
    for old_index, other, length in (
        *_runs(old_words, new_words, 0, 0, max_words=max_words, depth=0),
        (len(old_words), len(new_words), 0),
    ):
        removed_characters, added_characters = (
            _characters(old_words[last_old:old_index]),
            _characters(new_words[last_new:other]),
        )
        if removed_characters or added_characters:
            steps += (same_characters, removed_characters, added_characters)
            same_characters = 0
        same_characters += _characters(old_words[old_index : old_index + length])
        last_old, last_new = old_index + length, other + length
    return (*steps, same_characters, 0, 0)


def _runs(
    old_words: Sequence[str],
    new_words: Sequence[str],
    at_old: int,
    at_new: int,
    *,
    max_words: int,
    depth: int,
) -> Iterator[_Run]:
    """Yields the common ends; between them the words that occur once in each text, in the same order;
    between those recursively.
    """
    start, end = _common_ends(old_words, new_words)
    yield at_old, at_new, start
    old_middle, new_middle = old_words[start : len(old_words) - end], new_words[start : len(new_words) - end]
    if old_middle and new_middle and depth < MAX_DEPTH and max(len(old_middle), len(new_middle)) <= max_words:
        anchors = _anchors(old_middle, new_middle)
        edges = [(-1, -1), *anchors, (len(old_middle), len(new_middle))]
        for (old_start, new_start), (old_end, new_end) in pairwise(edges) if anchors else ():
            gap = (at_old + start + old_start + 1, at_new + start + new_start + 1)
            yield from _runs(
                old_middle[old_start + 1 : old_end],
                new_middle[new_start + 1 : new_end],
                *gap,
                max_words=max_words,
                depth=depth + 1,
            )
            if old_end < len(old_middle):
                yield at_old + start + old_end, at_new + start + new_end, 1
    yield at_old + len(old_words) - end, at_new + len(new_words) - end, end


def _anchors(old_words: Sequence[str], new_words: Sequence[str]) -> list[tuple[int, int]]:
    """The longest increasing sequence of positions of words that occur once in both texts."""
    counts, index_by_word = Counter(old_words), {word: index for index, word in enumerate(new_words)}
    unique_words = {word for word, count in Counter(new_words).items() if count == 1 and counts[word] == 1}
    pairs = [(index, index_by_word[word]) for index, word in enumerate(old_words) if word in unique_words]
    ends, last_indexes, previous = list[int](), list[int](), list[int]()
    for pair_index, (_, other) in enumerate(pairs):
        length = bisect_left(ends, other)
        previous.append(last_indexes[length - 1] if length else -1)
        ends[length : length + 1], last_indexes[length : length + 1] = [other], [pair_index]
    sequence, pair_index = list[tuple[int, int]](), last_indexes[-1] if last_indexes else -1
    while pair_index >= 0:
        sequence.append(pairs[pair_index])
        pair_index = previous[pair_index]
    return sequence[::-1]


def _common_ends(old_words: Sequence[str], new_words: Sequence[str]) -> tuple[int, int]:
    """The number of words that both texts begin with, and the number of the rest that both end with."""
    shorter = min(len(old_words), len(new_words))
    start = next((index for index in range(shorter) if old_words[index] != new_words[index]), shorter)
    max_end = shorter - start
    return start, next(
        (index for index in range(max_end) if old_words[-1 - index] != new_words[-1 - index]), max_end
    )


def _without(change: PieceChange, pieces: Iterable[Piece]) -> str:
    return "".join(piece.text for piece in pieces if piece.change is not change)


def _characters(words: Iterable[str]) -> int:
    return sum(map(len, words))


def _pieces(steps: Difference, before: str, after: str) -> Iterator[Piece]:
    old_index = new_index = 0
    for same, removed_count, added_count in batched(steps, STEP_SIZE):
        yield Piece(PieceChange.SAME, before[old_index : old_index + same])
        old_index, new_index = old_index + same, new_index + same
        yield Piece(PieceChange.REMOVED, before[old_index : old_index + removed_count])
        yield Piece(PieceChange.ADDED, after[new_index : new_index + added_count])
        old_index, new_index = old_index + removed_count, new_index + added_count
