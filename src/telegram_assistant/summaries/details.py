"""Whether a post says a line with all its details, as surely as the line says it.

A post that tells the same event often lacks what a line is about: «Дежурят спецназ и полиция» is not said by
«Дежурит спецназ», nor «Мост закроют» by «Мост могут закрыть».
"""

from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise

from telegram_assistant.language.evidence import has_form_or_root
from telegram_assistant.language.names import key_of
from telegram_assistant.language.opposites import opposites_of
from telegram_assistant.language.parsed_text import (
    ParsedText,
    ParsedWord,
    is_future_verb,
    parse_sentences,
    readings_of,
)
from telegram_assistant.language.quantities import Quantity, quantities_in
from telegram_assistant.language.speakers import has_speech, outside_quotes
from telegram_assistant.summaries.disputes import words_around
from telegram_assistant.summaries.fragments import states_something

MIN_SHARE, MIN_SHARE_OF_COUNT = 0.65, 0.5
"""The share of a line's words, names and sources aside, that stand together in a post which says it; of a
line with numbers, which the passage must have, fewer.
"""
MIN_CORE = 0.6
"""The share of all words of the line that one sentence of the passage has."""
PASSAGE = 2
"""Sentences that stand together; the first sentence of a post belongs to each of its passages."""
_POSSIBLE_WORDS = """
мочь возможно возможный вероятно вероятный якобы предположительно предположительный предварительно
предварительный видимо похоже предполагать подозревать утверждать утверждение
may might could possibly probably perhaps allegedly reportedly apparently likely suspected preliminary claim
"""
_INTENDED_WORDS = """
планировать запланировать планироваться намеренный намерен намереваться собираться хотеть захотеть готовиться
готовый предлагать предложить рассматривать обсуждать
plan intend want propose consider aim ready willing
"""
_FUTURE = frozenset({"will", "won't", "shall"})


class Certainty(StrEnum):
    """The ways in which a sentence is no report of what happened."""

    POSSIBLE = "possible"
    INTENDED = "intended"
    FUTURE = "future"


_TENSE = frozenset({Certainty.FUTURE})


def says_details(line: ParsedText, text: str) -> bool:
    """Whether one passage of a text has nearly all words of the line and all its numbers.

    Other words may stand for single ones; two neighbouring words that are missing are a detail that it lacks.
    """
    if not states_something(line):
        return False
    sentences = parse_sentences(text)
    return any(
        _says(line, sentences, range(start, min(start + PASSAGE, len(sentences))))
        for start in range(len(sentences))
    )


def says_as_surely(line: ParsedText, text: str) -> bool:
    """Whether the nearest sentence of a text calls it as possible or wanted as the line does. A headline may
    tell in the present or future tense what happened; one with a date and no predicate is a table's title.
    """
    sentences = parse_sentences(text)
    is_title = any(map(str.isdigit, line.text)) and not states_something(line)
    if is_title or not sentences:
        return False
    nearest = max(sentences, key=lambda sentence: _count_known(sentence, line.content))
    return certainty_of(line) - _TENSE == certainty_of(nearest) - _TENSE


def _says(line: ParsedText, sentences: Sequence[ParsedText], places: range) -> bool:
    passage = [sentences[place] for place in sorted({0, *places})]
    quantities = quantities_in(line.text).all
    words = _words_beside(line, quantities)
    known = [any(has_word(sentence, word) for sentence in passage) for word in words]
    values = {quantity.value for sentence in passage for quantity in quantities_in(sentence.text).all}
    if any(quantity.value not in values for quantity in quantities):
        return False
    core = max(passage, key=lambda sentence: _count_known(sentence, line.content))
    if certainty_of(line) != certainty_of(core):
        return False
    if quantities:
        return sum(known) >= MIN_SHARE_OF_COUNT * len(words)
    return (
        sum(known) >= MIN_SHARE * len(words)
        and all(first or second for first, second in pairwise(known))
        and _count_known(core, line.content) >= MIN_CORE * len(line.content)
        and not _only_quotes(line, words, core)
    )


def _count_known(sentence: ParsedText, words: Sequence[ParsedWord]) -> int:
    return sum(has_word(sentence, word) for word in words)


def _words_beside(line: ParsedText, quantities: Sequence[Quantity]) -> list[ParsedWord]:
    """The words of a line that are no number, no name and no source."""
    words = words_around(line.text) or line.content
    return [
        word for word in words if not any(number.start <= word.start < number.end for number in quantities)
    ]


def _only_quotes(line: ParsedText, words: Sequence[ParsedWord], sentence: ParsedText) -> bool:
    """Whether somebody is quoted with what the line states as a fact."""
    if has_speech(line) or len(outside_quotes(line)) < len(line.words):
        return False
    outside = frozenset(reading for word in outside_quotes(sentence) for reading in word.readings)
    shared = [word for word in words if has_word(sentence, word)]
    return sum(bool(word.readings & outside) for word in shared) * 2 < len(shared)


def has_word(sentence: ParsedText, word: ParsedWord) -> bool:
    """Whether a sentence has the word in any form, one of its root, or one that means much the same."""
    return (
        has_form_or_root(sentence, word)
        or (word.is_capitalised and key_of(word.text) in sentence.keys)
        or bool(opposites_of(word.readings) & _opposites_in(sentence))
    )


@lru_cache(maxsize=4_000)
def _opposites_in(sentence: ParsedText) -> frozenset[str]:
    """The opposites of its words: two words with the same opposite mean much the same."""
    return frozenset(other for word in sentence.content for other in opposites_of(word.readings))


@lru_cache(maxsize=4_000)
def certainty_of(sentence: ParsedText) -> frozenset[Certainty]:
    """Empty for a sentence that reports what is or was."""
    marks = (_mark_of(word) for word in sentence.words)
    return frozenset(mark for mark in marks if mark is not None)


def _mark_of(word: ParsedWord) -> Certainty | None:
    """None for “May” within a sentence, which is a month."""
    if word.is_capitalised and not word.begins:
        return None
    if word.readings & _readings_of_words(_POSSIBLE_WORDS):
        return Certainty.POSSIBLE
    if word.readings & _readings_of_words(_INTENDED_WORDS):
        return Certainty.INTENDED
    return Certainty.FUTURE if word.folded in _FUTURE or is_future_verb(word.folded) else None


@lru_cache
def _readings_of_words(words: str) -> frozenset[str]:
    return frozenset(reading for word in words.split() for reading in readings_of(word))
