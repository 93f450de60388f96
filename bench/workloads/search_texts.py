"""Posts whose words are as frequent as in real texts: a few in every post, most in hardly any;
and questions of known frequency.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np

from telegram_assistant.domain.posts.post import Post
from testkit.factories import make_post

WORDS = 60_000
SYLLABLES = (
    "ба",
    "во",
    "гри",
    "де",
    "жу",
    "зна",
    "ки",
    "ло",
    "му",
    "не",
    "опа",
    "пре",
    "ра",
    "со",
    "ту",
    "фи",
    "хо",
    "ца",
    "чу",
    "ша",
)
SHORTEST, LONGEST = 50, 80
BANDS = {"below_0.1_percent": (0.0, 0.001), "0.1_to_1_percent": (0.001, 0.01), "1_to_5_percent": (0.01, 0.05)}
MIX = {"below_0.1_percent": 0.5, "0.1_to_1_percent": 0.4, "1_to_5_percent": 0.1}
"""Of the questions; each has one to three words of its band."""


@dataclass(frozen=True, slots=True)
class Written:
    """Posts so far, and in how many each word is."""

    vocabulary: Sequence[str]
    shares: "np.ndarray[tuple[int], np.dtype[np.float64]]"
    """By Zipf's law, the most frequent word first."""
    rng: "np.random.Generator"
    posts_with: "np.ndarray[tuple[int], np.dtype[np.int64]]" = field(
        default_factory=lambda: np.zeros(WORDS, dtype=np.int64)
    )


def make_texts(seed: int) -> Written:
    rng = random.Random(seed)
    vocabulary: dict[str, None] = {}
    while len(vocabulary) < WORDS:
        vocabulary["".join(rng.choices(SYLLABLES, k=rng.randint(2, 4)))] = None
    weights = 1 / np.arange(1, WORDS + 1)
    return Written(list(vocabulary), np.cumsum(weights / weights.sum()), np.random.default_rng(seed))


def some_texts(written: Written, count: int) -> Iterator[tuple[str, list[int]]]:
    """Each with the numbers of its words."""
    for length in written.rng.integers(SHORTEST, LONGEST, count, endpoint=True).tolist():
        numbers = np.searchsorted(written.shares, written.rng.random(length)).tolist()
        written.posts_with[list(set(numbers))] += 1
        yield " ".join(_as_written(written.vocabulary[number], number) for number in numbers), numbers


def _as_written(word: str, number: int) -> str:
    """Each twentieth word is a name."""
    return word.capitalize() if number % 20 == 0 else word


def as_post(channel_id: int, message_id: int, posted_at: datetime, text: str) -> Post:
    facts = {"media": {"kind": "photo", "id": message_id, "size_bytes": 1}} if message_id % 3 == 0 else {}
    return make_post(
        channel_id=channel_id, message_id=message_id, text=text, posted_at=posted_at, lang="ru", facts=facts
    )


def moment_in(rng: random.Random, newest: datetime, span: timedelta) -> datetime:
    return (newest - span * rng.random()).replace(microsecond=0)


def questions(
    written: Written, read: Sequence[Sequence[int]], posts: int, count: int
) -> list[tuple[str, str]]:
    """Bands and questions; the words of one stand together in a post that the asker sees,
    so each has an answer.
    """
    rng = random.Random(3)
    shares = written.posts_with / posts
    queries: list[tuple[str, str]] = []
    for band, share in MIX.items():
        lowest, highest = BANDS[band]
        while sum(name == band for name, _ in queries) < count * share:
            inside = [number for number in set(rng.choice(read)) if lowest <= shares[number] < highest]
            chosen = rng.sample(sorted(inside), min(len(inside), rng.randint(1, 3)))
            if chosen:
                queries.append((band, " ".join(written.vocabulary[number] for number in chosen)))
    rng.shuffle(queries)
    return queries
