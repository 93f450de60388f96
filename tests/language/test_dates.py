"""Words that mean a day only beside the day of their post."""

from datetime import date

import pytest

from telegram_assistant.language.dates import relative_days_in

POSTED_ON = date(2026, 11, 3)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("Сегодня закрыли мост.", [3]),
        ("The bridge was closed yesterday and opens tomorrow.", [2, 4]),
        ("Позавчера мост в Туманске, вчера плотина.", [1, 2]),
        ("«Мы закрыли мост вчера и не знали об этом», — сказал Лосев.", [2]),
        ("Сегодня, 3 ноября, закрыли мост.", []),
        ("Мост закрыли 12 октября, откроют завтра.", [4]),
        ("Об этом пишет агентство «Россия сегодня».", []),
        ("The bridge is closed, USA Today reports.", []),
        ("Today the bridge was closed.", [3]),
        ("Мост закрыли в пятницу в 12:30.", []),
        ("", []),
    ],
)
def test_a_relative_word_means_a_day_unless_its_text_says_it_or_it_is_a_name(
    text: str, days: list[int]
) -> None:
    words = relative_days_in(text, POSTED_ON)
    assert [word.day for word in words] == [date(2026, 11, day) for day in days]
    assert all(text[word.start : word.end].isalpha() for word in words)
