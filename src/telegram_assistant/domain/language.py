"""Which language a text is in, as far as letters and a few small words can tell."""

import re

_LETTERS = re.compile(r"[^\W\d_]")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_UKRAINIAN = re.compile(r"[іїєґІЇЄҐ]")
_ENGLISH = re.compile(r"\b(the|and|of|to|in|is|for|that|with|on|are|was|it|by|as|at|from)\b", re.IGNORECASE)
FEWEST_LETTERS = 3


def language_of(text: str) -> str | None:
    """`ru`, `uk`, `en`, or None where it cannot be told."""
    letters = len(_LETTERS.findall(text))
    if letters < FEWEST_LETTERS:
        return None
    if len(_CYRILLIC.findall(text)) * 2 > letters:
        return "uk" if _UKRAINIAN.search(text) else "ru"
    return "en" if _ENGLISH.search(text) else None
