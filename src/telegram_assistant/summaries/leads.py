"""How central a sentence is to its story: what most channels tell, told first, with facts.

A side remark uses words that few channels have.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from telegram_assistant.language.evidence import has_form_or_root
from telegram_assistant.language.names import key_of, names_in
from telegram_assistant.language.parsed_text import (
    ParsedText,
    count_shared,
    may_be_name,
    parse_text,
)
from telegram_assistant.language.quantities import quantities_in
from telegram_assistant.language.speakers import has_speech, speakers_in
from telegram_assistant.summaries.cleaning import CleanPost
from telegram_assistant.summaries.disputes import words_around

FIRST_BONUS, SECOND_BONUS = 0.6, 0.2
"""Of a sentence that begins its post, and of the next one."""
FACT_BONUS = 0.15
MAX_FACTS = 2
SUPPORT_BONUS = 0.2
SPEECH_LOSS = 0.4
"""The loss of a sentence in which somebody speaks: a comment on the event is not the event."""
MIN_ADDED = 3
"""Words that a lead adds to the headline at least, where it adds no number and no name."""
REPEATED_SHARE = 0.5
MIN_SHARED = 5
SAME_SHARE = 0.6
"""Sentences that share so many words tell the same."""
MIN_OWN_WORDS = 2
"""Beside names and sources; with fewer, a sentence only says who says it, or repeats the headline."""
RETOLD_SHARE, MIN_RETOLD = 0.45, 3
"""A sentence without a new number or name that shares so many words with the headline retells it."""
NEW_SHARE = 0.5
"""A sentence of which no more words are new retells the headline, if it has no new number or name."""
COVERED_SHARE = 0.45
"""A sentence with so many of the headline's words retells it, if it has no new number or name."""
TOLD_SHARE, MIN_TOLD = 0.6, 5
"""A sentence with so many of the headline's words, its source aside, tells it, whatever it adds: the words
of a short headline are only the subject.
"""
OPENING_SHARE, MIN_OPENING = 0.3, 2
"""The first sentence of a post is its headline: with so many of its words in the headline of the story, and
without a number of its own, it tells the same.
"""
NAMED_SHARE = 0.55
"""The same where it has a new name: of its own words."""
MIN_SUM = 100_000
"""A number without a noun that is as large is a sum of money."""
_DIGITS = re.compile(r"\d+")
_SOURCE_BEHIND = re.compile(r",?\s+[—–-]\s+[^—–\d]{1,50}$")
"""«… — министр», «… — Reuters»."""

type WordShares = Mapping[str, float]
"""The share of a story's channels that have each word, by its readings."""


def word_shares(posts: Sequence[CleanPost]) -> WordShares:
    channels: dict[str, set[int]] = defaultdict(set)
    for post in posts:
        for reading in parse_text(post.text).readings:
            channels[reading].add(post.post.post_id.channel_id)
    total = len({post.post.post_id.channel_id for post in posts})
    return {reading: len(its) / total for reading, its in channels.items()}


def centrality(
    sentence: ParsedText, *, place: int, supporters: float, headline: ParsedText, shares: WordShares
) -> float:
    """The more, the better it tells the story beside its headline.

    `supporters` is the share of channels that say the same.
    """
    content = sentence.content
    words = sum(max(shares.get(reading, 0.0) for reading in word.readings) for word in content) / max(
        len(content), 1
    )
    first = FIRST_BONUS if place == 0 else SECOND_BONUS if place == 1 else 0.0
    facts = FACT_BONUS * min(new_facts(sentence.text, [headline.text]), MAX_FACTS)
    return words + first + facts + SUPPORT_BONUS * supporters - SPEECH_LOSS * has_speech(sentence)


def adds_to(sentence: ParsedText, headline: ParsedText) -> bool:
    """Whether a sentence says more than the headline, a number, a name, or some words, and does not say the
    headline again.
    """
    added = [word for word in sentence.content if not word.readings & headline.readings]
    if says_again(sentence, headline):
        return False
    return len(added) >= MIN_ADDED or new_facts(sentence.text, [headline.text]) > 0


def says_again(sentence: ParsedText, headline: ParsedText) -> bool:
    """Whether half of the shorter one is in the other; a few words are the subject of both, no repetition."""
    shared, words = count_shared(sentence, headline)
    return shared >= max(MIN_SHARED, REPEATED_SHARE * words)


def say_the_same(text: ParsedText, other: ParsedText) -> bool:
    shared, words = count_shared(text, other)
    return words > 0 and shared >= SAME_SHARE * words


