"""Whether two posts tell the same: features of a pair, a rule for copies, a rule for pictures, and three
small regressions.

`python -m bench.fit_stories` prints the constants.
"""

from datetime import timedelta
from math import log1p, sqrt, sumprod
from typing import NamedTuple

from telegram_assistant.domain.media.similarity import look_alike
from telegram_assistant.domain.stories.story import Link, LinkKind
from telegram_assistant.domain.stories.terms import TermWeights, WeighedPost

MIN_PAIRS = 6
MIN_WORDS = 4
"""Shorter texts than this are said again by chance."""
COPIED = 0.6
"""The share of the shorter text's word pairs that a copy has, if a name or number confirms it."""
SAME_WORDING = 0.8
"""The share of either text's word pairs that makes a copy, where nothing confirms it."""
SAME_SEEN = 0.75
"""The share of the words and numbers in either picture that must be in both:
notices of the same kind differ in a place and a number.
"""
MIN_LIKENESS = 0.1
"""Of the words of two posts in one language: a place and a number in common are no event in common."""
MOST_WORDS = 0.5
"""The share of the shorter text's words that suffices, however common they are."""
FEW_WORDS = 0.2
"""If the words are less alike than this, names and numbers must say more, by FEW_WORDS_COST."""
FEW_WORDS_COST = 0.3
SAME_FORM = 0.6
"""The share of the longer text's word pairs that makes two posts notices in one form."""
ANOTHER_DAY = timedelta(hours=12)
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
    """The names in both posts, as a share of the names in either."""
    same_numbers: float


WEIGHTS: dict[str, tuple[float, ...]] = {
    "ru": (3.92, 3.11, -0.77, 0.25, -1.50, -3.34, -3.20, 0.26, 2.62, -1.56, 0.89, 0.71, 2.82),
    "en": (5.00, 1.13, -0.46, -1.62, -1.56, -3.08, -3.30, 0.26, 2.10, -1.63, 1.07, 0.95, 2.57),
    "across": (-0.09, 0.62, -2.50, -0.01, 0.29, -2.92, -7.56, -0.10, 0.00, 2.04, 7.33, 2.29, 6.13),
}
BIAS = {"ru": -2.67, "en": -1.29, "across": -2.77}
"""The fitted values, less 0.55 in Russian, 0.8 in English and 0.4 across. With smaller reductions, real news
is linked too easily.
"""


def features_of(post: WeighedPost, other: WeighedPost, weights: TermWeights) -> Features:
    terms, other_terms = post.terms, other.terms
    shared = weights.squares(terms.words & other_terms.words)
    names, numbers = terms.names & other_terms.names, terms.numbers & other_terms.numbers
    shared_names = weights.total(names) if names else 0.0
    shared_numbers = weights.total(numbers) if numbers else 0.0
    lower_names_weight = min(post.names_weight, other.names_weight)
    lower_numbers_weight = min(post.numbers_weight, other.numbers_weight)
    hours = abs((post.posted_at - other.posted_at).total_seconds()) / 3600
    return Features(
        words=shared / (post.norm * other.norm) if shared else 0.0,
        names=min(shared_names / lower_names_weight, 1.0) if lower_names_weight else 0.0,
        numbers=min(shared_numbers / lower_numbers_weight, 1.0) if lower_numbers_weight else 0.0,
        pairs=measure_containment(terms.pairs, other_terms.pairs),
        other_names=float(bool(terms.names and other_terms.names and not names)),
        other_numbers=float(bool(lower_numbers_weight and not numbers)),
        gap=min(log1p(hours) / 4.3, 1.0),
        source=float(post.username in other_terms.mentions or other.username in terms.mentions),
        links=float(bool(terms.links & other_terms.links)),
        length=sqrt(
            min(len(terms.words), len(other_terms.words)) / max(len(terms.words), len(other_terms.words), 1)
        ),
        facts=min((shared_names + shared_numbers) / 30, 1.0),
        same_names=shared_names / (post.names_weight + other.names_weight - shared_names) if names else 0.0,
        same_numbers=shared_numbers / (post.numbers_weight + other.numbers_weight - shared_numbers)
        if numbers
        else 0.0,
    )


def side_of(post: WeighedPost, other: WeighedPost) -> str:
    """Which regression decides about a pair. An unknown language is not a foreign one."""
    languages = {post.terms.language, other.terms.language} - {""}
    if len(languages) > 1:
        return "across"
    return "en" if "en" in languages else "ru"


