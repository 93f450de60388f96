"""Whether a post says a line with all its details."""

import pytest

from telegram_assistant.language.parsed_text import parse_text
from telegram_assistant.summaries.details import Certainty, certainty_of, says_as_surely, says_details


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (
            "У входа в театр дежурят спасатели и врачи скорой помощи.",
            "Театр закрыт. У входа в театр дежурят спасатели.",
        ),
        (
            "Трактор сломал забор школы, который покрасили прошлым летом волонтёры.",
            "Забор школы сломал трактор. Водитель трактора пояснил, что уснул.",
        ),
        ("Мост через Охту закрыли на ремонт.", "Мост через Охту могут закрыть на ремонт."),
        ("Завод покажет прибыль за два года.", "Завод планирует показать прибыль за два года."),
        (
            "Цены в столовой не вырастут до весны.",
            "Директор ответил родителям: «Цены в столовой не вырастут до весны».",
        ),
        (
            "Жители Ольхова стали чаще ездить на работу трамваем.",
            "Половина жителей Ольхова довольна парком. Чаще всего трамваем ездят студенты.",
        ),
        ("Курсы валют на завтра.", "Вот курсы валют на завтра."),
        (
            "Rescuers and two doctors wait at the gate of the stadium.",
            "The stadium is shut. Rescuers wait at the gate of the stadium.",
        ),
        ("The bridge in Halbrook was closed.", "The bridge in Halbrook may be closed."),
    ],
)
def test_a_post_that_lacks_a_detail_or_is_less_sure_does_not_say_the_line(line: str, text: str) -> None:
    assert not says_details(parse_text(line), text)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (
            "Мост через Охту закрыли до апреля из-за трещины в опоре.",
            "До апреля нет проезда через Охту. Мост закрыт: в опоре нашли трещину.",
        ),
        (
            "Хулиганы забросали остановку снежками, но их задержала полиция.",
            "Остановку снежками закидали подростки, хулиганов задержала полиция.",
        ),
        (
            "The bridge in Halbrook was closed because of a crack.",
            "A crack was found in Halbrook this morning, so the bridge is closed.",
        ),
    ],
)
def test_a_post_says_a_line_in_other_words_and_another_order(line: str, text: str) -> None:
    assert says_details(parse_text(line), text)


@pytest.mark.parametrize(
    ("text", "certainty"),
    [
        ("Мост через Охту закрыли до апреля.", set()),
        ("Мост через Охту могут закрыть до апреля.", {Certainty.POSSIBLE}),
        ("Предварительно, мост через Охту закрыт.", {Certainty.POSSIBLE}),
        ("Мэрия планирует закрыть мост через Охту.", {Certainty.INTENDED}),
        ("Мост через Охту закроют до апреля.", {Certainty.FUTURE}),
        ("The bridge in Halbrook was closed in May.", set()),
        ("The bridge in Halbrook may be closed.", {Certainty.POSSIBLE}),
        ("The council plans to close the bridge.", {Certainty.INTENDED}),
        ("The bridge will be closed.", {Certainty.FUTURE}),
    ],
)
def test_a_sentence_reports_or_says_that_something_may_or_shall_happen(
    text: str, certainty: set[Certainty]
) -> None:
    assert certainty_of(parse_text(text)) == certainty


def test_a_headline_needs_the_same_certainty_and_is_no_title_of_a_table() -> None:
    headline, title = parse_text("Мост в Ольхове закроют"), parse_text("Курсы валют на 9 декабря")
    assert says_as_surely(headline, "Мост в Ольхове закрыли из-за трещины.")
    assert not says_as_surely(headline, "Мост в Ольхове могут закрыть из-за трещины.")
    assert not says_as_surely(title, "Вот курсы валют на 9 декабря.")
    assert says_as_surely(parse_text("Пожар на складе в Ольхове"), "Склад горит в Ольхове.")
