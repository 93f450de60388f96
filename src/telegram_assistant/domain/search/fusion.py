"""Reciprocal rank fusion: an item that ranks high in any ranking ranks high,
and higher if several rankings agree.
"""

from collections.abc import Hashable, Sequence

DAMPING = 60
"""The value of the original paper (Cormack, Clarke, Büttcher 2009):
the first rank is worth little more than the second.
"""


def fuse_rankings[T: Hashable](*rankings: Sequence[T], damping: int = DAMPING) -> tuple[T, ...]:
    """Items by the sum of their reciprocal ranks; ties keep the order of the first ranking that contains
    them.
    """
    scores: dict[T, float] = {}
    for ranking in rankings:
        for number, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0.0) + 1 / (damping + number)
    return tuple(sorted(scores, key=lambda score: -scores[score]))
