"""How rare terms are, by day: a link is a function of two posts and of one stored table of weights, whenever
and wherever they are compared.
"""

from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, date, datetime

from telegram_assistant.domain.stories.pairs import compare
from telegram_assistant.domain.stories.story import Link
from telegram_assistant.domain.stories.terms import TermWeights, WeighedPost, weigh_again

UNCOUNTED = TermWeights()
"""As long as nothing is counted."""


@dataclass(frozen=True, slots=True)
class DatedWeights:
    """Tables of weights, each with the first day of the posts that it weighs, the oldest first."""

    days: tuple[date, ...] = ()
    tables: tuple[TermWeights, ...] = ()

    def of(self, moment: datetime) -> TermWeights:
        """The table of a post of this moment. The oldest one weighs older posts, too."""
        if not self.tables:
            return UNCOUNTED
        return self.tables[max(bisect_right(self.days, moment.astimezone(UTC).date()) - 1, 0)]


def compare_dated(post: WeighedPost, other: WeighedPost, dated_weights: DatedWeights) -> Link | None:
    """The link between two posts by the table of the later one, whichever is given first."""
    weights = dated_weights.of(max(post.place, other.place)[0])
    return compare(weigh_again(post, weights), weigh_again(other, weights), weights)
