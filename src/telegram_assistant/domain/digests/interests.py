"""A person's interests: topics in their own words, each with a weight and the reason for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from telegram_assistant.domain.ids import PostId

MAX_TOPIC_LETTERS = 60
MAX_INTERESTS = 200
MAX_WEIGHT = 3.0
OWN_WEIGHT = 1.0
"""The weight of a topic that a person writes down. It doubles the weight of a story."""
MIN_LEARNT = 0.05
"""Learnt topics fade, and are forgotten below this."""
HALF_LIFE = timedelta(days=60)
"""Of what is learnt; what a person writes down does not fade."""


class InterestSource(StrEnum):
    """How we know of an interest."""

    OWN = "own"
    LEARNT = "learnt"


class Feedback(StrEnum):
    """A person's feedback about a story, or about a post that they save."""

    MORE = "more"
    LESS = "less"
    MUTED = "muted"
    """The story leaves the person's lists. Nothing is learnt from it."""
    SAVED = "saved"

    @property
    def step(self) -> float:
        """The weight that this feedback adds to each name that is learnt from it."""
        return {Feedback.MORE: 0.5, Feedback.LESS: -0.5, Feedback.MUTED: 0.0, Feedback.SAVED: 0.25}[self]

    @property
    def opposite(self) -> "Feedback | None":
        """The feedback that this feedback replaces."""
        return {Feedback.MORE: Feedback.LESS, Feedback.LESS: Feedback.MORE}.get(self)


ABOUT_STORIES = (Feedback.MORE, Feedback.LESS, Feedback.MUTED)
"""The feedback that is about a story itself."""


@dataclass(frozen=True, slots=True)
class StoryFeedback:
    """A person's feedback about a story, and the topics that were learnt from it.

    `post_id` is any post of the story.
    """

    post_id: PostId
    feedback: Feedback
    headline: str
    topics: tuple[str, ...]
    said_at: datetime


@dataclass(frozen=True, slots=True)
class Interest:
    """A topic. Stories that touch it weigh 2 ** weight as much; a negative weight is a dislike."""

    topic: str
    weight: float
    source: InterestSource
    why: str
    """The headline from which it was learnt; empty for a person's own words."""
    changed_at: datetime
    reasons: tuple[StoryFeedback, ...] = ()
    """The feedback that it was learnt from, the newest first."""


@dataclass(frozen=True, slots=True)
class InterestMatch:
    """Which topics a text touches, and how much more its story weighs."""

    topics: tuple[str, ...] = ()
    factor: float = 1.0


def clamp_weight(weight: float) -> float:
    return max(-MAX_WEIGHT, min(MAX_WEIGHT, weight))


def interest_match_of(matching: Sequence[Interest]) -> InterestMatch:
    """The effect of the interests that match a text."""
    return InterestMatch(
        tuple(interest.topic for interest in matching if interest.weight > 0),
        2.0 ** clamp_weight(sum(interest.weight for interest in matching)),
    )
