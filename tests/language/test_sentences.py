"""Sentences, dates and numbers of posts."""

from datetime import date

import pytest

from telegram_assistant.language.dates import dates_in
from telegram_assistant.language.quantities import quantities_in
from telegram_assistant.language.sentences import split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (
            "🔴 Коротко. Трасса стоит\n\nОгонь занял 700 кв. м площади.",
            ("Коротко.", "Трасса стоит", "Огонь занял 700 кв. м площади."),
        ),
        ("Потратили 5,4 млн. Мэр И. Петров не ответил.", ("Потратили 5,4 млн.", "Мэр И. Петров не ответил.")),
        ("«Это так. Мы проверили», — сказал он. Всё.", ("«Это так. Мы проверили», — сказал он.", "Всё.")),
        (
            "— Mr. Smith met Dr. Jones at 5 p.m. They spoke.",
            ("Mr. Smith met Dr. Jones at 5 p.m.", "They spoke."),
        ),
        ("Порывы до 32 м/с. Аэропорт закрыт.", ("Порывы до 32 м/с.", "Аэропорт закрыт.")),
        ("It costs $1.5 million. Счёт 5:1!", ("It costs $1.5 million.", "Счёт 5:1!")),
    ],
)
def test_sentences_end_where_a_reader_sees_it(text: str, sentences: tuple[str, ...]) -> None:
    assert split_sentences(text) == sentences


def test_dates_are_read_as_prose_writes_them_and_millions_are_none() -> None:
    today = date(2026, 11, 17)
    assert [
        date_in_text.days(today) for date_in_text in dates_in("с 16 ноября, Nov 3, 2025, 01.02.2026")
    ] == [
        (date(2026, 11, 16),),
        (date(2025, 11, 3),),
        (date(2026, 2, 1),),
    ]
    assert dates_in("5,4 млрд, счёт 3:1, it may rain, the march began") == ()
    (ours,), (theirs,) = dates_in("16 ноября"), dates_in("вчера")
    assert ours.is_said_by(theirs, today)
    assert not ours.is_said_by(theirs, date(2026, 11, 20))


@pytest.mark.parametrize(
    ("text", "values", "nouns"),
    [
        ("полтора миллиона рублей", [1_500_000], ["рублей"]),
        ("двести сорок тысяч человек", [240_000], ["человек"]),
        ("twenty-five dogs and half a million people", [25, 500_000], ["dogs", "people"]),
        ("1,500 people, $1.5 million", [1500, 1_500_000], ["people", "доллар"]),
        ("На 149-м километре столкнулись 11 машин", [149, 11], ["километре", "машин"]),
        ("один из них, one of them, тысячи людей", [], []),
        ("16 ноября 2026 года сгорели 3 деревянных дома", [3], ["дома"]),
        ("5–10 тысяч домов", [5000, 10_000], ["домов", "домов"]),
    ],
)
def test_numbers_have_their_noun_in_figures_and_in_words(
    text: str, values: list[float], nouns: list[str]
) -> None:
    quantities = quantities_in(text).all
    assert [quantity.value for quantity in quantities] == values
    assert [quantity.noun for quantity in quantities] == nouns


def test_from_and_to_are_a_pair_in_order() -> None:
    assert quantities_in("выросла с 10 до 15 процентов").ranges == ((10, 15),)
    assert quantities_in("from 15 to 10 percent").ranges == ((15, 10),)
    assert quantities_in("матч закончился 5:1").ranges == ()


def test_the_article_of_a_law_stays_with_its_number() -> None:
    text = "Дело возбудили по ч. 3 ст. 238 УК. Следователи работают."
    assert split_sentences(text) == ("Дело возбудили по ч. 3 ст. 238 УК.", "Следователи работают.")
