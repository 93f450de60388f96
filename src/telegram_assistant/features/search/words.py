"""The part of a search that goes by words: all of them; if too few posts have all, some of them; and what is
told of the same names that day.

A word that no post has may be typed wrong: then the nearest word that the tenant sees in a post takes its
place.
"""

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.search.query import Query, Term
from telegram_assistant.language.names import key_of, names_in
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.search.search import (
    Match,
    Matches,
    RelatedTerm,
    SearchFilters,
    SearchPosition,
    SearchTerm,
    WordSearch,
)

ENOUGH = 10
"""With fewer posts that have all words, posts with some of them are shown too."""
MAX_MENDED = 2
NEARLY_BEST = 0.9
"""Posts that match about as well as the best one say what the query is about."""
MAX_RELATED = 12
RELATED_WEIGHT = 2.0
AROUND = timedelta(days=4)
NEAR_DAYS = 1.0
NEAR_WEIGHT = 6.0
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_LETTERS = re.compile(r"[^\W\d_]{4,}")


class Relaxed(StrEnum):
    """What a post needs to be found, if too few posts have all words."""

    ALL_BUT_ONE = "all_but_one"
    HALF = "half"
    RAREST = "rarest"

    @property
    def words(self) -> Reason:
        return _RELAXED[self]


_RELAXED = {
    Relaxed.ALL_BUT_ONE: Reason(
        "search_all_but_one", "few posts have all the words, so posts that lack one of them follow"
    ),
    Relaxed.HALF: Reason(
        "search_half", "few posts have all the words, so posts with at least half of them follow"
    ),
    Relaxed.RAREST: Reason(
        "search_rarest", "few posts have even half of the words, so posts with the rarest of them follow"
    ),
}


