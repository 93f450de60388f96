"""Which texts of the box *Find or ask* are questions."""

from telegram_assistant.features.ask.ask import MAX_QUESTION_CHARACTERS
from telegram_assistant.language.questions.wanted import asks_itself

MIN_WORDS = 3
"""A shorter text with a question word and no question mark looks for these words."""


def is_question(typed_text: str) -> bool:
    if not typed_text or len(typed_text) > MAX_QUESTION_CHARACTERS:
        return False
    return typed_text.rstrip().endswith("?") or (
        len(typed_text.split()) >= MIN_WORDS and asks_itself(typed_text)
    )
