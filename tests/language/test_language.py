"""Dictionary forms, names and numbers of texts."""

import pytest

from telegram_assistant.language.lemmas import lemma, lemmas_in
from telegram_assistant.language.names import key_of, names_in
from telegram_assistant.language.numbers import NumberKind, numbers_in
from telegram_assistant.language.parsed_text import parse_text
from telegram_assistant.language.questions.matching import parse_question
from telegram_assistant.language.terms import terms_of


def test_forms_of_a_word_have_one_lemma_and_empty_words_have_none() -> None:
    assert lemmas_in("На мосту закрыли движение, и мосты закроют") == lemmas_in(
        "мост закрыть движение мост закрыть"
    )
    assert lemma("houses") == lemma("house")
    assert lemma("stopped") == lemma("stops") == "stop"
    assert lemmas_in("in the and of") == []


@pytest.mark.parametrize(
    ("russian", "english"),
    [
        ("Кроссхейвене", "Crosshaven"),
        ("Карпинца", "Karpinets"),
        ("Нортвика", "Northwick"),
        ("Путину", "Putin"),
        ("Ростове", "Rostov"),
    ],
)
def test_a_name_has_one_key_in_both_alphabets_as_far_as_letters_go(russian: str, english: str) -> None:
    first, other = key_of(russian), key_of(english)
    assert first[:4] == other[:4]


def test_names_are_found_in_quotation_marks_and_at_the_beginning_of_a_sentence() -> None:
    assert key_of("Гранит") in names_in("Команда «Гранит» победила.")
    assert key_of("Ольга") in names_in("Ольга Бережная победила.")
    assert names_in("Победила команда хозяев. Она рада.") == frozenset()


@pytest.mark.parametrize(
    ("text", "value", "kind"),
    [
        ("5,4 млрд рублей", "5400000000", NumberKind.PLAIN),
        ("1.5 million people", "1500000", NumberKind.PLAIN),
        ("счёт 4:0", "4:0", NumberKind.SCORE),
        ("выросла на 17 %", "17", NumberKind.PERCENT),
        ("17 процентов", "17", NumberKind.PERCENT),
        ("12 300 домов", "12300", NumberKind.PLAIN),
        ("12,300 houses", "12300", NumberKind.PLAIN),
        ("оценка 8,20", "8.2", NumberKind.PLAIN),
        ("7 тысяч человек", "7000", NumberKind.PLAIN),
    ],
)
def test_a_number_is_a_value_however_it_is_written(text: str, value: str, kind: NumberKind) -> None:
    assert [(number.value, number.kind) for number in numbers_in(text)] == [(value, kind)]


def test_numbers_inside_words_are_none() -> None:
    assert numbers_in("https://example.org/4d60 и ИЛ-2") == ()


@pytest.mark.parametrize("letter", ["\U00018441", "\U0002a6df", "\ue000", "\U00087d15"])
def test_letters_without_a_name_in_unicode_are_read_like_any_others(letter: str) -> None:
    text = (
        f"Мост{letter} закрыт, Порошин{letter} молчит. {letter}{letter} Bridge{letter} closed in Northwick."
    )
    assert "молчать" in lemmas_in(text)
    assert terms_of(text).words
    assert parse_text(text).words
    assert names_in(text) is not None
    assert parse_question(f"Когда откроют мост{letter} в Нортвике?").words
