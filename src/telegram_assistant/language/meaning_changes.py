"""Changes of meaning that an edit made, found by rules at a bounded cost;
the wording may change without it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import zip_longest

from telegram_assistant.domain.posts.meaning import MeaningChange, MeaningKind
from telegram_assistant.domain.posts.near_copies import ADDRESS
from telegram_assistant.language.lemmas import MAX_WORD_CHARACTERS
from telegram_assistant.language.names import key_of, names_in
from telegram_assistant.language.numbers import numbers_in
from telegram_assistant.language.russian import analyser

MAX_CHARACTERS = 3_000
MAX_CHANGES = 8
MAX_SHOWN = 60
MAX_CORRECTED = 5
"""More corrected words are another text."""
MIN_LETTERS = 4
MIN_LATIN_LETTERS = 6
MIN_TWICE_WRONG = 8
"""Letters of a word that may have two wrong ones."""
_WORD = re.compile(r"[^\W_]+")
_VOWEL = re.compile(r"[aeiouyаеиоуыэюя]")
_DOUBLED = re.compile(r"([^a])\1+")
_MONTHS = (
    "января|февраля|марта|апреля|мая|июня|июля|августа|сентября|октября|ноября|декабря|"
    "january|february|march|april|may|june|july|august|september|october|november|december"
)
_DATE = re.compile(
    rf"\b\d{{1,2}}\s+(?:{_MONTHS})\b(?:\s+\d{{4}})?|\b(?:{_MONTHS})\s+\d{{1,2}}\b(?:,?\s+\d{{4}})?|"
    rf"\b\d{{1,2}}\.\d{{1,2}}\.\d{{2,4}}\b|"
    r"\b(?:понедельник|вторник|сред[ау]|четверг|пятниц[ау]|суббот[ау]|воскресенье|сегодня|завтра|"
    r"послезавтра|вчера)\b|"
    r"\b(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|today|tomorrow|yesterday)\b",
    re.IGNORECASE,
)
_NEGATION = re.compile(r"\b(?:не|нет|ни|никогда|not|no|never)\b|\b\w+n[’']t\b", re.IGNORECASE)
_UNCERTAIN = re.compile(
    r"\b(?:может|могут|мог|могла|могли|возможно|вероятно|якобы|предположительно|предварительно|видимо|"
    r"похоже|по предварительным данным|"
    r"по неподтверждённым данным|по неподтвержденным данным|may|might|could|reportedly|allegedly|possibly|"
    r"probably|apparently|likely|unconfirmed)\b",
    re.IGNORECASE,
)
_EXACT = frozenset({MeaningKind.NUMBER, MeaningKind.DATE})
"""A comma in a number is no punctuation."""
_CAPITALISED = re.compile(r"[A-ZА-ЯЁ][\w’'-]+")


def meaning_changes(before: str, after: str) -> tuple[MeaningChange, ...]:
    """At most MAX_CHANGES, the weightiest kinds first, or the spelling alone. Addresses, mentions and
    hashtags mean nothing.
    """
    before, after = (ADDRESS.sub(" ", text[:MAX_CHARACTERS]) for text in (before, after))
    if before == after:
        return ()
    without_dates = _DATE.sub(" ", before), _DATE.sub(" ", after)
    changes = [
        *_single(MeaningKind.NEGATION, _words(_NEGATION, before), _words(_NEGATION, after)),
        *_pair_changes(MeaningKind.NUMBER, _numbers(without_dates[0]), _numbers(without_dates[1])),
        *_pair_changes(MeaningKind.NAME, _names(before), _names(after)),
        *_pair_changes(MeaningKind.DATE, _words(_DATE, before), _words(_DATE, after)),
        *_single(MeaningKind.CERTAINTY, _words(_UNCERTAIN, before), _words(_UNCERTAIN, after)),
    ]
    spelling = _spelling_change(before, after)
    if spelling is not None and all(_is_of_spelling(change, spelling) for change in changes):
        return (spelling,)
    return tuple(changes[:MAX_CHANGES])


def _is_of_spelling(change: MeaningChange, spelling: MeaningChange) -> bool:
    """Whether the change is no other than the spelling: a misspelt first word looks like a name."""
    if not spelling.before:
        return change.kind not in _EXACT
    return change.kind is MeaningKind.NAME and change.before == spelling.before and not change.after


type _Said = list[tuple[str, str]]
"""Pairs of the form that is compared and the form that is written."""


def _words(pattern: "re.Pattern[str]", text: str) -> _Said:
    return [(" ".join(word.casefold().split()), word) for word in pattern.findall(text)]


def _numbers(text: str) -> _Said:
    return [
        (f"{number.kind} {number.value}", text[number.start : number.end].strip())
        for number in numbers_in(text)
    ]


def _names(text: str) -> _Said:
    names = names_in(text)
    spelling_by_key = {
        key: word for word in reversed(_CAPITALISED.findall(text)) if (key := key_of(word)) in names
    }
    return sorted(spelling_by_key.items(), key=lambda pair: text.index(pair[1]))


def _pair_changes(kind: MeaningKind, before: _Said, after: _Said) -> Iterator[MeaningChange]:
    """Pairs each value that is gone with a value that came, in their order."""
    for old_word, new_word in zip_longest(_missing(before, after), _missing(after, before), fillvalue=""):
        yield MeaningChange(kind, old_word, new_word)


def _single(kind: MeaningKind, before: _Said, after: _Said) -> Iterator[MeaningChange]:
    yield from (MeaningChange(kind, word, "") for word in _missing(before, after))
    yield from (MeaningChange(kind, "", word) for word in _missing(after, before))


def _missing(words: _Said, other: Iterable[tuple[str, str]]) -> list[str]:
    unmatched_counts = Counter(key for key, _ in other)
    missing_words = []
    for key, written_word in words:
        if unmatched_counts[key]:
            unmatched_counts[key] -= 1
        else:
            missing_words.append(written_word[:MAX_SHOWN])
    return missing_words


def _spelling_change(before: str, after: str) -> MeaningChange | None:
    """The first corrected word, or no word if only punctuation, spaces or capitals changed; None where this
    is not sure.
    """
    if before.count("?") != after.count("?"):
        return None
    old_words, new_words = ([*map(str, _WORD.findall(text))] for text in (before, after))
    if not old_words or not new_words:
        return None
    if _fold("".join(old_words)) == _fold("".join(new_words)):
        return MeaningChange(MeaningKind.SPELLING, "", "")
    if len(old_words) != len(new_words):
        return None
    corrected_pairs = [
        pair for pair in zip(old_words, new_words, strict=True) if _fold(pair[0]) != _fold(pair[1])
    ]
    if len(corrected_pairs) <= MAX_CORRECTED and all(
        _is_corrected(*map(_fold, pair)) for pair in corrected_pairs
    ):
        return MeaningChange(MeaningKind.SPELLING, *corrected_pairs[0])
    return None


def _fold(word: str) -> str:
    return word.casefold().replace("ё", "е")


def _is_corrected(old_word: str, new_word: str) -> bool:
    """Whether one word is a misspelling of the other."""
    letters = min(len(old_word), len(new_word))
    if (
        letters < MIN_LETTERS
        or not (old_word + new_word).isalpha()
        or max(len(old_word), len(new_word)) > MAX_WORD_CHARACTERS
    ):
        return False
    if _distance(old_word, new_word) > (2 if letters >= MIN_TWICE_WRONG else 1):
        return False
    words = analyser()
    if words is not None and not old_word.isascii() and not new_word.isascii():
        return not words.word_is_known(old_word) and words.word_is_known(new_word)
    return letters >= MIN_LATIN_LETTERS and _sounds_alike(old_word, new_word)


def _sounds_alike(old_word: str, new_word: str) -> bool:
    """Without a dictionary: only vowels within the word and doubled letters differ."""
    return (
        old_word[0] == new_word[0]
        and old_word[-1] == new_word[-1]
        and _skeleton(old_word) == _skeleton(new_word)
    )


def _skeleton(word: str) -> str:
    return _DOUBLED.sub(r"\1", _VOWEL.sub("a", word))


def _distance(old_word: str, new_word: str) -> int:
    """How many letters were replaced, added, left out or swapped with their neighbour."""
    before_last: list[int] = []
    last_row = list(range(len(new_word) + 1))
    for row, letter in enumerate(old_word, 1):
        current_row = [row]
        for column, other in enumerate(new_word, 1):
            cost = min(last_row[column] + 1, current_row[-1] + 1, last_row[column - 1] + (letter != other))
            if row > 1 and column > 1 and letter == new_word[column - 2] and old_word[row - 2] == other:
                cost = min(cost, before_last[column - 2] + 1)
            current_row.append(cost)
        before_last, last_row = last_row, current_row
    return last_row[-1]
