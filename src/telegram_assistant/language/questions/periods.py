"""The days that a question is about: today, on Monday, this week, 27 November."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from telegram_assistant.language.dates import DAYS_OF_WEEK, WrittenDate, dates_in
from telegram_assistant.language.parsed_text import is_future_verb

_DAY = timedelta(days=1)
_WEEKDAYS = (
    ("понедельник", "понедельника", "monday"),
    ("вторник", "вторника", "tuesday"),
    ("среду", "среды", "wednesday"),
    ("четверг", "четверга", "thursday"),
    ("пятницу", "пятницы", "friday"),
    ("субботу", "субботы", "saturday"),
    ("воскресенье", "воскресенья", "sunday"),
)
_WEEKDAY_NUMBERS = {word: number for number, words in enumerate(_WEEKDAYS) for word in words}
_WEEKDAY = "|".join(sorted(_WEEKDAY_NUMBERS, key=len, reverse=True))
_SATURDAY = 5
_BEFORE_DATE = re.compile(
    r"\b(?:(?:(?:со?|между|from|between)\s+(?:the\s+)?)?(?P<first>\d{1,2})(?:st|nd|rd|th|-?го)?"
    r"(?:\s*[–—-]\s*|\s+(?:по|до|и|to|and|until)\s+)|(?:со?|since|from)\s+)$",
    re.IGNORECASE,
)
_FUTURE = re.compile(r"\b(?:will|shall|going\s+to|be\s+held)\b|\bбуд(?:ет|ут|у|ем|ешь|ете)\b", re.IGNORECASE)
_PART_OF_DAY = r"(?:\s+(?:утром|дн[её]м|вечером|ночью|morning|afternoon|evening|night))?"


@dataclass(frozen=True, slots=True)
class Period:
    """Days, both ends included."""

    since: date
    until: date


def cut_period(question: str, today: date) -> tuple[str, Period | None]:
    """The question without the words that say when, and the days that they mean; None if it says no past day
    or today.
    """
    for pattern, read_days in _PERIODS:
        match = pattern.search(question)
        if match is not None and not (read_days is _weekday and is_about_future(question)):
            return _cut(question, match.start(), match.end()), read_days(match, today)
    for written_date in dates_in(question):
        period = _written_days(question, written_date, today)
        if period is not None and period.since <= today:
            before = _BEFORE_DATE.search(question[: written_date.start])
            start = before.start() if before is not None else written_date.start
            return _cut(question, start, written_date.end), Period(period.since, min(period.until, today))
    return question, None


def is_about_future(question: str) -> bool:
    """Whether a verb of the question is in the future: a weekday in it may be the next one."""
    return _FUTURE.search(question) is not None or any(
        is_future_verb(word) for word in re.findall(r"[а-яё]+", question.casefold())
    )


def _cut(question: str, start: int, end: int) -> str:
    return " ".join(f"{question[:start]} {question[end:]}".split())


def _written_days(question: str, written_date: WrittenDate, today: date) -> Period | None:
    """The day of a written date, the days since it, or those from an earlier day of the month to it."""
    days = written_date.days(today) if written_date.day is not None else ()
    if not days:
        return None
    before = _BEFORE_DATE.search(question[: written_date.start])
    if before is None:
        return Period(days[0], days[0])
    if not before["first"]:
        return Period(days[0], max(days[0], today))
    first_number = int(before["first"])
    return Period(days[0].replace(day=first_number), days[0]) if 0 < first_number <= days[0].day else None


def _days_ago(first_days_ago: int, last_days_ago: int = 0) -> "Callable[[re.Match[str], date], Period]":
    return lambda _, today: Period(today - first_days_ago * _DAY, today - last_days_ago * _DAY)


def _this_week(_: "re.Match[str]", today: date) -> Period:
    return Period(today - today.weekday() * _DAY, today)


def _last_week(_: "re.Match[str]", today: date) -> Period:
    monday = today - (today.weekday() + DAYS_OF_WEEK) * _DAY
    return Period(monday, monday + (DAYS_OF_WEEK - 1) * _DAY)


def _last_days(match: "re.Match[str]", today: date) -> Period:
    """So many days, of which today is the last."""
    return Period(today - (max(1, int(match[1] or match[2])) - 1) * _DAY, today)


def _ago(match: "re.Match[str]", today: date) -> Period:
    day = today - int(match[1] or match[2]) * _DAY
    return Period(day, day)


def _weekend(_: "re.Match[str]", today: date) -> Period:
    """The last one that has begun."""
    saturday = today - (today.weekday() - _SATURDAY) % DAYS_OF_WEEK * _DAY
    return Period(saturday, min(saturday + _DAY, today))


def _weekday(match: "re.Match[str]", today: date) -> Period:
    number = _WEEKDAY_NUMBERS[match[1].casefold()]
    day = today - (today.weekday() - number) % DAYS_OF_WEEK * _DAY
    return Period(day, day)


def _since_weekday(match: "re.Match[str]", today: date) -> Period:
    return Period(_weekday(match, today).since, today)


_PERIODS: "tuple[tuple[re.Pattern[str], Callable[[re.Match[str], date], Period]], ...]" = tuple(
    (re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), read_days)
    for pattern, read_days in (
        (r"на\s+этой\s+неделе|(?:during\s+)?this\s+week", _this_week),
        (r"на\s+прошлой\s+неделе", _last_week),
        (
            r"за\s+последние\s+(\d{1,3})\s+(?:дней|дня)|(?:in|over)\s+the\s+(?:last|past)\s+(\d{1,3})\s+days",
            _last_days,
        ),
        (
            r"за\s+(?:последнюю\s+|эту\s+)?неделю|(?:in|over)\s+the\s+(?:last|past)\s+week",
            _days_ago(DAYS_OF_WEEK - 1),
        ),
        (r"(\d{1,3})\s+(?:дня|дней|день)\s+назад|(\d{1,3})\s+days?\s+ago", _ago),
        (r"неделю\s+назад|a\s+week\s+ago", _days_ago(DAYS_OF_WEEK, DAYS_OF_WEEK)),
        (
            (
                r"(?:в|за|на)\s+(?:эти\s+|прошлые\s+)?выходные|на\s+(?:этих\s+|прошлых\s+)?выходных|"
                r"(?:at|on|over|during)\s+(?:the|this|last)\s+weekend|(?:last|this)\s+weekend"
            ),
            _weekend,
        ),
        (r"last\s+week", _last_week),
        (r"за\s+(?:последние\s+)?сутки|(?:in|over)\s+the\s+(?:last|past)\s+(?:24\s+hours|day)", _days_ago(1)),
        (
            (
                rf"(?:за\s+)?сегодня{_PART_OF_DAY}|этой\s+ночью|today|tonight|"
                r"this\s+(?:morning|afternoon|evening)"
            ),
            _days_ago(0),
        ),
        (rf"(?:за\s+)?позавчера{_PART_OF_DAY}|the\s+day\s+before\s+yesterday", _days_ago(2, 2)),
        (rf"(?:за\s+)?вчера{_PART_OF_DAY}|yesterday{_PART_OF_DAY}|last\s+night", _days_ago(1, 1)),
        (rf"(?:со?|since)\s+({_WEEKDAY})", _since_weekday),
        (rf"(?:во?\s+(?:прошл\w+\s+)?|on\s+(?:last\s+)?|last\s+)({_WEEKDAY})", _weekday),
    )
)