@dataclass(frozen=True, slots=True)
class Mended:
    """A word that no post has, and the word that was searched instead."""

    typed: str
    meant: str

    @property
    def words(self) -> Reason:
        return Reason(
            "search_mended",
            "no post has “{typed}”; “{meant}” was searched instead",
            typed=self.typed,
            meant=self.meant,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WordMatches:
    """Matches, the best first."""

    query: Query
    """With the words that were searched instead of mistyped ones."""
    ranked: tuple[PostId, ...]
    matches: Mapping[PostId, Match]
    continues_at: SearchPosition | None
    relaxed: Relaxed | None = None
    mended: tuple[Mended, ...] = ()
    related: frozenset[PostId] = frozenset()
    """Posts that were found by names and numbers of the best matches, on the same days."""


async def find_by_words(
    query: Query, limits: SearchFilters, *, before: SearchPosition, words: WordSearch
) -> WordMatches:
    matches = await words.find(search_terms(query), limits, before=before, enough=ENOUGH)
    mended = await _mend(query, matches, words)
    if mended:
        for one in mended:
            query = _corrected(query, one)
        matches = await words.find(search_terms(query), limits, before=before, enough=ENOUGH)
    found = _relax(query, matches)
    return replace(
        await _relate(found, matches, limits, before, words) if found.relaxed else found, mended=mended
    )


def search_terms(query: Query) -> list[SearchTerm]:
    """A word may be a name, so it gets the key that names have in both alphabets."""
    return [
        SearchTerm(str(term), "" if term.is_strict else key_of(term.text), number)
        for number, term in query.terms
    ]


async def _mend(query: Query, matches: Matches, words: WordSearch) -> tuple[Mended, ...]:
    """Words that occur in no post that was found.

    Whether one really occurs nowhere, `similar` looks up first.
    """
    if matches.found or matches.continues_at is not None:
        return ()
    seen = 0
    for one in matches.partial:
        seen |= one.matched or 0
    unseen = [
        term.text
        for place, (_, term) in enumerate(query.terms)
        if matches.words & ~seen & 1 << place and _LETTERS.fullmatch(term.text)
    ]
    found = [(typed, await words.similar(typed)) for typed in unseen[:MAX_MENDED]]
    return tuple(
        Mended(typed, meant.lower() if typed.islower() else meant) for typed, meant in found if meant
    )


def _corrected(query: Query, mended: Mended) -> Query:
    def correct(term: Term) -> Term:
        return replace(term, text=mended.meant) if term.text == mended.typed and not term.is_strict else term

    return replace(
        query, alternatives=tuple(tuple(correct(term) for term in terms) for terms in query.alternatives)
    )


def _relax(query: Query, matches: Matches) -> WordMatches:
    ranked = sorted(matches.found, key=lambda one: -one.rank)
    full = WordMatches(
        query=query,
        ranked=tuple(one.post_id for one in ranked),
        matches={one.post_id: one for one in matches.found},
        continues_at=matches.continues_at,
    )
    count = matches.words.bit_count()
    steps = {Relaxed.ALL_BUT_ONE: count - 1, Relaxed.HALF: (count + 1) // 2, Relaxed.RAREST: 1}
    for needed in steps.values():
        kept = [one for one in matches.partial if (one.matched or 0).bit_count() >= needed]
        if len(kept) >= ENOUGH:
            break
    if len(full.matches) >= ENOUGH or not {one.post_id for one in kept} - full.matches.keys():
        return full
    fewest = min((one.matched or 0).bit_count() for one in kept)
    step = next(step for step, needed in steps.items() if fewest >= needed)
    best = sorted(kept, key=lambda one: (-one.rank, -one.posted_at.timestamp()))
    rest = tuple(one.post_id for one in best if one.post_id not in full.matches)
    return replace(
        full,
        ranked=full.ranked + rest,
        matches={**full.matches, **{one.post_id: one for one in kept}},
        relaxed=step,
    )


async def _relate(
    found: WordMatches, matches: Matches, limits: SearchFilters, before: SearchPosition, words: WordSearch
) -> WordMatches:
    """Adds posts that share names and numbers with the best matches, of the same days,
    and ranks by these and by how near in time a post is.
    """
    best = sorted((one for one in matches.partial if one.post_id in matches.texts), key=lambda one: -one.rank)
    best = [one for one in best if one.rank >= NEARLY_BEST * best[0].rank]
    related = _related_terms(best, matches.texts)
    scores = {match.post_id: match.rank for match in found.matches.values()}
    known = dict(found.matches)
    if related:
        first, last = min(one.posted_at for one in best) - AROUND, max(one.posted_at for one in best) + AROUND
        nearby = replace(limits, since=max(limits.since, first) if limits.since else first)
        until = before if before.posted_at <= last else SearchPosition(last)
        more = await words.find(search_terms(found.query), nearby, before=until, related=related)
        for one in more.partial:
            scores[one.post_id] = one.rank
            known.setdefault(one.post_id, one)
    if not best:
        return found
    full = {one.post_id for one in matches.found}
    near = {
        one.post_id: 1
        + NEAR_WEIGHT * max(_nearness(one, other) * other.rank for other in best) / best[0].rank
        for one in known.values()
    }
    ranked = sorted(
        scores,
        key=lambda score: (
            score not in full,
            -scores[score] * near[score],
            -known[score].posted_at.timestamp(),
        ),
    )
    return replace(
        found, ranked=tuple(ranked), matches=known, related=frozenset(known.keys() - found.matches.keys())
    )


def _nearness(one: Match, other: Match) -> float:
    return math.exp(-abs((one.posted_at - other.posted_at) / timedelta(days=NEAR_DAYS)))


def _related_terms(best: Sequence[Match], texts: Mapping[PostId, str]) -> list[RelatedTerm]:
    weights: dict[str, float] = defaultdict(float)
    for one in best:
        text = texts[one.post_id]
        for said in {
            *(f"~{name}" for name in names_in(text)),
            *(number for number in _NUMBER.findall(text) if len(number) > 1),
        }:
            weights[said] += RELATED_WEIGHT / len(best) * one.rank / best[0].rank
    chosen = sorted(weights, key=lambda said: (-weights[said], said))[:MAX_RELATED]
    return [RelatedTerm(said, weights[said]) for said in chosen]
