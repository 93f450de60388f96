"""Pairs of real news texts with people's judgement whether they are one story, compared as posts are.

`f1_*`, `precision_*` and `recall_*` are of what a reader is shown by default: the constants in the code
decide, whatever the pairs say. `fitted_f1_*` is a regression fitted on the pairs, and `baseline_tfidf` the
cosine of weighted words alone: five folds, grouped by shared texts; nothing is fitted on the fold that is
reported. The texts are for measuring only.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from bench.studies.fit_stories import fit_weights
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.stories.pairs import Features, compare, features_of
from telegram_assistant.domain.stories.terms import TermWeights, WeighedPost, weigh
from telegram_assistant.domain.stories.visible import Grouping
from telegram_assistant.language.terms import terms_of
from testkit.harness import arguments, at_least, finish

FOLDS = 5
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
LIMITS = (*at_least(0.75, "f1_ru"), *at_least(0.82, "f1_en"))


@dataclass(frozen=True, slots=True)
class Judged:
    """Two texts and what people say of them."""

    language: str
    is_same: bool
    first: WeighedPost
    other: WeighedPost
    features: Features
    weights: TermWeights


def read_pairs(file: Path) -> list[Judged]:
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
    texts = sorted({f"{row[side]['title']}\n{row[side]['text']}" for row in rows for side in "ab"})
    terms = {text: terms_of(text) for text in texts}
    counts = Counter(
        term
        for post_terms in terms.values()
        for part in (post_terms.words, post_terms.names, post_terms.numbers)
        for term in part
    )
    weights = TermWeights.from_counts(len(texts), counts)
    posts = {
        text: weigh(
            PostId(ChannelId(place), MessageId(1)),
            MOMENT,
            terms[text],
            weights,
            is_private=False,
            username=0,
            terms_hash=0,
        )
        for place, text in enumerate(texts, start=1)
    }
    judged = []
    for row in rows:
        post, other = (posts[f"{row[side]['title']}\n{row[side]['text']}"] for side in "ab")
        judged.append(
            Judged(row["lang"], row["same_story"], post, other, features_of(post, other, weights), weights)
        )
    return judged


def folds_of(pairs: Sequence[Judged]) -> list[int]:
    """Pairs that share a text, over others too, are in one fold."""
    group = {post: post for pair in pairs for post in (pair.first.post, pair.other.post)}

    def root(post: PostId) -> PostId:
        while group[post] != post:
            post = group[post]
        return post

    for pair in pairs:
        group[root(pair.first.post)] = root(pair.other.post)
    return [
        int(hashlib.sha256(str(root(pair.first.post)).encode()).hexdigest(), 16) % FOLDS for pair in pairs
    ]


def f1_in_folds(
    pairs: Sequence[Judged], learn: Callable[[Sequence[Judged]], Callable[[Judged], float]]
) -> float:
    """Scores are learned, and the threshold chosen, on four folds each time;
    F1 over what was decided in the fifth.
    """
    places, decided = folds_of(pairs), list[tuple[bool, bool]]()
    for fold in range(FOLDS):
        known = [pair for pair, place in zip(pairs, places, strict=True) if place != fold]
        tested = [pair for pair, place in zip(pairs, places, strict=True) if place == fold]
        if not tested:
            continue
        score = learn(known)
        threshold = max(
            sorted({score(pair) for pair in known}),
            key=lambda least: _f1([(pair.is_same, score(pair) >= least) for pair in known]),
        )
        decided += [(pair.is_same, score(pair) >= threshold) for pair in tested]
    return round(_f1(decided), 4)


def _f1(decided: Sequence[tuple[bool, bool]]) -> float:
    right = sum(is_same and linked for is_same, linked in decided)
    return 2 * right / max(sum(is_same for is_same, _ in decided) + sum(linked for _, linked in decided), 1)


def figures_as_shown(pairs: Sequence[Judged], language: str) -> dict[str, float]:
    """Precision, recall and F1 of the joins that a reader is shown by default."""
    decided = [(pair.is_same, is_joined(pair)) for pair in pairs]
    right = sum(is_same and joined for is_same, joined in decided)
    return {
        f"f1_{language}": round(_f1(decided), 4),
        f"precision_{language}": round(right / max(sum(joined for _, joined in decided), 1), 4),
        f"recall_{language}": round(right / max(sum(is_same for is_same, _ in decided), 1), 4),
    }


def is_joined(pair: Judged) -> bool:
    link = compare(pair.first, pair.other, pair.weights)
    return link is not None and Grouping.NORMAL.holds(link)


def by_words(_known: Sequence[Judged]) -> Callable[[Judged], float]:
    return lambda pair: pair.features.words


def by_regression(known: Sequence[Judged]) -> Callable[[Judged], float]:
    weights = fit_weights(
        np.array([pair.features for pair in known]), np.array([pair.is_same for pair in known]), penalty=1e-2
    )
    return lambda pair: float(np.dot(weights[:-1], pair.features) + weights[-1])


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument(
        "--pairs",
        type=Path,
        required=True,
        help="one JSON object per line: lang, same_story, a and b with title and text",
    )
    options = parser.parse_args()
    pairs = read_pairs(options.pairs)
    russian, english = ([pair for pair in pairs if pair.language == language] for language in ("ru", "en"))
    result = {
        "bench": "story_pairs",
        "pairs_ru": len(russian),
        "pairs_en": len(english),
        **figures_as_shown(russian, "ru"),
        **figures_as_shown(english, "en"),
        "fitted_f1_ru": f1_in_folds(russian, by_regression),
        "fitted_f1_en": f1_in_folds(english, by_regression),
        "baseline_tfidf": f1_in_folds(russian, by_words),
    }
    finish(result, options, *LIMITS)


if __name__ == "__main__":
    main()
