"""The newest state of a story: the sentence that says what became of it, and the newest thing that was said.

A change of state must pass a strict test, because most later posts tell the same again in other words; then
it becomes the headline. Anything else that is new and no copy is one line.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from itertools import pairwise

from telegram_assistant.language.evidence import noun_of
from telegram_assistant.language.names import names_in
from telegram_assistant.language.parsed_text import (
    ParsedText,
    ParsedWord,
    fold,
    goes_on,
    is_whole,
    parse_text,
    readings_of,
    tells_before,
)
from telegram_assistant.language.quantities import Quantity, quantities_in
from telegram_assistant.summaries.change_words import change_words_in
from telegram_assistant.summaries.cleaning import CleanPost
from telegram_assistant.summaries.disputes import is_grown, words_around
from telegram_assistant.summaries.fragments import is_fragment
from telegram_assistant.summaries.values import CitedSentence, LatestSentence

NEAR_COPY = 0.6
"""A post that has so many of the word pairs of another one, of the shorter one's, repeats it."""
SAID = 0.9
"""A sentence of which another post has so many word pairs was said there."""
MIN_NEW_WORDS = 3
MIN_SHARED_WORDS = 2
MIN_SENTENCES = 3
MIN_AFTER_FIRST = timedelta(minutes=20)
FIRST_SENTENCES = 2
MIN_WORDS, MAX_WORDS = 3, 30
MIN_CONTENT = 2
"""Words that say something; "Back to this." has one."""
_QUOTES = frozenset('«"“„')
_NONE_EXISTS = re.compile(
    r"\b(?P<before>\w+) не (?:было|будет)\b|"
    r"\bthere (?:was|were|is|are|will be) no (?P<after>\w+)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class NewSentence:
    """A sentence among the first two of its post that adds to all earlier posts."""

    text: str
    post: CleanPost
    earlier: Sequence[CleanPost]
    """The posts before it."""

    @property
    def tells_change(self) -> bool:
        return _tells_change(self.text, self.earlier)

    @property
    def line(self) -> LatestSentence:
        story_post = self.post.post
        return LatestSentence(self.text, (story_post.post_id,), story_post.channel, story_post.posted_at)


def find_latest(posts: Sequence[CleanPost]) -> NewSentence | None:
    """The sentence of the newest post that tells something new; posts are given oldest first."""
    return next(_new_sentences(posts), None)


def find_state(posts: Sequence[CleanPost], headline: CitedSentence) -> NewSentence | None:
    """The newest sentence that says that the state changed since the headline was written."""
    headline_post = next(post for post in posts if post.post.post_id == headline.posts[0])
    title = parse_text(headline.text)
    has_newer_number = False
    for fact in _new_sentences(posts):
        posted_at = fact.post.post.posted_at
        if posted_at <= headline_post.post.posted_at:
            return None
        numbers = quantities_in(fact.text).all
        is_outdated = bool(numbers) and has_newer_number
        is_late = posted_at - posts[0].post.posted_at >= MIN_AFTER_FIRST
        if is_late and not is_outdated and _changes_state(fact, title):
            return fact
        has_newer_number |= bool(numbers)
    return None


def _new_sentences(posts: Sequence[CleanPost]) -> Iterator[NewSentence]:
    """One of each post at most, the newest first; none of the first post."""
    for place in range(len(posts) - 1, 0, -1):
        post, earlier = posts[place], posts[:place]
        if not _is_of_story(post, earlier):
            continue
        has_same_words = _has_same_words(post, earlier)
        is_copy = any(is_near_copy(post.text, other.text) for other in earlier)
        sentences = (post.headline, *post.sentences) if post.headline else post.sentences
        new_text = next(
            (
                text
                for text in sentences[:FIRST_SENTENCES]
                if _can_stand(text)
                and not _was_said(text, earlier)
                and (
                    _tells_growth(text, earlier)
                    if has_same_words
                    else _tells_change(text, earlier) or (not is_copy and _is_new(text, earlier))
                )
            ),
            None,
        )
        if new_text is not None:
            yield NewSentence(new_text, post, earlier)


def _has_same_words(post: CleanPost, earlier: Sequence[CleanPost]) -> bool:
    """Whether it is in the words of an earlier post, perhaps under another headline."""
    wordings = {other.post.wording or other.post.post_id for other in earlier}
    body = "\n".join(post.sentences)
    return post.post.wording in wordings or (
        bool(post.headline) and any(is_near_copy(body, other.text) for other in earlier)
    )


def _was_said(text: str, earlier: Sequence[CleanPost]) -> bool:
    """Whether an earlier post has the sentence, even where cleaning takes it for an opening."""
    pairs = word_pairs_of(text)
    return any(len(pairs & word_pairs_of(post.post.text)) >= SAID * len(pairs) for post in earlier)


def _is_of_story(post: CleanPost, earlier: Sequence[CleanPost]) -> bool:
    """Whether an earlier post has words of it beside names, and beside what those are («компания X»): one
    name has many stories. A short post may be an update in other words.
    """
    if len(post.sentences) < MIN_SENTENCES:
        return True
    earlier_readings = _readings_of_posts(earlier)
    shared = [word for word in _own_words(post.text) if word.readings & earlier_readings]
    return len({word.folded for word in shared}) >= MIN_SHARED_WORDS


def _own_words(text: str) -> Iterator[ParsedWord]:
    kinds = {
        word.start
        for word, following in pairwise(parse_text(text).words)
        if following.is_capitalised or text[following.start - 1 : following.start] in _QUOTES
    }
    return (word for word in words_around(text) if word.start not in kinds)


def may_change_state(post: CleanPost) -> bool:
    """Whether one of its first sentences has a word of change."""
    sentences = (post.headline, *post.sentences) if post.headline else post.sentences
    return any(change_words_in(parse_text(sentence)) for sentence in sentences[:FIRST_SENTENCES])


def _can_stand(text: str) -> bool:
    parsed = parse_text(text)
    return (
        MIN_WORDS <= len(parsed.words) <= MAX_WORDS
        and len(parsed.content) >= MIN_CONTENT
        and not goes_on(parsed)
        and is_whole(text)
        and not is_fragment(parsed)
        and not tells_before(text)
        and not text.endswith(("?", "…"))
    )


def _is_new(text: str, earlier: Sequence[CleanPost]) -> bool:
    """Whether it has a new number or name, three new words, or two that are half of those beside names."""
    new_words = _new_words(text, earlier)
    return (
        len(new_words) >= MIN_NEW_WORDS
        or len(new_words) >= max(MIN_CONTENT, len(words_around(text)) / 2)
        or not _facts_in(text) <= frozenset[str | float]().union(*(_facts_in(post.text) for post in earlier))
    )


def _new_words(text: str, earlier: Sequence[CleanPost]) -> list[ParsedWord]:
    """Words beside names that no earlier post has in any form."""
    earlier_readings = _readings_of_posts(earlier)
    return [word for word in words_around(text) if not word.readings & earlier_readings]


def _readings_of_posts(posts: Sequence[CleanPost]) -> frozenset[str]:
    return frozenset[str]().union(*(parse_text(post.text).readings for post in posts))


def _adds_only_a_change(fact: NewSentence) -> bool:
    """Whether all its new words are words of change, and its post tells little else: «Пожар на складе
    ликвидирован». A longer post mostly tells the same again.
    """
    new_words = _new_words(fact.text, fact.earlier)
    return (
        len(fact.post.sentences) + bool(fact.post.headline) < MIN_SENTENCES
        and bool(new_words)
        and all(change_words_in(parse_text(word.folded)) for word in new_words)
    )


@lru_cache(maxsize=4_000)
def _facts_in(text: str) -> frozenset[str | float]:
    return frozenset((*names_in(text), *(quantity.value for quantity in quantities_in(text).all)))


def _changes_state(fact: NewSentence, headline: ParsedText) -> bool:
    if not _tells_change(fact.text, fact.earlier):
        return False
    if not _is_new(fact.text, fact.earlier) and not _adds_only_a_change(fact):
        return False
    shared = [word for word in parse_text(fact.text).content if word.readings & headline.readings]
    return len(shared) >= MIN_SHARED_WORDS


def _tells_change(text: str, earlier: Sequence[CleanPost]) -> bool:
    """Whether it has words of change and none that an earlier post has, or a number that grew to it."""
    changes = change_words_in(parse_text(text))
    is_changed = bool(changes) and not changes & _earlier_changes(tuple(post.text for post in earlier))
    return is_changed or _denies(text, earlier) or _tells_growth(text, earlier)


def _denies(text: str, earlier: Sequence[CleanPost]) -> bool:
    """Whether it says that there was none of what the first post begins with, as no other post does yet:
    «Утечки не было», “There was no leak”.
    """
    denied = _denied_in(text)
    if not denied:
        return False
    first = earlier[0]
    beginning = f"{first.headline}\n{first.sentences[0] if first.sentences else ''}"
    return bool(denied & parse_text(beginning).readings) and not any(
        denied & _denied_in(post.text) for post in earlier
    )


@lru_cache(maxsize=4_000)
def _denied_in(text: str) -> frozenset[str]:
    """The readings of the words that a text says do not exist."""
    return frozenset[str]().union(
        *(readings_of(match["after"] or match["before"]) for match in _NONE_EXISTS.finditer(text))
    )


def _tells_growth(text: str, earlier: Sequence[CleanPost]) -> bool:
    """Whether it has a number that grew to it since the earlier posts. In a copy of one, which may have
    spelling mistakes, the number must be new whatever it counts.
    """
    grown = [quantity for quantity in quantities_in(text).all if is_grown(text, quantity)]
    return bool(grown) and not any(
        quantity.value == other.value and (_count_alike(quantity, other) or is_near_copy(text, post.text))
        for post in earlier
        for other in quantities_in(post.text).all
        for quantity in grown
    )


def _count_alike(quantity: Quantity, other: Quantity) -> bool:
    """Whether both may count the same things: 15 engines are not 15 people, and a bare 15 may be either."""
    noun, other_noun = noun_of(quantity), noun_of(other)
    return not noun or not other_noun or not noun.isdisjoint(other_noun)


@lru_cache(maxsize=200)
def _earlier_changes(texts: tuple[str, ...]) -> frozenset[str]:
    return frozenset[str]().union(*(change_words_in(parse_text(text)) for text in texts))


def is_near_copy(text: str, other: str) -> bool:
    own_pairs, other_pairs = word_pairs_of(text), word_pairs_of(other)
    shorter = min(len(own_pairs), len(other_pairs))
    return shorter > 0 and len(own_pairs & other_pairs) >= NEAR_COPY * shorter


@lru_cache(maxsize=4_000)
def word_pairs_of(text: str) -> frozenset[tuple[str, str]]:
    return frozenset(pairwise(_WORD.findall(fold(text))))
