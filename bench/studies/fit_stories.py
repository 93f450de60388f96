"""Fits the three small regressions of domain/stories/pairs.py on one half of the measuring world, and prints
their constants.

Only kinds of events and days that bench.stories does not report are used: `python -m bench.fit_stories`.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bench.workloads.story_world import LabelledPost, halves, world
from telegram_assistant.domain.stories.pairs import Features, features_of, side_of
from telegram_assistant.domain.stories.terms import (
    MENTION_WEIGHT,
    MIN_VOTES,
    PERIOD_SECONDS,
    TermWeights,
    WeighedPost,
    keys_of,
    mentions_of,
    own_keys,
    sure_keys_of,
    weigh,
)
from telegram_assistant.language.terms import hash_of_username, terms_of
from telegram_assistant.stores.postgres.stories.neighbours import MAX_FOUND, NEWEST

STEPS = 40
PENALTY = 1e-4


def fit_weights(
    features: "np.ndarray[Any, Any]", labels: "np.ndarray[Any, Any]", *, penalty: float = PENALTY
) -> "np.ndarray[Any, Any]":
    """Logistic regression by Newton's method; the last weight is the bias, which is not penalised."""
    columns = np.c_[features, np.ones(len(features))]
    weights, cost = np.zeros(columns.shape[1]), penalty * len(labels)
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(columns @ weights, -30, 30)))
        slope = columns.T @ (chance - labels) + cost * np.r_[weights[:-1], 0]
        curve = (columns * (chance * (1 - chance))[:, None]).T @ columns + cost * np.eye(len(weights))
        weights -= np.linalg.solve(curve, slope)
    return weights


def weigh_posts(posts: Sequence[LabelledPost]) -> tuple[list[WeighedPost], TermWeights]:
    terms = [
        terms_of(post.post.text, addresses=tuple(entity.url for entity in post.post.entities if entity.url))
        for post in posts
    ]
    counts = Counter(
        term
        for post_terms in terms
        for part in (post_terms.words, post_terms.names, post_terms.numbers)
        for term in part
    )
    weights = TermWeights.from_counts(len(posts), counts)
    return [
        weigh(
            post.post.id,
            post.post.posted_at,
            its,
            weights,
            is_private=post.is_private,
            username=hash_of_username(post.username) if post.username else 0,
            terms_hash=0,
        )
        for post, its in zip(posts, terms, strict=True)
    ], weights


def pairs(posts: Sequence[WeighedPost], weights: TermWeights) -> Iterator[tuple[int, int]]:
    """Places of a post and of each earlier one that it is compared with, as the stage finds them."""
    index: dict[int, list[int]] = defaultdict(list)
    for place, post in enumerate(posts):
        scores: dict[int, float] = defaultdict(float)
        votes: dict[int, int] = defaultdict(int)
        keys, sure = keys_of(post, weights), sure_keys_of(post)
        for key, weight in (keys | dict.fromkeys(mentions_of(post), MENTION_WEIGHT)).items():
            for other in index[key][-NEWEST:]:
                if (post.posted_at - posts[other].posted_at).total_seconds() <= PERIOD_SECONDS:
                    scores[other] += weight
                    votes[other] += MIN_VOTES if key in sure else 1
        nearest = sorted(
            (other for other in scores if votes[other] >= MIN_VOTES),
            key=lambda other: (-scores[other], posts[other].post),
        )
        yield from ((place, other) for other in nearest[:MAX_FOUND])
        if not post.is_private:
            for key in (*keys, *own_keys(post)):
                index[key].append(place)


def main() -> None:
    told_posts, _ = halves(world())
    posts, weights = weigh_posts(told_posts)
    by_side: dict[str, list[tuple[Features, bool]]] = defaultdict(list)
    for place, other in pairs(posts, weights):
        is_same = told_posts[place].truth == told_posts[other].truth
        by_side[side_of(posts[place], posts[other])].append(
            (features_of(posts[place], posts[other], weights), is_same)
        )
    for side, examples in sorted(by_side.items()):
        constants = fit_weights(
            np.array([features for features, _ in examples]), np.array([is_same for _, is_same in examples])
        )
        fitted_weights = ", ".join(f"{constant:.2f}" for constant in constants[:-1])
        print(f'"{side}": ({fitted_weights}), bias {constants[-1]:.2f}, {len(examples)} pairs')


if __name__ == "__main__":
    main()
