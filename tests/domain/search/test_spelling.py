"""Spellings that a mistyped word may stand for."""

import pytest

from telegram_assistant.domain.search.spelling import list_spellings, may_have_two_errors


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("пожра", "пожар"), ("Септма", "септима"), ("warehose", "warehouse"), ("пажар", "пожар")],
)
def test_one_letter_too_few_too_many_wrong_or_out_of_place(typed: str, meant: str) -> None:
    assert meant in list_spellings(typed)


def test_the_word_itself_is_not_among_its_spellings_and_none_is_there_twice() -> None:
    spellings = list_spellings("торт")
    assert "торт" not in spellings
    assert len(spellings) == len(set(spellings))


def test_only_long_words_may_have_two_errors() -> None:
    assert not may_have_two_errors("forest")
    assert may_have_two_errors("forecasters")
