"""Which language a text is in, as far as letters and a few small words can tell."""

import re

_UKRAINIAN = re.compile(r"[іїєґІЇЄҐ]")
_ENGLISH = re.compile(r"\b(the|and|of|to|in|is|for|that|with|on|are|was|it|by|as|at|from)\b", re.IGNORECASE)
FEWEST_LETTERS = 3
ENOUGH = 200
"""So many characters tell the language as well as all of them."""


def language_of(text: str) -> str | None:
    """`ru`, `uk`, `en`, or None where it cannot be told."""
    beginning = text[:ENOUGH]
    letters = [letter for letter in beginning if letter.isalpha()]
    if len(letters) < FEWEST_LETTERS:
        return None
    if sum("\u0400" <= letter <= "\u04ff" for letter in letters) * 2 > len(letters):
        return "uk" if _UKRAINIAN.search(beginning) else "ru"
    return "en" if _ENGLISH.search(beginning) else None