def score_of(features: Features, side: str) -> float:
    """The logit that two posts tell the same; above 0 they are linked."""
    score = BIAS[side] + sumprod(WEIGHTS[side], features)
    if side != "across" and features.words < FEW_WORDS:
        score -= FEW_WORDS_COST
    return max(-MAX_SCORE, min(score, MAX_SCORE))


def compare(post: WeighedPost, other: WeighedPost, weights: TermWeights) -> Link | None:
    """The link between two posts, if they tell the same, whichever is given first.

    Two private channels are never compared.
    """
    if post.post == other.post or (post.is_private and other.is_private):
        return None
    later_post, earlier_post = (
        (post, other) if (post.posted_at, post.post) > (other.posted_at, other.post) else (other, post)
    )
    kind, score = _judge_texts(later_post, earlier_post, weights)
    if score <= 0 and is_same_picture(later_post, earlier_post):
        kind, score = LinkKind.PICTURE, PICTURE_SCORE
    if score <= 0:
        return None
    return Link(
        later_post.post,
        earlier_post.post,
        kind,
        round(score, 4),
        later_post.posted_at,
        earlier_post.posted_at,
        post.is_private or other.is_private,
    )


def _judge_texts(post: WeighedPost, other: WeighedPost, weights: TermWeights) -> tuple[LinkKind, float]:
    """The kind of link that the texts would make, and its score: 0 or less if they make none."""
    side = side_of(post, other)
    if side == "across":
        return LinkKind.TRANSLATION, score_of(features_of(post, other, weights), side)
    terms, other_terms = post.terms, other.terms
    copies = is_copy(post, other, measure_containment(terms.pairs, other_terms.pairs))
    shared = terms.words & other_terms.words
    are_alike = (
        copies
        or bool(terms.links & other_terms.links)
        or len(shared) >= MOST_WORDS * min(len(terms.words), len(other_terms.words))
        or weights.squares(shared) >= MIN_LIKENESS * post.norm * other.norm
    )
    if not are_alike:
        return LinkKind.REWRITE, 0.0
    score = score_of(features_of(post, other, weights), side)
    if copies:
        return LinkKind.COPY, max(score, COPY_SCORE)
    return LinkKind.REWRITE, 0.0 if score > 0 and is_notice_of_another_day(post, other) else score


def is_notice_of_another_day(post: WeighedPost, other: WeighedPost) -> bool:
    """Notices come again in the same form, as the weather does; each has a number that the other has not."""
    terms, other_terms = post.terms, other.terms
    return (
        abs(post.posted_at - other.posted_at) >= ANOTHER_DAY
        and not terms.numbers <= other_terms.numbers
        and not other_terms.numbers <= terms.numbers
        and len(terms.pairs & other_terms.pairs) >= SAME_FORM * max(len(terms.pairs), len(other_terms.pairs))
    )


def is_copy(post: WeighedPost, other: WeighedPost, pairs: float) -> bool:
    """All words, pairs of words and numbers are the same; or most word pairs of the shorter text are in the
    other, with all its names and numbers and at least one of those; or most word pairs of both are the same,
    and no name or number contradicts it.
    """
    smaller, larger = (
        (post.terms, other.terms)
        if len(post.terms.pairs) <= len(other.terms.pairs)
        else (other.terms, post.terms)
    )
    if pairs < COPIED or len(smaller.words) < MIN_WORDS:
        return False
    if smaller.pairs == larger.pairs and smaller.words == larger.words and smaller.numbers == larger.numbers:
        return True
    if len(smaller.pairs) < MIN_PAIRS:
        return False
    if (
        smaller.names <= larger.names
        and smaller.numbers <= larger.numbers
        and (smaller.names or smaller.numbers)
    ):
        return True
    agree = (smaller.names <= larger.names or larger.names <= smaller.names) and (
        smaller.numbers <= larger.numbers or larger.numbers <= smaller.numbers
    )
    return agree and pairs * len(smaller.pairs) >= SAME_WORDING * len(larger.pairs)


def is_same_picture(post: WeighedPost, other: WeighedPost) -> bool:
    """A picture of both looks the same, and the words read in their pictures agree.

    A picture without words proves nothing.
    """
    a, b = post.terms.seen, other.terms.seen
    if not post.terms.looks or not other.terms.looks or not a or len(a & b) < SAME_SEEN * len(a | b):
        return False
    return any(look_alike(a, b) for a in post.terms.looks for b in other.terms.looks)


def measure_containment(terms: frozenset[int], other: frozenset[int]) -> float:
    min_terms = min(len(terms), len(other))
    return len(terms & other) / min_terms if min_terms else 0.0