def retells(sentence: ParsedText, headline: ParsedText) -> bool:
    """Whether it says nothing that the headline lacks: no number, no name, and few other words, or most words
    of the headline. A new name alone says little in the headline's own words. Words of one root are equal:
    «приостановили» and «о приостановке». A source is no fact.
    """
    if _has_new_number(sentence, headline):
        return False
    if _has_new_name(sentence, headline):
        return _shared_share(sentence, headline) >= NAMED_SHARE
    return _new_share(sentence, headline) <= NEW_SHARE or _shared_share(headline, sentence) >= COVERED_SHARE


def tells_headline(sentence: ParsedText, headline: ParsedText) -> bool:
    """Whether it is the headline with more words: nothing to read directly behind it."""
    statement = parse_text(_SOURCE_BEHIND.sub("", headline.text))
    shared = _count_found(statement, sentence)
    return shared >= max(MIN_TOLD, TOLD_SHARE * min(len(statement.content), len(sentence.content)))


def adds_nothing_to(sentence: ParsedText, headline: ParsedText) -> bool:
    """Whether nobody needs it right behind the headline: it tells the headline, or has most words of a short
    one and no number of its own.
    """
    if tells_headline(sentence, headline):
        return True
    shared, words = count_shared(sentence, headline)
    return shared >= max(MIN_RETOLD, SAME_SHARE * words) and not _has_new_number(sentence, headline)


def opens_alike(sentence: ParsedText, headline: ParsedText) -> bool:
    """Whether the first sentence of a post is another headline of the same news."""
    if _has_new_number(sentence, headline):
        return False
    return _count_found(sentence, headline) >= max(MIN_OPENING, OPENING_SHARE * len(sentence.content))


def _has_new_number(sentence: ParsedText, headline: ParsedText) -> bool:
    """Whether it has a number of its own, or a date or a time, which count nothing."""
    return bool(
        _numbers_in(sentence.text) - _numbers_in(headline.text)
        or {*_DIGITS.findall(sentence.text)} - {*_DIGITS.findall(headline.text)}
    )


def _count_found(text: ParsedText, other: ParsedText) -> int:
    """How many words of a text the other has."""
    return sum(has_form_or_root(other, word) for word in text.content)


def _shared_share(text: ParsedText, other: ParsedText) -> float:
    """The share of the words of a text that the other has; none if they are only the subject of both."""
    shared = _count_found(text, other)
    return shared / len(text.content) if shared >= MIN_RETOLD else 0.0


def _new_share(sentence: ParsedText, headline: ParsedText) -> float:
    quantities = quantities_in(sentence.text).all
    words = [
        word
        for word in words_around(sentence.text)
        if not any(quantity.start <= word.start < quantity.end for quantity in quantities)
    ]
    return sum(not has_form_or_root(headline, word) for word in words) / len(words) if words else 0.0


def _has_new_name(sentence: ParsedText, headline: ParsedText) -> bool:
    names, speakers = names_in(sentence.text) - names_in(headline.text), speakers_in(sentence)
    return any(
        key_of(word.text) in names
        and word not in speakers
        and not has_form_or_root(headline, word)
        and (not word.begins or may_be_name(word.text))
        for word in sentence.words
        if word.is_capitalised
    )


def repeats(sentence: ParsedText, headline: ParsedText) -> bool:
    """Whether it tells the headline again, in other words or with a source: «передаёт агентство X» is no
    fact.
    """
    shared, words = count_shared(sentence, headline)
    is_close = shared >= max(MIN_RETOLD, RETOLD_SHARE * words)
    return retells(sentence, headline) or (is_close and not new_facts(sentence.text, [headline.text]))


def contradicts(sentence: ParsedText, headline: ParsedText) -> bool:
    """Whether both give sums («13,5 млрд») and none in common.

    Smaller numbers without a noun may count anything.
    """
    sentence_sums, headline_sums = (
        {
            quantity.value
            for quantity in quantities_in(text.text).all
            if not quantity.noun and quantity.value >= MIN_SUM
        }
        for text in (sentence, headline)
    )
    return bool(sentence_sums and headline_sums) and not sentence_sums & headline_sums


def _numbers_in(text: str) -> set[float]:
    return {quantity.value for quantity in quantities_in(text).all}


def new_facts(text: str, texts: Iterable[str]) -> int:
    """How many numbers and names of a text were not told."""
    earlier_texts = list(texts)
    numbers = set[float]().union(*map(_numbers_in, earlier_texts))
    names = frozenset[str]().union(*map(names_in, earlier_texts))
    return len(_numbers_in(text) - numbers) + len(names_in(text) - names)
