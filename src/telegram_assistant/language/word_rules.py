"""Words that make cited posts doubtful support of a sentence: too few in common, negations, opposites, names
in another order, repetitions.

Each rule returns why the source sentence is shown instead, or None.
"""

import re
from itertools import pairwise

from telegram_assistant.language.dates import dates_in
from telegram_assistant.language.evidence import Evidence, is_same, noun_of, shared_words
from telegram_assistant.language.fact_rules import Rule
from telegram_assistant.language.opposites import NEGATED_ENDING, NEGATIONS, opposites_of
from telegram_assistant.language.parsed_text import (
    ParsedText,
    ParsedWord,
    may_be_name,
    parse_text,
    readings_of,
)
from telegram_assistant.language.quantities import quantities_in
from telegram_assistant.language.sentences import quotations
from telegram_assistant.language.speakers import speakers_in
from telegram_assistant.reasons import Reason

MIN_COVERAGE = 0.4
"""The share of a sentence's words that must stand in the cited posts."""
NEARLY_COPIED = 0.6
"""A sentence that shares so many words with a source sentence and has a
word that no post has may say something else with it.
"""
NEGATED_WORDS = 2
NEAR_CHARACTERS = 60
MANY_TIMES = 3
_AMOUNT_WORDS = (
    "десятки сотни тысячи миллионы миллиарды большинство половина треть четверть "
    "dozens hundreds thousands millions billions most majority half"
)
_AMOUNTS = frozenset[str]().union(*map(readings_of, _AMOUNT_WORDS.split()))
"""Words that count without a number."""
_COMMON_ENDING = re.compile(r"(?:s|ing|er|ed|ly|tion|ment|ness|al|ic|ous|ive|ship|ity)$")
"""Endings that English names seldom have."""


def _coverage(claim: ParsedText, evidence: Evidence) -> Reason | None:
    content = claim.content
    if content and sum(evidence.has(word) for word in content) < MIN_COVERAGE * len(content):
        return Reason("citation_words", "the cited posts use other words or say something else")
    return None


def _first_word(claim: ParsedText, evidence: Evidence) -> Reason | None:
    """Nobody can tell whether an English word that begins a sentence is a name;
    one that no post has may be an invented one.
    """
    for word in claim.words:
        is_unsure = word.begins and word.is_capitalised and word.is_content and may_be_name(word.text) is None
        if is_unsure and not _COMMON_ENDING.search(word.folded) and not evidence.has(word):
            return Reason("citation_words", "the cited posts use other words or say something else")
    return None


def _substitutions(claim: ParsedText, evidence: Evidence) -> Reason | None:
    """A source sentence with one word changed: it may be an opposite that no list has, or another thing."""
    content = [word for word in claim.content if word not in speakers_in(claim)]
    quantity_spans = [(quantity.start, quantity.end) for quantity in quantities_in(claim.text).all] + [
        (date.start, date.end) for date in dates_in(claim.text)
    ]
    unknown = [
        word
        for word in content
        if not evidence.has(word) and not any(start <= word.start < end for start, end in quantity_spans)
    ]
    if unknown and any(shared_words(content, sentence) >= NEARLY_COPIED for sentence in evidence.sentences):
        return Reason("citation_word", "no cited post has the word {word!r}", word=unknown[0].text)
    return None


def _amounts(claim: ParsedText, evidence: Evidence) -> Reason | None:
    """«Сотни людей вышли» is more than «люди вышли»."""
    spans = [(quantity.start, quantity.end) for quantity in quantities_in(claim.text).all]
    for word in claim.words:
        is_amount = word.readings & _AMOUNTS and not any(start <= word.start < end for start, end in spans)
        if is_amount and not word.readings & evidence.readings:
            return Reason("citation_word", "no cited post has the word {word!r}", word=word.text)
    return None


def _negations(claim: ParsedText, evidence: Evidence) -> Reason | None:
    reason = Reason("citation_negation", "the cited posts say the opposite, or do not deny it")
    denied_words, affirmed_words = _split_negated(claim)
    cited_denied, cited_affirmed = set[str](), set[str]()
    for sentence in evidence.sentences:
        own_parts, other_words = _split_negated(sentence)
        cited_denied |= {reading for word in own_parts for reading in word.readings}
        cited_affirmed |= {reading for word in other_words for reading in word.readings}
    if any(not word.readings & cited_denied for word in denied_words):
        return reason
    if any(word.readings & cited_denied and not word.readings & cited_affirmed for word in affirmed_words):
        return reason
    return None


