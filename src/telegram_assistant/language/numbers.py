"""Numbers of a text as values that can be compared: «5,4 млрд» and 5.4 billion are one number,
and so are 17 % and «17 процентов».
"""

import re
from dataclasses import dataclass
from enum import StrEnum

MAX_CHARACTERS = 4_000
_MULTIPLES = (
    (re.compile(r"(?:тыс\b|тысяч|thousand|k\b)", re.IGNORECASE), 1_000),
    (re.compile(r"(?:млн\b|миллион|million|mln\b|m\b)", re.IGNORECASE), 1_000_000),
    (re.compile(r"(?:млрд\b|миллиард|billion|bln\b|bn\b)", re.IGNORECASE), 1_000_000_000),
    (re.compile(r"(?:трлн\b|триллион|trillion|trn\b)", re.IGNORECASE), 1_000_000_000_000),
)
_PERCENT = re.compile(r"\s?(?:%|процент|percent|per cent)", re.IGNORECASE)
_SCORE = re.compile(r"(?<![\d:.])(\d{1,3}):(\d{1,3})(?![\d:])")
_NUMBER = re.compile(
    r"(?<![\w.,/])(?<!\w-)"
    r"(?:\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)(?:[.,]\d+)?|\d{1,3}(?:,\d{3})+(?![\d,])(?:\.\d+)?|"
    r"\d+(?:[.,]\d+)?)"
)
_GROUPS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_SPACES = re.compile(r"[ \u00a0\u202f]")
_AFTER = 14
"""How far behind a number its multiple or per cent is looked for."""


class NumberKind(StrEnum):
    """The kind of quantity that a number states."""

    PLAIN = "plain"
    PERCENT = "percent"
    SCORE = "score"


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a text. `value` has no trailing zeros; a score is both of its sides, as written."""

    value: str
    kind: NumberKind
    start: int
    end: int
    """The place in the text at which the number ends, with its multiple or per cent."""


def numbers_in(text: str) -> tuple[Number, ...]:
    """The numbers of a text in their order. Numbers inside words and addresses are none."""
    text = text[:MAX_CHARACTERS]
    scores = [
        Number(f"{int(match[1])}:{int(match[2])}", NumberKind.SCORE, match.start(), match.end())
        for match in _SCORE.finditer(text)
    ]
    score_places = {index for score in scores for index in range(score.start, score.end)}
    plain = [
        _number(match, text)
        for match in _NUMBER.finditer(text)
        if match.start() not in score_places and match.end() - 1 not in score_places
    ]
    return tuple(sorted((*scores, *plain), key=lambda score: score.start))


def _number(match: "re.Match[str]", text: str) -> Number:
    number_text, end, kind = match.group(), match.end(), NumberKind.PLAIN
    digits = _SPACES.sub("", number_text)
    digits = digits.replace(",", "") if _GROUPS.fullmatch(digits) else digits.replace(",", ".")
    value = float(digits)
    text_after = text[end : end + _AFTER]
    gap = len(text_after) - len(text_after.lstrip(" \u00a0\u202f"))
    for multiple, times in _MULTIPLES:
        if (multiplier := multiple.match(text_after, gap)) is not None:
            value *= times
            end += multiplier.end()
            break
    if (percent := _PERCENT.match(text, end)) is not None:
        kind, end = NumberKind.PERCENT, percent.end()
    return Number(f"{value:.6f}".rstrip("0").rstrip("."), kind, match.start(), end)
