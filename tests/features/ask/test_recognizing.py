"""The box *Find or ask* knows a question from words to look for."""

import pytest

from telegram_assistant.features.ask.recognizing import is_question


@pytest.mark.parametrize(
    "typed", ["мост?", "Сколько человек пострадало на пожаре", "who won the match yesterday"]
)
def test_a_question_mark_or_a_question_word_makes_a_question(typed: str) -> None:
    assert is_question(typed)


@pytest.mark.parametrize("typed", ["", "мост", "пожар в Синегорье вчера вечером", "the who"])
def test_other_texts_are_words_to_look_for(typed: str) -> None:
    assert not is_question(typed)
