"""Several rankings made one: what stands high in any of them stands high, and higher where they agree."""

from collections.abc import Hashable, Sequence

DAMPING = 60
"""As in the paper that proposed it (Cormack, Clarke, Büttcher 2009): the first place is worth little more than the second."""


def fused[T: Hashable](*rankings: Sequence[T], damping: int = DAMPING) -> tuple[T, ...]:
    """By the sum of reciprocal ranks; where it is equal, in the order of the first ranking that knows them."""
    scores: dict[T, float] = {}
    for ranking in rankings:
        for place, one in enumerate(ranking, start=1):
            scores[one] = scores.get(one, 0.0) + 1 / (damping + place)
    return tuple(sorted(scores, key=lambda one: -scores[one]))
