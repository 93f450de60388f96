"""Parts of strangers' texts: titles, differences between versions, and search results."""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from markupsafe import Markup

from telegram_assistant.domain.posts.differences import Piece, PieceChange
from telegram_assistant.domain.search.snippets import Snippet
from telegram_assistant.web.characters import clean_characters, has_visible

ELLIPSIS = "…"
_SENTENCE_END = re.compile(r"""(?:\w{4}\.|[!?…])["'»”)\]]*(?=\s)""")
"""A full stop after a short word ends an abbreviation more often than a sentence."""
_JOINER = "\u200d"
_SKIN_TONES = range(0x1F3FB, 0x1F400)

_LINE_BREAK = Markup("<br>")
_CHANGED_LINE_BREAK = Markup("↵<br>")
"""A line break that was removed or added must be seen, too."""
_FOLD = Markup(' <span class="fold">…</span> ')
_CHANGES = {
    PieceChange.REMOVED: Markup('<del><span class="sr">{} </span>{}</del>'),
    PieceChange.ADDED: Markup('<ins><span class="sr">{} </span>{}</ins>'),
}


def plain_excerpt(text: str, letters: int) -> str:
    """The first line that shows anything, for a title.

    Of a longer one, whole sentences or else whole words, in at most so many letters.
    """
    lines = (" ".join(line.split()) for line in clean_characters(text).splitlines())
    line = next(filter(has_visible, lines), "")
    if len(line) <= letters:
        return line
    sentences_end = max((match.end() for match in _SENTENCE_END.finditer(line, 0, letters + 1)), default=0)
    if sentences_end > letters // 3:
        return line[:sentences_end]
    return _beginning(line, letters - len(ELLIPSIS)).rstrip(" .,;:–—-(«") + ELLIPSIS


def render_pieces(
    pieces: Sequence[Piece], *, removed_label: str, added_label: str, context: int = 80
) -> Markup:
    """A paragraph with the removed and the added words, and about `context` letters of unchanged text on each
    side of them.

    Screen readers say the labels.
    """
    labels = {PieceChange.REMOVED: removed_label, PieceChange.ADDED: added_label}
    rendered_pieces = (
        _CHANGES[piece.change].format(
            labels[piece.change], _CHANGED_LINE_BREAK.join(clean_characters(piece.text).split("\n"))
        )
        if piece.change in _CHANGES
        else _fold_unchanged(
            clean_characters(piece.text),
            context,
            is_first=piece_index == 0,
            is_last=piece_index == len(pieces) - 1,
        )
        for piece_index, piece in enumerate(pieces)
    )
    return Markup('<p class="diff" dir="auto">{}</p>').format(Markup().join(rendered_pieces))


def _fold_unchanged(text: str, context: int, *, is_first: bool, is_last: bool) -> Markup:
    beginning, end = "" if is_first else _beginning(text, context), "" if is_last else _end(text, context)
    if len(beginning) + len(end) + context // 2 >= len(text):
        return _LINE_BREAK.join(text.split("\n"))
    return _FOLD.join(_LINE_BREAK.join(part.split("\n")) for part in (beginning, end))


def render_highlights(snippet: Snippet) -> Markup:
    """The snippet with its matched words in `<mark>`."""
    return Markup('<bdi class="snippet">{}</bdi>').format(Markup().join(_mark_words(snippet)))


def _mark_words(snippet: Snippet) -> Iterator[str]:
    yield f"{ELLIPSIS} " if snippet.is_cut_before else ""
    letter_index = 0
    for start, end in snippet.marks:
        yield clean_characters(snippet.text[letter_index:start])
        yield Markup("<mark>{}</mark>").format(clean_characters(snippet.text[start:end]))
        letter_index = end
    yield clean_characters(snippet.text[letter_index:])
    yield f" {ELLIPSIS}" if snippet.is_cut_after else ""


def _beginning(text: str, letters: int) -> str:
    """At most so many letters, up to the end of a word, or of a character if the word is very long."""
    if len(text) <= letters:
        return text
    blank = max(text.rfind(" ", 0, letters + 1), text.rfind("\n", 0, letters + 1))
    if blank > letters // 2:
        return text[:blank]
    letter_index = letters
    while letter_index > 0 and _continues(text, letter_index):
        letter_index -= 1
    return text[: letter_index or letters]


def _end(text: str, letters: int) -> str:
    """About so many letters, from the beginning of a word if there is one in the first half of them."""
    end = text[max(0, len(text) - letters) :]
    blank = re.search(r"\s", end[: letters // 2])
    return end if blank is None or end == text else end[blank.end() :]


def _continues(text: str, letter_index: int) -> bool:
    """Whether the character at this place is drawn as a part of the one before it."""
    character = text[letter_index]
    return (
        character == _JOINER
        or text[letter_index - 1] == _JOINER
        or ord(character) in _SKIN_TONES
        or unicodedata.category(character)[0] == "M"
    )
