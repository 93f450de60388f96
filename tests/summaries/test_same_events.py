"""Whether two texts tell one event."""

import pytest

from telegram_assistant.summaries.same_events import tell_same_event

SUNK = (
    "Катер с туристами затонул у Кривой косы\n"
    "Пассажиры катера приплыли посмотреть на тюленей, спасатели подняли из воды всех."
)


@pytest.mark.parametrize(
    "text",
    [
        "Прогулочный катер пошёл ко дну возле Кривой косы\nВсех пассажиров подняли из воды спасатели.",
        "Туристы, которых спасли у Кривой косы, плыли на катере смотреть тюленей",
    ],
)
def test_texts_with_a_name_and_many_words_in_common_tell_one_event(text: str) -> None:
    assert tell_same_event(SUNK, text)


@pytest.mark.parametrize(
    "text",
    [
        "У Кривой косы открыли новый маяк\nСтроители закончили работу раньше срока.",
        "Паром с грузом зерна прибыл в Туманск\nПассажиры вышли на берег, спасатели дежурили в порту.",
        "Мэр Кривой косы подписал бюджет\nДеньги пойдут на школы и дороги.",
    ],
)
def test_the_same_place_or_the_same_words_alone_are_not_the_same_event(text: str) -> None:
    assert not tell_same_event(SUNK, text)
