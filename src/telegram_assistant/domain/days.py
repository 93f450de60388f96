"""Days, months and years as people write them."""

import calendar
import re
from datetime import date, timedelta

from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason

FIRST_YEAR, LAST_YEAR = 2000, 2100
HOW_TO_WRITE = Reason(
    "how_to_write_days",
    "a day like 2026-11-01 or 01.11.2026, a month like 2026-11, a year, today, yesterday, "
    "or 7d for a week ago",
)
TODAY, YESTERDAY = {"today", "сегодня"}, {"yesterday", "вчера"}
_AGO = re.compile(r"(\d{1,4})([dw])", re.ASCII)
_ISO = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?", re.ASCII)
_DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})", re.ASCII)


def days_in(text: str, today: date) -> tuple[date, date]:
    """The first and the last day of the written period. Raises Rejected if it is no date."""
    try:
        first_day, last_day = _span(text.lower(), today)
    except ValueError as error:
        raise Rejected(
            Reason("not_a_date", "{text!r} is not a date; write {how}", text=text, how=HOW_TO_WRITE)
        ) from error
    if first_day.year < FIRST_YEAR or last_day.year > LAST_YEAR:
        raise Rejected(
            Reason(
                "date_out_of_range",
                "{text!r} is before Telegram existed or too far in the future; write {how}",
                text=text,
                how=HOW_TO_WRITE,
            )
        )
    return first_day, last_day


def _span(text: str, today: date) -> tuple[date, date]:
    if text in TODAY:
        return _one(today)
    if text in YESTERDAY:
        return _one(today - timedelta(days=1))
    if ago := _AGO.fullmatch(text):
        return _one(today - timedelta(days=int(ago[1]) * (7 if ago[2] == "w" else 1)))
    if dotted_match := _DOTTED.fullmatch(text):
        return _one(date(int(dotted_match[3]), int(dotted_match[2]), int(dotted_match[1])))
    iso = _ISO.fullmatch(text)
    if iso is None:
        raise ValueError(text)
    year, month = int(iso[1]), iso[2]
    if iso[3]:
        return _one(date(year, int(month), int(iso[3])))
    first_month, last_month = (int(month), int(month)) if month else (1, 12)
    first_day = date(year, first_month, 1)
    return first_day, date(year, last_month, calendar.monthrange(year, last_month)[1])


def _one(day: date) -> tuple[date, date]:
    return day, day
