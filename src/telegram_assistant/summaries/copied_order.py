"""Whether two sentences have the same words in the same order, whatever stands between them.

«Паром застрял во льдах у косы» and «Старый паром вечером застрял во льдах у самой косы» are one wording.
"""

import re
from collections.abc import Callable, Sequence

from telegram_assistant.language.evidence import is_same
from telegram_assistant.language.names import names_in
from telegram_assistant.language.parsed_text import ParsedWord, parse_text
from telegram_assistant.summaries.disputes import words_around

SAME_ORDER = 0.8
"""The share of the words of the shorter sentence that the other one has in the same order."""
MIN_WORDS = 5
"""Beside names; whoever tells an event in fewer words has little choice."""
SAME_FORMS, MIN_FORMS = 0.8, 4
"""The same of words beside names in the same grammatical form, where fewer are copied."""
TAGGED_FORMS, MIN_TAGGED_FORMS = 0.6, 3
"""The same where a sentence ends with its source: «… — Reuters» is somebody's headline."""
LINE_FORMS, MIN_LINE_FORMS = 0.75, 3
MIN_PHRASE = 3
_SOURCE_TAG = re.compile(r"[,.]?\s+[—–-]\s*[«\"“]?[A-ZА-ЯЁ][\w-]*(?: [A-ZА-ЯЁ][\w-]*){0,2}[»\"”]?[.!]?$")
"""A name behind a dash at the end."""


def has_same_order(text: str, other_text: str) -> bool:
    """Whether one of two sentences is nearly contained in the other, word after word."""
    bare, other_bare = _without_tag(text), _without_tag(other_text)
    words, other_words = words_around(bare), words_around(other_bare)
    content, other_content = parse_text(bare).content, parse_text(other_bare).content
    is_tagged = len(bare) < len(text) or len(other_bare) < len(other_text)
    return (
        _has_row(words, other_words, MIN_FORMS, SAME_FORMS, _has_same_form)
        or (is_tagged and _has_row(content, other_content, MIN_TAGGED_FORMS, TAGGED_FORMS, _has_same_form))
        or (
            min(len(words), len(other_words)) >= MIN_WORDS
            and _has_row(content, other_content, MIN_WORDS, SAME_ORDER, is_same)
        )
    )


def has_few_own_forms(text: str, other_text: str) -> bool:
    """Whether nearly all words of the shorter sentence, names too, stand in the other in the same form and
    order: for a line beside the headline, which would be told in other words if it were retold.
    """
    content, other_content = parse_text(text).content, parse_text(other_text).content
    return _has_row(content, other_content, MIN_LINE_FORMS, LINE_FORMS, _has_same_form)


def is_contained(text: str, other_text: str) -> bool:
    """Whether one of two sentences stands in the other word for word, and names nobody: a phrase that any
    channel uses, like «Погибших и раненых нет».
    """
    shorter, longer = sorted((text, other_text), key=len)
    words = [word.folded for word in parse_text(shorter).words]
    if len(words) < MIN_PHRASE or names_in(shorter):
        return False
    return f" {' '.join(words)} " in f" {' '.join(word.folded for word in parse_text(longer).words)} "


def _has_row(
    words: Sequence[ParsedWord],
    others: Sequence[ParsedWord],
    min_words: int,
    min_share: float,
    is_equal: Callable[[ParsedWord, ParsedWord], bool],
) -> bool:
    shorter = min(len(words), len(others))
    return shorter >= min_words and _common_length(words, others, is_equal) >= min_share * shorter


def _without_tag(text: str) -> str:
    tag = _SOURCE_TAG.search(text)
    return text if tag is None else text[: tag.start()]


def _has_same_form(word: ParsedWord, other: ParsedWord) -> bool:
    is_name = word.is_capitalised and other.is_capitalised
    return word.folded == other.folded or (is_name and is_same(word, other))


def _common_length(
    words: Sequence[ParsedWord],
    others: Sequence[ParsedWord],
    is_equal: Callable[[ParsedWord, ParsedWord], bool],
) -> int:
    """The length of the longest row of words that both have in the same order."""
    lengths = [0] * (len(others) + 1)
    for word in words:
        before = 0
        for place, other in enumerate(others, 1):
            longest = before + 1 if is_equal(word, other) else max(lengths[place], lengths[place - 1])
            before, lengths[place] = lengths[place], longest
    return lengths[-1]
