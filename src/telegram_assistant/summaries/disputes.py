"""Numbers on which the posts of a story differ: what most channels say stands, and the others are named."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from telegram_assistant.language.parsed_text import parse_text, readings_of
from telegram_assistant.language.quantities import Quantity, quantities_in
from telegram_assistant.summaries.cleaning import CleanPost
from telegram_assistant.summaries.values import ChangeSort, CitedSentence, Dispute, NumberClaim

MIN_SHARED_WORDS = 2
SAME_FRAME = 0.8
"""Two sentences that share so many of their words around a number
without a noun («49 → 63») say it of the same thing.
"""
MAX_DISPUTES = 3
MAX_COMPARED = 8
_UNIT = re.compile(r"\s?[^\s\w]?[^\s,.;:!?»”\"]*")


type Doubtful = frozenset[tuple[str, float]]
"""Numbers that do not stand, each with a reading of its noun, or "" without one."""


@dataclass(frozen=True, slots=True)
class _Said:
    """A number in a sentence of a post."""

    quantity: Quantity
    place: int
    """Among the numbers of its sentence."""
    sentence: str
    post: CleanPost

    @property
    def noun(self) -> frozenset[str]:
        return readings_of(self.quantity.noun)

    @property
    def written(self) -> str:
        """With its noun, or with the sign or unit behind it."""
        end = self.sentence.casefold().find(self.quantity.noun, self.quantity.end)
        if end < 0:
            unit = _UNIT.match(self.sentence, self.quantity.end)
            return self.sentence[self.quantity.start : unit.end() if unit else self.quantity.end]
        return self.sentence[self.quantity.start : end + len(self.quantity.noun)]

    @property
    def around(self) -> str:
        """The sentence without the number: equal in copies that differ in it alone."""
        return self.sentence[: self.quantity.start] + self.sentence[self.quantity.end :]


def find_disputes(posts: Sequence[CleanPost]) -> tuple[tuple[Dispute, ...], Doubtful]:
    """The disputed numbers, those of most channels first, and what does not stand.

    Posts are given oldest first; a channel's last word counts.
    """
    groups: list[list[_Said]] = []
    for statement in _numbers_of(posts):
        group = next(
            (
                group
                for group in groups
                if any(_is_same_thing(statement, other) for other in group[:MAX_COMPARED])
            ),
            None,
        )
        if group is None:
            groups.append([statement])
        else:
            group.append(statement)
    disagreements = [sides for group in groups if len(sides := _sides_of(group)) > 1]
    disagreements.sort(key=lambda sides: (-sum(map(len, sides)), sides[0][0].written))
    doubtful = frozenset(
        (reading, claim.quantity.value)
        for sides in disagreements
        for side in sides[1:]
        for claim in side[:1]
        for reading in claim.noun
    )
    different = {tuple(side[0].quantity.value for side in sides): sides for sides in reversed(disagreements)}
    disputed = [
        sides
        for sides in disagreements
        if different[tuple(side[0].quantity.value for side in sides)] is sides
    ]
    return tuple(map(_dispute_of, disputed[:MAX_DISPUTES])), doubtful


def _numbers_of(posts: Sequence[CleanPost]) -> Iterable[_Said]:
    for post in posts:
        for sentence in (post.headline, *post.sentences):
            yield from (
                _Said(quantity, place, sentence, post)
                for place, quantity in enumerate(quantities_in(sentence).all)
                if quantity.against is None
            )


def _is_same_thing(statement: _Said, other: _Said) -> bool:
    """The same noun among the same words: «11 машин столкнулись» and «столкнулись 12 машин»; without a noun,
    the same place in such a sentence.
    """
    if not statement.noun & other.noun:
        return False
    mine, theirs = (_words_around(side) for side in (statement, other))
    shared = sum(bool(word & there) for word in mine for there in theirs)
    if not statement.quantity.noun:
        return statement.place == other.place and shared >= max(
            MIN_SHARED_WORDS, SAME_FRAME * max(len(mine), len(theirs))
        )
    return shared >= min(MIN_SHARED_WORDS, len(mine), len(theirs))


def _words_around(statement: _Said) -> list[frozenset[str]]:
    return [
        word.readings for word in parse_text(statement.sentence).content if not word.readings & statement.noun
    ]


def _sides_of(group: Sequence[_Said]) -> list[list[_Said]]:
    """What channels say by number, the one that stands first: that of most channels;
    of equals a corrected one, then the newest.
    """
    last: dict[int, _Said] = {}
    for statement in group:
        last[statement.post.post.post_id.channel_id] = statement
    by_value: dict[float, list[_Said]] = defaultdict(list)
    for statement in last.values():
        by_value[statement.quantity.value].append(statement)
    corrected = {claim.quantity.value for claim in last.values() if _is_corrected(claim)}
    outdated = {
        claim.around: claim.quantity.value
        for claim in last.values()
        if _is_corrected(claim) and _is_original(claim, group)
    }

    def rank(side: list[_Said]) -> tuple[int, bool, float]:
        votes = sum(
            outdated.get(claim.around, claim.quantity.value) == claim.quantity.value for claim in side
        )
        return (
            -votes,
            side[0].quantity.value not in corrected,
            -max(claim.post.post.posted_at.timestamp() for claim in side),
        )

    return sorted(by_value.values(), key=rank)


def _is_corrected(statement: _Said) -> bool:
    return any(kind is ChangeSort.CORRECTION for kind, _ in statement.post.changes)


def _is_original(statement: _Said, group: Sequence[_Said]) -> bool:
    """Whether nobody said it in these words before: what others copied
    from it is outdated when it is corrected.
    """
    first = next(other for other in group if other.around == statement.around)
    return first.post.post.post_id.channel_id == statement.post.post.post_id.channel_id


def _dispute_of(sides: Sequence[Sequence[_Said]]) -> Dispute:
    claims = [
        NumberClaim(side[0].written, tuple(statement.post.post.post_id for statement in side))
        for side in sides
    ]
    return Dispute(CitedSentence(sides[0][0].sentence, claims[0].posts), claims[0], tuple(claims[1:]))
