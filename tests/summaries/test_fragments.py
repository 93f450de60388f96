"""Sentences that say nothing alone are no lines of a summary."""

import pytest

from telegram_assistant.language.parsed_text import parse_text
from telegram_assistant.summaries.fragments import is_fragment


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
