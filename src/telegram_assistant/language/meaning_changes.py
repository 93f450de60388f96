"""What an edit changed in the meaning of a text, found by rules at a bounded cost;
the wording may change without it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import zip_longest

from telegram_assistant.domain.posts.meaning import MeaningChange, MeaningKind
from telegram_assistant.language.names import key_of, names_in
from telegram_assistant.language.numbers import numbers_in

MAX_CHARACTERS = 3_000
MAX_CHANGES = 8
MAX_SHOWN = 60
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
_CAPITALISED = re.compile(r"[A-ZА-ЯЁ][\w’'-]+")


def meaning_changes(before: str, after: str) -> tuple[MeaningChange, ...]:
    """At most MAX_CHANGES, the weightiest kinds first."""
    before, after = before[:MAX_CHARACTERS], after[:MAX_CHARACTERS]
    if before == after:
        return ()
    without_dates = _DATE.sub(" ", before), _DATE.sub(" ", after)
    changes = [
        *_single(MeaningKind.NEGATION, _words(_NEGATION, before), _words(_NEGATION, after)),
        *_paired(MeaningKind.NUMBER, _numbers(without_dates[0]), _numbers(without_dates[1])),
        *_paired(MeaningKind.NAME, _names(before), _names(after)),
        *_paired(MeaningKind.DATE, _words(_DATE, before), _words(_DATE, after)),
        *_single(MeaningKind.CERTAINTY, _words(_UNCERTAIN, before), _words(_UNCERTAIN, after)),
    ]
    return tuple(changes[:MAX_CHANGES])


type _Said = list[tuple[str, str]]
"""What is compared, and how it is written."""


def _words(pattern: "re.Pattern[str]", text: str) -> _Said:
    return [(" ".join(word.casefold().split()), word) for word in pattern.findall(text)]


def _numbers(text: str) -> _Said:
    return [
        (f"{number.kind} {number.value}", text[number.start : number.end].strip())
        for number in numbers_in(text)
    ]


def _names(text: str) -> _Said:
    names = names_in(text)
    written = {key: word for word in reversed(_CAPITALISED.findall(text)) if (key := key_of(word)) in names}
    return sorted(written.items(), key=lambda pair: text.index(pair[1]))


def _paired(kind: MeaningKind, before: _Said, after: _Said) -> Iterator[MeaningChange]:
    """What is gone beside what came, in their order."""
    for old, new in zip_longest(_missing(before, after), _missing(after, before), fillvalue=""):
        yield MeaningChange(kind, old, new)


def _single(kind: MeaningKind, before: _Said, after: _Said) -> Iterator[MeaningChange]:
    yield from (MeaningChange(kind, word, "") for word in _missing(before, after))
    yield from (MeaningChange(kind, "", word) for word in _missing(after, before))


def _missing(words: _Said, other: Iterable[tuple[str, str]]) -> list[str]:
    left = Counter(key for key, _ in other)
    missing = []
    for key, written in words:
        if left[key]:
            left[key] -= 1
        else:
            missing.append(written[:MAX_SHOWN])
    return missing
