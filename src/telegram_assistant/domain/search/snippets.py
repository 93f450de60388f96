"""Snippets: a few lines of a post around the matched words."""

from collections.abc import Iterator
from dataclasses import dataclass

LENGTH = 240
LEAD = 60
"""Characters of context before the first mark."""
MAX_MARKS = 30
"""The most marks of one text.

Comparing all marks of a text that repeats one word a thousand times takes a second.
"""


@dataclass(frozen=True, slots=True)
class Snippet:
    """Plain text, never markup. `marks` are the positions (from, to) of the matched words."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()
    is_cut_before: bool = False
    is_cut_after: bool = False


def snippet_of(marked_text: str, *, opening: str, closing: str) -> Snippet:
    """The part of the text where most marked words are near each other; without marks, the beginning."""
    text, marks = _parse_marks(" ".join(marked_text.split()), opening, closing)
    best_place = max(
        range(len(marks)), key=lambda letter_index: _worth(text, marks, letter_index), default=None
    )
    start = 0 if best_place is None else max(0, marks[best_place][0] - LEAD)
    if start and marks[-1][1] <= LENGTH:
        start = 0
    if start + LENGTH > len(text):
        start = max(0, len(text) - LENGTH)
    start = _word_begins(text, start)
    end = _word_ends(text, min(len(text), start + LENGTH), start)
    visible_marks = tuple(
        (mark_start - start, mark_end - start)
        for mark_start, mark_end in marks
        if mark_start >= start and mark_end <= end
    )
    return Snippet(text[start:end], visible_marks, is_cut_before=start > 0, is_cut_after=end < len(text))


def _worth(text: str, marks: list[tuple[int, int]], letter_index: int) -> tuple[int, int]:
    """The number of different words near this mark, then of all words; the first of equals wins."""
    near_words = [
        text[mark_start:mark_end].casefold()
        for mark_start, mark_end in marks[letter_index:]
        if mark_end <= marks[letter_index][0] + LENGTH - LEAD
    ]
    return len(set(near_words)), len(near_words)


def _parse_marks(marked_text: str, opening: str, closing: str) -> tuple[str, list[tuple[int, int]]]:
    pieces, marks, length = list[str](), list[tuple[int, int]](), 0
    for text, is_marked in _pieces(marked_text, opening, closing):
        if is_marked and text and len(marks) < MAX_MARKS:
            marks.append((length, length + len(text)))
        pieces.append(text)
        length += len(text)
    return "".join(pieces), marks


def _pieces(marked_text: str, opening: str, closing: str) -> Iterator[tuple[str, bool]]:
    before, *later_pieces = marked_text.split(opening)
    yield before, False
    for piece in later_pieces:
        highlighted_text, _, after = piece.partition(closing)
        yield highlighted_text, True
        yield after, False


def _word_begins(text: str, start: int) -> int:
    if start == 0 or text[start - 1] == " ":
        return start
    space = text.find(" ", start, start + LEAD)
    return start if space < 0 else space + 1


def _word_ends(text: str, end: int, start: int) -> int:
    if end == len(text) or text[end] == " ":
        return end
    space = text.rfind(" ", start, end)
    return end if space <= start + LENGTH // 2 else space
