"""Dates in Russian and English prose: «с 16 ноября», "Nov 16, 2026", 16.11.2026, weekdays, yesterday, years,
times of day.
"""

import re
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

MAX_CHARACTERS = 12_000
_MONTHS = (
    ("янв", "jan"), ("фев", "feb"), ("мар", "mar"), ("апр", "apr"), ("мая", "may"), ("июн", "jun"),
    ("июл", "jul"), ("авг", "aug"), ("сен", "sep"), ("окт", "oct"), ("ноя", "nov"), ("дек", "dec"),
)  # fmt: skip
_MONTH_NUMBERS = {name: number for number, names in enumerate(_MONTHS, start=1) for name in names} | {
    "май": 5,
    "мае": 5,
}
_MONTH = (
    r"(январ[яьею]|феврал[яьею]|март[аеу]?|апрел[яьею]|ма[яйею]|июн[яьею]|июл[яьею]|август[аеу]?|"
    r"сентябр[яьею]|октябр[яьею]|ноябр[яьею]|декабр[яьею]"
    r"|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_YEAR = r"((?:19|20)\d\d)"
_DAY_MONTH = re.compile(
    rf"(?<![\w:.])(\d{{1,2}})(?:-?(?:го|е|ое|st|nd|rd|th))?(?:\s+of)?\s+{_MONTH}\b\.?(?:,?\s+{_YEAR})?",
    re.IGNORECASE,
)
_MONTH_DAY = re.compile(
    rf"\b{_MONTH}\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?![:.,]\d)(?:,?\s+{_YEAR})?", re.IGNORECASE
)
_NUMERIC = re.compile(r"(?<![\d.])(\d{1,2})\.(\d{1,2})\.((?:19|20)?\d\d)(?![\d.])")
_ISO = re.compile(r"\b((?:19|20)\d\d)-(\d\d)-(\d\d)\b")
_MONTH_YEAR = re.compile(
    rf"(?:\b(?:в|с|к|до|по|in|since|by|until|from|of)\s+)?\b{_MONTH}\b\.?(?:\s+{_YEAR})?", re.IGNORECASE
)
_MONTH_SIGN = re.compile(r"^(?:в|с|к|до|по|in|since|by|until|from|of)\s", re.IGNORECASE)
_YEAR_ALONE = re.compile(
    rf"\b{_YEAR}(?:-?(?:го|й|м))?\s*(?:г\b\.?|год[ауе]?\b|годом\b)|\b(?:in|since|by|until|"
    rf"from)\s+{_YEAR}\b(?!\s+[a-z])",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"(?:\b(?:в|с|до|к|около|at|by|from|until)\s+)(\d{1,2}):(\d\d)(?!\d|\s*в пользу)", re.IGNORECASE
)
_WEEKDAY_WORDS = {
    "понедельник": 0, "понедельника": 0, "понедельнику": 0, "вторник": 1, "вторника": 1, "среду": 2,
    "четверг": 3, "четверга": 3, "пятницу": 4, "пятницы": 4, "субботу": 5, "субботы": 5, "воскресенье": 6,
    "воскресенья": 6,
    "monday": 0, "tuesday": 1, "wednesday": 2, "thursday": 3, "friday": 4, "saturday": 5, "sunday": 6,
}  # fmt: skip
_RELATIVE_WORDS = {
    "сегодня": 0,
    "today": 0,
    "tonight": 0,
    "вчера": -1,
    "yesterday": -1,
    "завтра": 1,
    "tomorrow": 1,
    "послезавтра": 2,
    "позавчера": -2,
}
_WORDS = re.compile(rf"\b({'|'.join([*_WEEKDAY_WORDS, *_RELATIVE_WORDS])})\b", re.IGNORECASE)
_OPENS_QUOTATION = re.compile(r"[«\"“]([^«»\"“”]*)$")
_CLOSES_QUOTATION = re.compile(r"([^«»\"“”]*)[»\"”]")
DAYS_OF_WEEK = 7
MAX_NAME_WORDS = 3


@dataclass(frozen=True, slots=True)
class WrittenDate:
    """A date as far as the text says it.

    Either a calendar date, a weekday, a day beside today, or a time of day.
    """

    start: int
    end: int
    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None
    """Monday is 0."""
    days_from_today: int | None = None
    minute_of_day: int | None = None

    def days(self, posted_on: date) -> tuple[date, ...]:
        """The calendar days that it can mean in a text of this day: a weekday is the last one or the next,
        a day without a year the nearest one.
        """
        if self.days_from_today is not None:
            return (posted_on + timedelta(days=self.days_from_today),)
        if self.weekday is not None:
            last_day = posted_on - timedelta(days=(posted_on.weekday() - self.weekday) % DAYS_OF_WEEK)
            return last_day, last_day + timedelta(days=DAYS_OF_WEEK)
        if self.month is not None and self.day is not None:
            years = (
                (self.year,)
                if self.year is not None
                else (posted_on.year - 1, posted_on.year, posted_on.year + 1)
            )
            possible_days = [
                day for year in years if (day := _day_or_none(year, self.month, self.day)) is not None
            ]
            return tuple(sorted(possible_days, key=lambda candidate: abs(candidate - posted_on))[:1])
        return ()

    def is_said_by(self, other: "WrittenDate", posted_on: date) -> bool:
        """Whether a text of that day with the other date says this one."""
        if self.minute_of_day is not None or other.minute_of_day is not None:
            return self.minute_of_day == other.minute_of_day
        if self.days_from_today is not None:
            return self.days_from_today == other.days_from_today
        other_days = other.days(posted_on)
        if self.weekday is not None:
            return any(other_day.weekday() == self.weekday for other_day in other_days)
        if self.day is not None:
            return any(
                (self.day, self.month) == (other_day.day, other_day.month)
                and self.year in {None, other_day.year}
                for other_day in other_days
            )
        if self.month is not None:
            return other.month == self.month and self.year in {
                None,
                other.year,
                *({posted_on.year} if other.year is None else ()),
            }
        return self.year == other.year


@lru_cache(maxsize=20_000)
def dates_in(text: str) -> tuple[WrittenDate, ...]:
    """The dates of a text, in its order."""
    text = text[:MAX_CHARACTERS]
    dates: list[WrittenDate] = []
    for pattern, read in _READERS:
        for match in pattern.finditer(text):
            written_date = read(match)
            if written_date is not None and not any(
                written_date.start < other.end and other.start < written_date.end for other in dates
            ):
                dates.append(written_date)
    return tuple(sorted(dates, key=lambda item: item.start))


@dataclass(frozen=True, slots=True)
class RelativeDay:
    """A word such as «сегодня», and the day that it means in its text."""

    start: int
    end: int
    day: date


def relative_days_in(text: str, posted_on: date) -> tuple[RelativeDay, ...]:
    """The words of a text of this day that mean another day tomorrow: «сегодня», "yesterday".

    Without those beside which the text says the day itself, and those in a name: «Россия сегодня».
    """
    dates = dates_in(text)
    written_days = {
        day for written_date in dates if written_date.day is not None for day in written_date.days(posted_on)
    }
    return tuple(
        RelativeDay(written_date.start, written_date.end, day)
        for written_date in dates
        if written_date.days_from_today is not None and not _is_in_name(text, written_date)
        for day in written_date.days(posted_on)
        if day not in written_days
    )


def _is_in_name(text: str, written_date: WrittenDate) -> bool:
    """A short quotation, or a capital letter inside an English sentence: "USA Today"."""
    opening = _OPENS_QUOTATION.search(text[: written_date.start])
    closing = _CLOSES_QUOTATION.match(text, written_date.end)
    if opening is not None and closing is not None:
        words = f"{opening[1]} {text[written_date.start : written_date.end]} {closing[1]}".split()
        return len(words) <= MAX_NAME_WORDS
    return text[written_date.start].isupper() and text[: written_date.start].rstrip()[-1:].isalnum()


def _calendar(
    match: "re.Match[str]", year: str | None, month: int | None, day: str | None
) -> WrittenDate | None:
    number = int(day) if day else None
    if month is None or (
        number is not None and _day_or_none(int(year) if year else 2024, month, number) is None
    ):
        return None
    return WrittenDate(*match.span(), year=int(year) if year else None, month=month, day=number)


def _month(name: str) -> int | None:
    return _MONTH_NUMBERS.get(name.casefold()[:3])


def _numeric(match: "re.Match[str]") -> WrittenDate | None:
    day, month, year = match.groups()
    return (
        _calendar(match, year if len(year) == len("2026") else f"20{year}", int(month), day)
        if 1 <= int(month) <= len(_MONTHS)
        else None
    )


def _iso(match: "re.Match[str]") -> WrittenDate | None:
    return _calendar(match, match[1], int(match[2]), match[3]) if 1 <= int(match[2]) <= len(_MONTHS) else None


def _month_and_year(match: "re.Match[str]") -> WrittenDate | None:
    """A month alone needs a preposition or a year: "may", "march" and «мая» mean other things too."""
    if not match[2] and not _MONTH_SIGN.match(match.group()):
        return None
    if not match[2] and match[1].isascii() and not match[1][0].isupper():
        return None
    return _calendar(match, match[2], _month(match[1]), None)


def _time(match: "re.Match[str]") -> WrittenDate | None:
    hour, minute = int(match[1]), int(match[2])
    return (
        WrittenDate(match.start(1), match.end(), minute_of_day=hour * 60 + minute)
        if hour <= 24 and minute < 60  # noqa: PLR2004 -- a clock
        else None
    )


def _year(match: "re.Match[str]") -> WrittenDate:
    return WrittenDate(match.start(), match.end(), year=int(match[1] or match[2]))


def _word(match: "re.Match[str]") -> WrittenDate:
    word = match[1].casefold()
    if word in _RELATIVE_WORDS:
        return WrittenDate(*match.span(), days_from_today=_RELATIVE_WORDS[word])
    return WrittenDate(*match.span(), weekday=_WEEKDAY_WORDS[word])


def _day_or_none(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


_READERS = (
    (_ISO, _iso),
    (_NUMERIC, _numeric),
    (_DAY_MONTH, lambda match: _calendar(match, match[3], _month(match[2]), match[1])),
    (_MONTH_DAY, lambda match: _calendar(match, match[3], _month(match[1]), match[2])),
    (_MONTH_YEAR, _month_and_year),
    (_YEAR_ALONE, _year),
    (_TIME, _time),
    (_WORDS, _word),
)
