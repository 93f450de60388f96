"""Which sentences can be quoted without the ones before them."""

import pytest

from telegram_assistant.language.parsed_text import goes_on, is_whole, parse_text


def test_a_line_of_emoji_goes_on_from_nothing() -> None:
    assert not goes_on(parse_text("🔥🔥🔥"))


@pytest.mark.parametrize(
    "text",
    [
        "На прошлой неделе об этом также написал мэр Ольхова.",
        "По его словам, мост откроют в апреле.",
        "Но паниковать не стоит.",
        "Мэр при этом остался в городе.",
        "But there is no reason to worry.",
        "The mayor spoke about this on Monday.",
    ],
)
def test_a_sentence_that_points_back_cannot_stand_alone(text: str) -> None:
    assert goes_on(parse_text(text))


@pytest.mark.parametrize(
    "text",
    [
        "Мост в Ольхове откроют в апреле.",
        "The bridge opens in April.",
        "До этого года мост не чинили.",
        "There will be no tram line in Olkhov.",
    ],
)
def test_a_sentence_that_names_everything_stands_alone(text: str) -> None:
    assert not goes_on(parse_text(text))


@pytest.mark.parametrize(
    "text",
    ["доллар — 109 рублей;", "Главное за день:", "Мэр сказал: «Мост откроют.", "▪️Мост откроют в апреле."],
)
def test_list_items_and_halves_of_quotations_are_not_whole(text: str) -> None:
    assert not is_whole(text)
    assert is_whole("Мэр сказал: «Мост откроют».")
