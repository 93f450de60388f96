"""The time of day that a person types for a watch."""

from datetime import time

import pytest

from telegram_assistant.domain.watches.watch import parse_time_of_day
from telegram_assistant.errors import Rejected


@pytest.mark.parametrize(
    ("text", "expected"), [("22:00", time(22)), (" 07:30 ", time(7, 30)), ("07:30+03:00", time(7, 30))]
)
def test_a_time_of_day_is_read_without_an_offset(text: str, expected: time) -> None:
    assert parse_time_of_day(text) == expected


def test_nothing_typed_is_no_time_and_words_are_refused() -> None:
    assert parse_time_of_day(" ") is None
    with pytest.raises(Rejected, match="like 22:00"):
        parse_time_of_day("night")
