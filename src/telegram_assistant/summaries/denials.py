"""Posts that correct themselves openly, and posts that report a denial of what others wrote."""

import re

from telegram_assistant.language.names import names_in
from telegram_assistant.language.parsed_text import parse_text
from telegram_assistant.language.sentences import split_sentences
from telegram_assistant.summaries.cleaning import mark_of
from telegram_assistant.summaries.values import ChangeSort

_DENIES = re.compile(
    r"\b(?:опроверг(?:ает|ают|ла|ло|ли|нут\w*)?|denie[ds]|refute[ds]|debunk(?:s|ed))\b", re.IGNORECASE
)
_MENTIONS = re.compile(
    r"опроверг|опроверж|отрица|фейк|den(?:y|ie[ds]|ial)|refut|debunk|\bfake\b", re.IGNORECASE
)
_REPORTS = re.compile(
    r"(?:информаци|сообщени|слух|данны|сведени|публикаци|утверждени|заявлени)\w*|сми|"
    r"reports?|rumou?rs?|claims?|media",
    re.IGNORECASE,
)
"""Words for what is denied, which say nothing about it."""
FIRST_SENTENCES = 2
MIN_SHARED_WORDS = 3
MIN_SHARED_SHARE = 0.5
"""Of the words with a meaning in the denied statement."""


def corrects_openly(text: str) -> bool:
    """Whether a sentence says that it is a correction."""
    return any(mark_of(sentence) is ChangeSort.CORRECTION for sentence in split_sentences(text))


def denial_in(text: str) -> str | None:
    """The first sentence of a post that reports a denial."""
    first = next(iter(split_sentences(text)), "")
    return first if _DENIES.search(first) else None


def is_denied_by(text: str, denial: str) -> bool:
    """Whether the denial is about what this text begins with.

    A text that tells of the denial, or that quotes whoever denies, is not denied by it.
    """
    verb = _DENIES.search(denial)
    beginning = " ".join(split_sentences(text)[:FIRST_SENTENCES])
    if verb is None or _MENTIONS.search(text):
        return False
    before, after = denial[: verb.start()], denial[verb.end() :]
    begins_with_claim = any(_REPORTS.fullmatch(word.text) for word in parse_text(before).words[:1])
    denier, claim = (after, before) if begins_with_claim else (before, after)
    readings = parse_text(beginning).readings
    if any(word.readings & readings for word in parse_text(denier).content[:1]):
        return False
    words = [word for word in parse_text(claim).content if not _REPORTS.fullmatch(word.text)]
    shared = [word for word in words if word.readings & readings]
    return len(shared) >= max(MIN_SHARED_WORDS, MIN_SHARED_SHARE * len(words)) and bool(
        names_in(beginning) & names_in(claim)
    )
