"""Whether two posts tell the same: features of a pair, a rule for copies, a rule for pictures, and three
small regressions.

`python -m bench.fit_stories` prints the constants.
"""

from math import log1p, sqrt, sumprod
from typing import NamedTuple

from telegram_assistant.domain.media.similarity import look_alike
from telegram_assistant.domain.stories.story import Link, LinkKind
from telegram_assistant.domain.stories.terms import TermWeights, WeighedPost

MIN_PAIRS = 6
COPIED = 0.6
"""The share of the shorter text's word pairs that a copy has."""
SAME_SEEN = 0.75
"""The share of the words and numbers in either picture that must be in both:
notices of the same kind differ in a place and a number.
"""
MAX_SCORE = 20.0
COPY_SCORE = 4.0
PICTURE_SCORE = 2.0


class Features(NamedTuple):
    """How alike two posts are, each between 0 and 1."""

    words: float
    names: float
    numbers: float
    pairs: float
    other_names: float
    """Both name somebody, and nobody is the same."""
    other_numbers: float
    gap: float
    source: float
    links: float
    length: float
    facts: float
    """How rare the names and numbers are that both have."""
    same_names: float
    """What both name, of all that either names."""
    same_numbers: float


WEIGHTS: dict[str, tuple[float, ...]] = {
    "ru": (3.92, 3.11, -0.77, 0.25, -1.50, -3.34, -3.20, 0.26, 2.62, -1.56, 0.89, 0.71, 2.82),
    "en": (5.00, 1.13, -0.46, -1.62, -1.56, -3.08, -3.30, 0.26, 2.10, -1.63, 1.07, 0.95, 2.57),
    "across": (-0.09, 0.62, -2.50, -0.01, 0.29, -2.92, -7.56, -0.10, 0.00, 2.04, 7.33, 2.29, 6.13),
}
BIAS = {"ru": -2.92, "en": -1.29, "across": -2.77}
"""What was fitted, less 0.8 within a language and 0.4 across: with less, real news is linked too easily."""


def features_of(post: WeighedPost, other: WeighedPost, weights: TermWeights) -> Features:
    a, b = post.terms, other.terms
    shared = weights.squares(a.words & b.words)
    names, numbers = a.names & b.names, a.numbers & b.numbers
    shared_names = weights.total(names) if names else 0.0
    shared_numbers = weights.total(numbers) if numbers else 0.0
    named = min(post.names_weight, other.names_weight)
    counted = min(post.numbers_weight, other.numbers_weight)
    hours = abs((post.posted_at - other.posted_at).total_seconds()) / 3600
    return Features(
        words=shared / (post.norm * other.norm) if shared else 0.0,
        names=min(shared_names / named, 1.0) if named else 0.0,
        numbers=min(shared_numbers / counted, 1.0) if counted else 0.0,
        pairs=contained(a.pairs, b.pairs),
        other_names=float(bool(a.names and b.names and not names)),
        other_numbers=float(bool(counted and not numbers)),
        gap=min(log1p(hours) / 4.3, 1.0),
        source=float(post.username in b.mentions or other.username in a.mentions),
        links=float(bool(a.links & b.links)),
        length=sqrt(min(len(a.words), len(b.words)) / max(len(a.words), len(b.words), 1)),
        facts=min((shared_names + shared_numbers) / 30, 1.0),
        same_names=shared_names / (post.names_weight + other.names_weight - shared_names) if names else 0.0,
        same_numbers=shared_numbers / (post.numbers_weight + other.numbers_weight - shared_numbers)
        if numbers
        else 0.0,
    )


def side_of(post: WeighedPost, other: WeighedPost) -> str:
    """Which regression decides about a pair."""
    if post.terms.language != other.terms.language:
        return "across"
    return "en" if post.terms.language == "en" else "ru"


def score_of(features: Features, side: str) -> float:
    """The logit that two posts tell the same; above 0 they are linked."""
    score = BIAS[side] + sumprod(WEIGHTS[side], features)
    return max(-MAX_SCORE, min(score, MAX_SCORE))


def compare(post: WeighedPost, other: WeighedPost, weights: TermWeights) -> Link | None:
    """The link between two posts, if they tell the same, whichever is given first.

    Two private channels are never compared.
    """
    if post.post == other.post or (post.is_private and other.is_private):
        return None
    later, earlier = (
        (post, other) if (post.posted_at, post.post) > (other.posted_at, other.post) else (other, post)
    )
    features, side = features_of(later, earlier, weights), side_of(later, earlier)
    score = score_of(features, side)
    kind = LinkKind.TRANSLATION if side == "across" else LinkKind.REWRITE
    if side != "across" and is_copy(later, earlier, features.pairs):
        kind, score = LinkKind.COPY, max(score, COPY_SCORE)
    elif is_same_picture(later, earlier):
        kind, score = (LinkKind.PICTURE, PICTURE_SCORE) if score <= 0 else (kind, score)
    if score <= 0:
        return None
    return Link(
        later.post,
        earlier.post,
        kind,
        round(score, 4),
        later.posted_at,
        earlier.posted_at,
        post.is_private or other.is_private,
    )


def is_copy(post: WeighedPost, other: WeighedPost, pairs: float) -> bool:
    """Most word pairs of the shorter text are in the other, with all its names and numbers,
    and at least one of those; or all are the same.
    """
    a, b = (
        (post.terms, other.terms)
        if len(post.terms.pairs) <= len(other.terms.pairs)
        else (other.terms, post.terms)
    )
    if pairs < COPIED or len(a.pairs) < MIN_PAIRS:
        return False
    is_exact = a.pairs == b.pairs and a.numbers == b.numbers
    return is_exact or (a.names <= b.names and a.numbers <= b.numbers and bool(a.names or a.numbers))


def is_same_picture(post: WeighedPost, other: WeighedPost) -> bool:
    """A picture of both looks the same, and the words read in their pictures agree.

    A picture without words proves nothing.
    """
    a, b = post.terms.seen, other.terms.seen
    if not post.terms.looks or not other.terms.looks or not a or len(a & b) < SAME_SEEN * len(a | b):
        return False
    return any(look_alike(a, b) for a in post.terms.looks for b in other.terms.looks)


def contained(terms: frozenset[int], other: frozenset[int]) -> float:
    least = min(len(terms), len(other))
    return len(terms & other) / least if least else 0.0
