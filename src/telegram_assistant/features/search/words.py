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
    MENDING_BUDGET,
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
    """The words that a post needs to be found, if too few posts have all words."""

    ALL_BUT_ONE = "all_but_one"
    HALF = "half"
    RAREST = "rarest"

    @property
    def words(self) -> Reason:
        return _RELAXED[self]


_RELAXED = {
    Relaxed.ALL_BUT_ONE: Reason(
        "search_all_but_one", "few posts have all the words, so posts without one of them follow"
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
    gave_up: tuple[str, ...] = ()
    """Words that no post has, and for which there was no time to look for similar ones."""
    related: frozenset[PostId] = frozenset()
    """Posts that were found by names and numbers of the best matches, on the same days."""
    complete: frozenset[PostId] = frozenset()
    """Posts that have all words."""

    def without_unranked(self) -> "WordMatches":
        """Only the matches that are still ranked."""
        return replace(self, matches={post_id: self.matches[post_id] for post_id in self.ranked})


async def find_by_words(
    query: Query,
    limits: SearchFilters,
    *,
    before: SearchPosition,
    words: WordSearch,
    mending_budget: timedelta = MENDING_BUDGET,
) -> WordMatches:
    matches = await words.find(search_terms(query), limits, before=before, enough=ENOUGH)
    mended_words, gave_up = await _mend(query, matches, words, mending_budget)
    if mended_words:
        for correction in mended_words:
            query = _correct_query(query, correction)
        matches = await words.find(search_terms(query), limits, before=before, enough=ENOUGH)
    result = _relax(query, matches)
    return replace(
        await _relate(result, matches, limits, before, words) if result.relaxed else result,
        mended=mended_words,
        gave_up=gave_up,
    )


def search_terms(query: Query) -> list[SearchTerm]:
    """A word may be a name, so it gets the key that names have in both alphabets."""
    return [
        SearchTerm(str(term), "" if term.is_strict else key_of(term.text), number)
        for number, term in query.terms
    ]


async def _mend(
    query: Query, matches: Matches, words: WordSearch, budget: timedelta
) -> tuple[tuple[Mended, ...], tuple[str, ...]]:
    """Mends words that occur in no post that was found. Also returns those for which the time was over.

    Whether a word really occurs nowhere, `mend` looks up first.
    """
    if matches.complete or matches.continues_at is not None:
        return (), ()
    matched_terms = 0
    for match in matches.partial:
        matched_terms |= match.matched or 0
    unseen_words = [
        term.text
        for term_index, (_, term) in enumerate(query.terms)
        if matches.words & ~matched_terms & 1 << term_index and _LETTERS.fullmatch(term.text)
    ]
    mended_words, gave_up = [], []
    for typed_text in unseen_words[:MAX_MENDED]:
        try:
            meant_text = await words.mend(typed_text, budget=budget)
        except TimeoutError:
            gave_up.append(typed_text)
        else:
            if meant_text:
                mended_words.append(
                    Mended(typed_text, meant_text.lower() if typed_text.islower() else meant_text)
                )
    return tuple(mended_words), tuple(gave_up)


def note_giving_up(typed_text: str) -> Reason:
    return Reason(
        "search_gave_up",
        "no post has “{typed}”, and we had no time to look for similar words; search again",
        typed=typed_text,
    )


def _correct_query(query: Query, mended_words: Mended) -> Query:
    def correct(term: Term) -> Term:
        return (
            replace(term, text=mended_words.meant)
            if term.text == mended_words.typed and not term.is_strict
            else term
        )

    return replace(
        query, alternatives=tuple(tuple(correct(term) for term in terms) for terms in query.alternatives)
    )


def _relax(query: Query, matches: Matches) -> WordMatches:
    ranked_matches = sorted(matches.complete, key=lambda match: -match.rank)
    full_matches = WordMatches(
        query=query,
        ranked=tuple(match.post_id for match in ranked_matches),
        matches={match.post_id: match for match in matches.complete},
        continues_at=matches.continues_at,
        complete=frozenset(match.post_id for match in matches.complete),
    )
    count = matches.words.bit_count()
    steps = {Relaxed.ALL_BUT_ONE: count - 1, Relaxed.HALF: (count + 1) // 2, Relaxed.RAREST: 1}
    for needed_count in steps.values():
        partial = [match for match in matches.partial if (match.matched or 0).bit_count() >= needed_count]
        if len(partial) >= ENOUGH:
            break
    if (
        len(full_matches.matches) >= ENOUGH
        or not {match.post_id for match in partial} - full_matches.matches.keys()
    ):
        return full_matches
    fewest = min((match.matched or 0).bit_count() for match in partial)
    step = next(step for step, needed_count in steps.items() if fewest >= needed_count)
    best_matches = sorted(partial, key=lambda match: (-match.rank, -match.posted_at.timestamp()))
    rest_post_ids = tuple(
        match.post_id for match in best_matches if match.post_id not in full_matches.matches
    )
    return replace(
        full_matches,
        ranked=full_matches.ranked + rest_post_ids,
        matches={**full_matches.matches, **{match.post_id: match for match in partial}},
        relaxed=step,
    )


async def _relate(
    result: WordMatches,
    matches: Matches,
    limits: SearchFilters,
    before_position: SearchPosition,
    words: WordSearch,
) -> WordMatches:
    """Adds posts that share names and numbers with the best matches, of the same days,
    and ranks by these and by how near in time a post is.
    """
    best_matches = sorted(
        (match for match in matches.partial if match.post_id in matches.texts), key=lambda match: -match.rank
    )
    best_matches = [match for match in best_matches if match.rank >= NEARLY_BEST * best_matches[0].rank]
    related_terms = _related_terms(best_matches, matches.texts)
    scores = {match.post_id: match.rank for match in result.matches.values()}
    matches_by_post = dict(result.matches)
    if related_terms:
        first_at, last_at = (
            min(match.posted_at for match in best_matches) - AROUND,
            max(match.posted_at for match in best_matches) + AROUND,
        )
        nearby = replace(limits, since=max(limits.since, first_at) if limits.since else first_at)
        until = before_position if before_position.posted_at <= last_at else SearchPosition(last_at)
        related_matches = await words.find(
            search_terms(result.query), nearby, before=until, related_terms=related_terms
        )
        for nearby_match in related_matches.partial:
            scores[nearby_match.post_id] = nearby_match.rank
            matches_by_post.setdefault(nearby_match.post_id, nearby_match)
    if not best_matches:
        return result
    full_post_ids = {match.post_id for match in matches.complete}
    nearness_by_post = {
        match.post_id: 1
        + NEAR_WEIGHT
        * max(_nearness(match, other) * other.rank for other in best_matches)
        / best_matches[0].rank
        for match in matches_by_post.values()
    }
    ranked_post_ids = sorted(
        scores,
        key=lambda score: (
            score not in full_post_ids,
            -scores[score] * nearness_by_post[score],
            -matches_by_post[score].posted_at.timestamp(),
        ),
    )
    return replace(
        result,
        ranked=tuple(ranked_post_ids),
        matches=matches_by_post,
        related=frozenset(matches_by_post.keys() - result.matches.keys()),
    )


def _nearness(match: Match, other: Match) -> float:
    return math.exp(-abs((match.posted_at - other.posted_at) / timedelta(days=NEAR_DAYS)))


def _related_terms(best_matches: Sequence[Match], texts: Mapping[PostId, str]) -> list[RelatedTerm]:
    weights: dict[str, float] = defaultdict(float)
    for match in best_matches:
        text = texts[match.post_id]
        for word in {
            *(f"~{name}" for name in names_in(text)),
            *(number for number in _NUMBER.findall(text) if len(number) > 1),
        }:
            weights[word] += RELATED_WEIGHT / len(best_matches) * match.rank / best_matches[0].rank
    chosen_terms = sorted(weights, key=lambda term: (-weights[term], term))[:MAX_RELATED]
    return [RelatedTerm(term, weights[term]) for term in chosen_terms]