def _split_negated(sentence: ParsedText) -> tuple[list[ParsedWord], list[ParsedWord]]:
    """The content words of a sentence that are negated, and the others. «Погибших нет»:
    the word before counts, too.
    """
    denied_words: list[ParsedWord] = []
    words = sentence.words
    for word_index, word in enumerate(words):
        if word.folded in NEGATIONS or word.folded.endswith(NEGATED_ENDING):
            words_after = [word for word in words[word_index + 1 : word_index + 5] if word.is_content][
                : 1 if word.folded in {"не", "ни"} else NEGATED_WORDS
            ]
            words_before = (
                [word for word in words[max(0, word_index - 4) : word_index] if word.is_content]
                if word.folded in {"нет", "никто"}
                else []
            )
            denied_words += words_after + words_before or list(words[word_index + 1 : word_index + 2])
    return denied_words, [word for word in sentence.content if word not in denied_words]


def _opposites(claim: ParsedText, evidence: Evidence) -> Reason | None:
    for word in claim.content:
        if not word.readings & evidence.readings and opposites_of(word.readings) & evidence.readings:
            return Reason("citation_opposite", "the cited posts say the opposite of “{word}”", word=word.text)
    return None


def _roles(claim: ParsedText, evidence: Evidence) -> Reason | None:
    """Two names in another order than in every sentence that has both: who did it to whom may be swapped."""
    quotation = [
        word.text for quotation in quotations(claim.text) for word in parse_text(quotation).words[:1]
    ]
    names = [
        word
        for word in claim.words
        if word.is_capitalised
        and word.is_content
        and (not word.begins or may_be_name(word.text) or word.text in quotation)
    ]
    runs = [
        word
        for name_index, word in enumerate(names)
        if not name_index or claim.text[names[name_index - 1].end : word.start] != " "
    ]
    for name, other in pairwise(runs):
        if False in {_order(sentence, name, other) for sentence in evidence.sentences}:
            return Reason(
                "citation_roles",
                "the cited posts name {one!r} and {other!r} in the opposite order",
                one=name.text,
                other=other.text,
            )
    return None


def _order(sentence: ParsedText, name: ParsedWord, other: ParsedWord) -> bool | None:
    ones = [word_index for word_index, word in enumerate(sentence.words) if is_same(name, word)]
    other_indexes = [word_index for word_index, word in enumerate(sentence.words) if is_same(other, word)]
    return min(ones) < max(other_indexes) if ones and other_indexes else None


def _check_counts(claim: ParsedText, evidence: Evidence) -> Reason | None:
    """If one noun has several numbers («7 человек ранены, 2 человека погибли»), a number must keep the words
    around it.
    """
    for quantity in quantities_in(claim.text).all:
        noun = noun_of(quantity)
        values = {other.value for other in evidence.quantities if noun & noun_of(other)}
        if len(values) < 2:  # noqa: PLR2004 -- several
            continue
        near_words = [
            word
            for word in claim.content
            if not word.readings & noun and abs(word.start - quantity.start) < NEAR_CHARACTERS
        ]
        for post in evidence.posts:
            parsed_text = parse_text(post.text)
            for other in quantities_in(post.text).all:
                if other.value == quantity.value and any(
                    word.readings & other_word.readings
                    for word in near_words
                    for other_word in parsed_text.content
                    if abs(other_word.start - other.start) < NEAR_CHARACTERS
                ):
                    break
            else:
                continue
            break
        else:
            return Reason(
                "citation_counted",
                "the cited posts use {number!r} for something else",
                number=claim.text[quantity.start : quantity.end],
            )
    return None


def _repetitions(claim: ParsedText, evidence: Evidence) -> Reason | None:
    """A list of search words is no sentence, although a post has each of them."""
    for word in claim.content:
        if _times(word, claim) >= MANY_TIMES and not any(
            _times(word, sentence) >= MANY_TIMES for sentence in evidence.sentences
        ):
            return Reason("citation_repeated", "it repeats {word!r}, and no cited post does", word=word.text)
    return None


def _times(word: ParsedWord, sentence: ParsedText) -> int:
    return sum(bool(word.readings & other.readings) for other in sentence.content)


WORD_RULES: tuple[Rule, ...] = (
    _coverage,
    _first_word,
    _negations,
    _opposites,
    _amounts,
    _substitutions,
    _roles,
    _check_counts,
    _repetitions,
)
