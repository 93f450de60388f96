"""Terms by which posts are compared: their words, names, numbers, links and pictures as hashes,
and how much each of them weighs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b
from heapq import nlargest
from math import log, sqrt

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.media.similarity import Look, bands

MIN_TEXTS = 200
"""With fewer counted texts, words are weighed as if so many had been counted:
what is rare is not known yet.
"""
MAX_KEYS = 20
"""A post is found by so many of its rarest words, and by as many of its rarest names and numbers."""
COMMON = log(50)
"""A word that one post in fifty has finds nothing.

Names and numbers do: across languages there is nothing else.
"""
MIN_VOTES = 2
"""Posts are compared that share so many terms, or a whole link, or a part of a picture's hash."""
LINK_WEIGHT, MENTION_WEIGHT, LOOK_WEIGHT = 12.0, 3.0, 8.0
PERIOD_SECONDS = 72 * 3600
"""Posts are compared with those of the 72 hours before and after."""
KEY_END = 0xFFFFFFFF
"""The bits of a key of the index that name its period."""


@dataclass(frozen=True, slots=True)
class StoryTerms:
    """The terms of one text and of the pictures beside it, each as a hash of 32 bits."""

    language: str = ""
    words: frozenset[int] = frozenset()
    """Dictionary forms."""
    names: frozenset[int] = frozenset()
    """Keys of names, the same in both alphabets."""
    numbers: frozenset[int] = frozenset()
    pairs: frozenset[int] = frozenset()
    """Neighbouring words."""
    links: frozenset[int] = frozenset()
    """Whole addresses."""
    mentions: frozenset[int] = frozenset()
    """Usernames of channels."""
    looks: tuple[Look, ...] = ()
    seen: frozenset[int] = frozenset()
    """Words and numbers read in its pictures."""

    @property
    def hash(self) -> int:
        """Changes when anything changes that is compared."""
        parts = (
            self.words,
            self.names,
            self.numbers,
            self.pairs,
            self.links,
            self.mentions,
            self.seen,
            [(look.coarse, look.fine) for look in self.looks],
        )
        digest = blake2b(
            repr([self.language, *(sorted(part) for part in parts)]).encode(), digest_size=8
        ).digest()
        return int.from_bytes(digest, signed=True)


@dataclass(frozen=True, slots=True)
class TermWeights:
    """How rare terms are among recent public posts: the logarithm of the share of posts without it."""

    known: Mapping[int, float] = field(default_factory=dict)
    rare: float = log(2 * MIN_TEXTS)
    """The weight of a term that was not counted."""

    @classmethod
    def from_counts(cls, text_count: int, counts: Mapping[int, int]) -> "TermWeights":
        """The weights of terms of which so many of `texts` posts have each."""
        total = max(text_count, MIN_TEXTS) + 1
        return cls({term: log(total / (count + 0.5)) for term, count in counts.items()}, log(2 * total))

    def weight_of(self, term: int) -> float:
        return self.known.get(term, self.rare)

    def total(self, terms: Iterable[int]) -> float:
        known_weights, rare_weight = self.known, self.rare
        return sum([known_weights.get(term, rare_weight) for term in terms])

    def squares(self, terms: Iterable[int]) -> float:
        known_weights, rare_weight = self.known, self.rare
        return sum([known_weights.get(term, rare_weight) ** 2 for term in terms])


@dataclass(frozen=True, slots=True)
class WeighedPost:
    """A post as it is compared, with the sums of its weights."""

    post: PostId
    posted_at: datetime
    is_private: bool
    username: int
    """Hash of its channel's username; 0 if it has none."""
    terms: StoryTerms
    terms_hash: int
    norm: float
    names_weight: float
    numbers_weight: float
    weights: TermWeights = field(repr=False, compare=False)
    """By which the sums were made."""

    @property
    def place(self) -> tuple[datetime, PostId]:
        """Of two posts the one with the higher place is the later one."""
        return self.posted_at, self.post


def weigh(
    post_id: PostId,
    posted_at: datetime,
    terms: StoryTerms,
    weights: TermWeights,
    *,
    is_private: bool,
    username: int,
    terms_hash: int,
) -> WeighedPost:
    """A post with its weights, which depend on how rare its terms are."""
    norm = sqrt(weights.squares(terms.words))
    return WeighedPost(
        post_id,
        posted_at,
        is_private,
        username,
        terms,
        terms_hash,
        norm,
        weights.total(terms.names),
        weights.total(terms.numbers),
        weights,
    )


def weigh_again(weighed_post: WeighedPost, weights: TermWeights) -> WeighedPost:
    """The same post by another table of weights."""
    if weighed_post.weights is weights:
        return weighed_post
    terms = weighed_post.terms
    return replace(
        weighed_post,
        norm=sqrt(weights.squares(terms.words)),
        names_weight=weights.total(terms.names),
        numbers_weight=weights.total(terms.numbers),
        weights=weights,
    )


def keys_of(weighed_post: WeighedPost, weights: TermWeights) -> dict[int, float]:
    """The terms under which a post is found, with the weight of each."""
    terms = weighed_post.terms
    words = nlargest(
        MAX_KEYS, ((weight, term) for term in terms.words if (weight := weights.weight_of(term)) >= COMMON)
    )
    facts = nlargest(
        MAX_KEYS, ((weights.weight_of(term), term) for part in (terms.names, terms.numbers) for term in part)
    )
    return {term: weight for weight, term in (*words, *facts)} | sure_keys_of(weighed_post)


def sure_keys_of(weighed_post: WeighedPost) -> dict[int, float]:
    """Those of which a single one suffices: whole links, and parts of the hashes of pictures."""
    keys = dict.fromkeys(weighed_post.terms.links, LINK_WEIGHT)
    for look in weighed_post.terms.looks:
        keys |= {
            _look_key(band_index, band): LOOK_WEIGHT for band_index, band in enumerate(bands(look.coarse))
        }
    return keys


def own_keys(weighed_post: WeighedPost) -> tuple[int, ...]:
    """Under these a post is found by later ones that mention its channel,
    and by earlier posts of the channels that it mentions.
    """
    username_keys = (weighed_post.username,) if weighed_post.username else ()
    return (*username_keys, *(_mentioning(mention) for mention in mentions_of(weighed_post)))


def mentions_of(weighed_post: WeighedPost) -> frozenset[int]:
    """The channels that a post mentions, without its own."""
    return weighed_post.terms.mentions - {weighed_post.username}


def mentioning_key(weighed_post: WeighedPost) -> tuple[int, ...]:
    """Under this later posts are found that mention this post's channel."""
    return (_mentioning(weighed_post.username),) if weighed_post.username else ()


def _mentioning(username: int) -> int:
    return ~username


def posting_key(term: int, period: int, *, is_private: bool) -> int:
    """A key of the index: the term in one period, apart for private channels.

    32 bits of the term and as many of the rest.
    """
    return (term << 32) | ((period * 2 + is_private) & KEY_END)


def period_of(moment: datetime) -> int:
    return int(moment.timestamp()) // PERIOD_SECONDS


def _look_key(band_index: int, band: int) -> int:
    return int.from_bytes(blake2b(b"look %d %d" % (band_index, band), digest_size=4).digest(), signed=True)
