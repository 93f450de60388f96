"""Spellings that a mistyped word may stand for."""

LATIN = "abcdefghijklmnopqrstuvwxyz"
CYRILLIC = "абвгдеёжзийклмнопрстуфхцчшщъыьэюя"
MIN_LONG_LETTERS = 8
"""A shorter word that differs by two letters is usually another word."""


def list_spellings(word: str) -> list[str]:
    """All spellings that differ from the word by one letter: another one, one more, one less, or two that
    have changed places.
    """
    typed_text = word.lower()
    letters = LATIN if all(letter in LATIN for letter in typed_text) else CYRILLIC
    parts = [(typed_text[:index], typed_text[index:]) for index in range(len(typed_text) + 1)]
    spellings = [before + after[1:] for before, after in parts if after]
    spellings += [before + after[1] + after[0] + after[2:] for before, after in parts if len(after) > 1]
    for letter in letters:
        spellings += [before + letter + after[1:] for before, after in parts if after]
        spellings += [before + letter + after for before, after in parts]
    return [spelling for spelling in dict.fromkeys(spellings) if spelling != typed_text]


def may_have_two_errors(word: str) -> bool:
    return len(word) >= MIN_LONG_LETTERS
