"""How a channel begins and ends its posts: the signature, the call to subscribe, the opening that it repeats.

A habit is a line, or a sentence, that stands at the edge of many posts which otherwise differ. It is stored
as a hash, so that posts can carry the habits of their channel.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice, pairwise

from telegram_assistant.domain.posts.near_copies import ADDRESS

MIN_POSTS = 5
"""So many posts have it; fewer are no habit."""
ENDING_SHARE = 0.03
OPENING_SHARE = 0.1
"""A heading that returns now and then says what a post is about."""
EDGE_PIECES = 3
"""Lines or sentences at either end that may be habits."""
MAX_LETTERS = 200
"""A longer line is what the post says."""
MAX_HABITS = 24
MAX_EDGE = 700
"""Characters at either end of a text in which habits are looked for."""
_BREAK = re.compile(r"[\n|]|(?<=[.!?…])\s")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class _Piece:
    """A line or a sentence with words in it; no key if it is too long to be a habit."""

    start: int
    end: int
    key: int | None


def learn_habits(texts: Iterable[str]) -> tuple[int, ...]:
    """The habits of one channel, from its posts, the most frequent first.

    Posts that say the same beside a line count once: a text that is posted again is no habit.
    """
    openings = defaultdict[int, set[int]](set)
    endings = defaultdict[int, set[int]](set)
    post_count = 0
    for text in texts:
        post_count += 1
        spans = _split(text)
        first_pieces = list(islice(_pieces(text, spans), EDGE_PIECES + 1))
        last_pieces = list(islice(_pieces(text, reversed(spans)), EDGE_PIECES + 1))
        for piece in first_pieces[:-1]:
            if piece.key is not None:
                openings[piece.key].add(hash(text[piece.end :]))
        for piece in last_pieces[:-1]:
            if piece.key is not None:
                endings[piece.key].add(hash(text[: piece.start]))
    learnt = {
        key: len(rests)
        for keys, share in ((openings, OPENING_SHARE), (endings, ENDING_SHARE))
        for key, rests in keys.items()
        if len(rests) >= max(MIN_POSTS, share * post_count)
    }
    return tuple(sorted(learnt, key=lambda key: (-learnt[key], key))[:MAX_HABITS])


def cut_habits(text: str, habits: Collection[int]) -> str:
    """The text without the habits at its edges. A text that would say nothing then stays as it is."""
    if not habits:
        return text
    spans = _split(text)
    opening, first_piece = _skip_habits(text, spans, habits)
    ending, last_piece = _skip_habits(text, reversed(spans), habits)
    if (
        not (opening or ending)
        or first_piece is None
        or last_piece is None
        or first_piece.start > last_piece.start
    ):
        return text
    return text[first_piece.start if opening else 0 : last_piece.end if ending else None].strip()


def _skip_habits(
    text: str, spans: Iterable[tuple[int, int]], habits: Collection[int]
) -> tuple[int, _Piece | None]:
    """How many pieces at this edge are habits, and the next one."""
    pieces = _pieces(text, spans)
    for skipped_count in range(EDGE_PIECES):
        piece = next(pieces, None)
        if piece is None or piece.key not in habits:
            return skipped_count, piece
    return EDGE_PIECES, next(pieces, None)


def _split(text: str) -> list[tuple[int, int]]:
    """The start and end of each line and sentence at both edges. The text between the edges is one piece."""
    far = max(MAX_EDGE, len(text) - MAX_EDGE)
    breaks = [mark.end() for mark in _BREAK.finditer(text, 0, MAX_EDGE)]
    breaks += [mark.end() for mark in _BREAK.finditer(text, far)]
    return list(pairwise((0, *breaks, len(text))))


def _pieces(text: str, spans: Iterable[tuple[int, int]]) -> Iterator[_Piece]:
    for start, end in spans:
        if end - start > MAX_LETTERS:
            yield _Piece(start, end, None)
        elif words := _words_of(text[start:end].casefold().replace("ё", "е")):
            yield _Piece(start, end, _hash_words(words))


def _words_of(piece: str) -> list[str]:
    """Without addresses, which are looked for only where one may be: that takes longer than the rest."""
    has_address = "/" in piece or "@" in piece or "#" in piece or "www." in piece
    return _WORD.findall(ADDRESS.sub(" ", piece) if has_address else piece)


def _hash_words(words: Sequence[str]) -> int:
    """As PostgreSQL's bigint."""
    digest = blake2b(" ".join(words).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)
