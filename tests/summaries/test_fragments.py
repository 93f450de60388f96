"""Sentences that say nothing alone are no lines of a summary."""

import pytest

from telegram_assistant.language.parsed_text import parse_text
from telegram_assistant.summaries.fragments import (
    depends_on_others,
    is_fragment,
    lacks_antecedent,
    states_something,
)


@pytest.mark.parametrize(
    "text",
    [
        "Ещё кадры с набережной Нортвика.",
        "Момент обрушения крана.",
        "Видео: очевидцы снимают пожар.",
        "More footage from the harbour.",
        "в городе закрыли мост до весны.",
        "В обмен на «новый мост».",
        "В отличие от жителей соседней улицы.",
        "Надеюсь, мост всё же откроют.",
        "Простому человеку мне кажется трудно это понять.",
        "I hope they will open it soon.",
        "На снимке рабочие чинят опору моста.",
        "Мы уверены, что мост откроют в срок.",
        "«Мы починим мост за неделю и откроем его без торжеств».",
        "Сказал, что мост починят за неделю.",
    ],
)
def test_captions_halves_and_exclamations_are_fragments(text: str) -> None:
    assert is_fragment(parse_text(text))


@pytest.mark.parametrize(
    "text",
    [
        "Мост в Нортвике закрыли до весны.",
        "В Нортвике — густой туман.",
        "В порту горит склад.",
        "На мосту найдены трещины.",
        "iPhone подорожал на пять процентов.",
        "4 моста закрыты на ремонт.",
        "«Я закрою мост сам», сказал мэр.",
        "Надеюсь, мост откроют в срок, — сказал мэр.",
        "In Northwick the bridge is closed.",
        "По данным мэрии, ремонт продлится 13 дней.",
        "Мэр: мост откроют весной.",
    ],
)
def test_sentences_that_stand_alone_are_none(text: str) -> None:
    assert not is_fragment(parse_text(text))


@pytest.mark.parametrize("text", ["Мэр Ольхова на встрече с жителями.", "Рабочие осмотрели и починили её."])
def test_a_sentence_without_a_predicate_or_without_its_noun_depends_on_others(text: str) -> None:
    assert depends_on_others(parse_text(text))


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("Курсы валют на 9 декабря", False),
        ("Новый порядок парковки", False),
        ("Мост закрыт", True),
        ("16 пострадавших на трассе", True),
        ("Ремонт моста — до апреля", True),
        ("Bridge closed", True),
    ],
)
def test_a_line_states_something_with_a_predicate_or_a_number(text: str, *, states: bool) -> None:
    assert states_something(parse_text(text)) is states


@pytest.mark.parametrize(
    "text",
    [
        "Соседи долго искали и нашли ее.",
        "Увезли его в больницу с переломом.",
        "По словам одного из них, дверь была открыта.",
        "Накануне это же нашли в подвале.",
        "Такой эту улицу жители ещё не видели.",
    ],
)
def test_a_pronoun_without_a_noun_before_it_points_at_another_sentence(text: str) -> None:
    assert lacks_antecedent(parse_text(text))


@pytest.mark.parametrize(
    "text",
    [
        "Соседи долго искали кошку и нашли ее.",
        "Водителя увезли в больницу, его состояние тяжёлое.",
        "Мэр Туманска сказал, что он не знал о ремонте.",
        "Жители вышли к мэрии, их было около ста.",
        "В этом году мост закрывали дважды.",
        "Мост откроют уже на этой неделе.",
        "Прибыль выросла на 37 %, это рекорд компании.",
        "The cat was found on the roof.",
    ],
)
def test_a_pronoun_with_a_noun_before_it_and_this_year_stand_alone(text: str) -> None:
    assert not lacks_antecedent(parse_text(text))
