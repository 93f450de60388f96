"""The evidence in cited posts: all their facts, and the sentences nearest to a given one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache

from telegram_assistant.language.names import key_of
from telegram_assistant.language.parsed_text import (
    ParsedText,
    ParsedWord,
    parse_sentences,
    parse_text,
    readings_of,
)
from telegram_assistant.language.quantities import Quantity, quantities_in

MIN_SOURCE_WORDS = 3
ROOT_LETTERS = 5
MAX_CHARACTERS = 4_000
"""Of each post. Longer ones, which are rare, say later what nobody cites."""


@dataclass(frozen=True, slots=True)
class CitedPost:
    """A post that a sentence cites."""

    text: str
    posted_on: date
    channel: str = ""
    """The channel's title: a sentence may name it."""


class Evidence:
    """The content of the cited posts, together."""

    def __init__(self, posts: tuple[CitedPost, ...]) -> None:
        self.posts = tuple(replace(post, text=post.text[:MAX_CHARACTERS]) for post in posts)
        self.parsed = [parse_text(post.text) for post in self.posts]
        titles = [parse_text(post.channel) for post in self.posts if post.channel]
        self.readings = frozenset[str]().union(*(title.readings for title in (*self.parsed, *titles)))
        self.keys = frozenset[str]().union(*(title.keys for title in (*self.parsed, *titles)))
        self.quantities = [quantity for post in self.posts for quantity in quantities_in(post.text).all]
        self.ranges = {range_ for post in self.posts for range_ in quantities_in(post.text).ranges}
        self.sentences = [sentence for post in self.posts for sentence in parse_sentences(post.text)]

    def has(self, word: ParsedWord) -> bool:
        return bool(word.readings & self.readings) or (word.is_capitalised and key_of(word.text) in self.keys)


def noun_of(quantity: Quantity) -> frozenset[str]:
    return readings_of(quantity.noun) if quantity.noun else frozenset()


def has_form_or_root(text: ParsedText, word: ParsedWord) -> bool:
    """Whether the text has the word, in any form, or a long one of its root."""
    return bool(word.readings & text.readings) or word.folded[:ROOT_LETTERS] in _roots_in(text)


@lru_cache(maxsize=4_000)
def _roots_in(text: ParsedText) -> frozenset[str]:
    return frozenset(word.folded[:ROOT_LETTERS] for word in text.content if len(word.folded) >= ROOT_LETTERS)


def is_same(word: ParsedWord, other: ParsedWord) -> bool:
    return bool(word.readings & other.readings) or (
        word.is_capitalised
        and other.is_capitalised
        and bool(key_of(word.text))
        and key_of(word.text) == key_of(other.text)
    )


def nearest_sentences(claim: ParsedText, posts: Sequence[CitedPost]) -> list[tuple[int, float, ParsedText]]:
    """For each post its nearest sentence and how many of the words it shares, best first."""
    nearest = []
    for post_index, post in enumerate(posts):
        sentences = [
            sentence
            for sentence in parse_sentences(post.text)
            if len(sentence.words) >= MIN_SOURCE_WORDS and sentence.text[0] not in "#@"
        ]
        if sentences:
            score, best_sentence = max(
                ((_likeness(claim, sentence), sentence) for sentence in sentences),
                key=lambda scored: scored[0],
            )
            nearest.append((post_index, score, best_sentence))
    return sorted(nearest, key=lambda ranked: -ranked[1])


def _likeness(claim: ParsedText, source: ParsedText) -> float:
    """The share of words and numbers of a sentence that stand in a source sentence;
    of equals the shorter one wins.
    """
    numbers = [quantity.value for quantity in quantities_in(claim.text).all]
    source_numbers = {quantity.value for quantity in quantities_in(source.text).all}
    content = claim.content
    shared = sum(bool(word.readings & source.readings) for word in content) + sum(
        number in source_numbers for number in numbers
    )
    return shared / max(len(content) + len(numbers), 1) + shared_words(source.content, claim) / 1000


def shared_words(words: Sequence[ParsedWord], other: ParsedText) -> float:
    return sum(bool(word.readings & other.readings) for word in words) / len(words) if words else 0.0


def count_supporting(ranked_sentences: Sequence[tuple[int, float, ParsedText]]) -> int:
    """How many of the ranked posts share nearly as many words as the best."""
    return (
        sum(score >= ranked_sentences[0][1] / 2 for _, score, _ in ranked_sentences)
        if ranked_sentences
        else 0
    )
