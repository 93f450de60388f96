"""Detects the language of a text from its letters and a few common words."""

import re

_CYRILLIC = re.compile(r"[\u0400-\u04ff]+")
_UKRAINIAN = re.compile(r"[іїєґІЇЄҐ]")
_ENGLISH = re.compile(r"\b(the|and|of|to|in|is|for|that|with|on|are|was|it|by|as|at|from)\b", re.IGNORECASE)
MIN_LETTERS = 3
ENOUGH = 200
"""The number of characters that suffices to detect the language."""


def language_of(text: str) -> str | None:
    """`ru`, `uk`, `en`, or None if it cannot be detected."""
    beginning = text[:ENOUGH]
    letters = sum(map(str.isalpha, beginning))
    if letters < MIN_LETTERS:
        return None
    if sum(map(len, _CYRILLIC.findall(beginning))) * 2 > letters:
        return "uk" if _UKRAINIAN.search(beginning) else "ru"
    return "en" if _ENGLISH.search(beginning) else None
