"""Sentences that may be quoted alone, and lines that may head a story."""

import re

from telegram_assistant.language.parsed_text import ParsedText, goes_on, is_whole
from telegram_assistant.summaries.disputes import words_around
from telegram_assistant.summaries.fragments import depends_on_others, is_fragment, lacks_antecedent
from telegram_assistant.summaries.leads import MIN_OWN_WORDS

MIN_WORDS, MAX_WORDS = 4, 45
MIN_HEADLINE_WORDS, MAX_HEADLINE_WORDS = 3, 16
_TEASES = re.compile(r"\?|:(?!\d)|^\W*(?:что|почему|зачем|why|how|what)\b", re.IGNORECASE)
"""A headline with a question or a colon, which is not that of a score, says little."""


def is_quotable(sentence: ParsedText) -> bool:
    """Whether a sentence of a post says something without the others."""
    return (
        says_something(sentence)
        and not goes_on(sentence)
        and not depends_on_others(sentence)
        and not sentence.text.endswith(("?", "…"))
    )


def says_something(sentence: ParsedText) -> bool:
    """Whether a sentence is whole and long enough to be quoted, at least behind the one before it."""
    return (
        MIN_WORDS <= len(sentence.words) <= MAX_WORDS
        and len(words_around(sentence.text)) >= MIN_OWN_WORDS
        and is_whole(sentence.text)
        and not is_fragment(sentence)
    )


def is_clear_headline(headline: ParsedText) -> bool:
    """Whether a first line of a post says what happened."""
    return (
        MIN_HEADLINE_WORDS <= len(headline.words) <= MAX_HEADLINE_WORDS
        and not _TEASES.search(headline.text)
        and not is_fragment(headline)
        and not lacks_antecedent(headline)
    )
