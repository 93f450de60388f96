"""Word forms without a dictionary: English endings, and the regular endings of Russian nouns."""

import re
from collections.abc import Callable

WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
HASHTAG = re.compile(r"(?<![\w/&])#([^\W\d_]\w{1,39})")
MAX_CHARACTERS = 20_000
"""A post states its subject before this."""
_VOWELS = "aeiou"
_DOUBLES = re.compile(r"[^aeiou][aeiou][^aeiouwxy]$")
_RUSSIAN_ENDINGS = {
    "а": ("а", "ы", "и", "е", "у", "ой", "ам", "ами", "ах", ""),
    "я": ("я", "и", "е", "ю", "ей", "ям", "ями", "ях", "й", "ь"),
    "ь": ("ь", "я", "ю", "ем", "е", "и", "ью", "ей", "ям", "ями", "ях"),
    "ы": ("ы", "ов", "ам", "ами", "ах", ""),
    "и": ("и", "ов", "ам", "ами", "ах", "ей", "ям", "ями", "ях", ""),
    "о": ("о", "а", "у", "ом", "е", "ам", "ами", "ах", ""),
    "е": ("е", "я", "ю", "ем", "и", "й", "ям", "ями", "ях"),
    "": ("", "а", "у", "ом", "е", "ы", "и", "ов", "ам", "ами", "ах"),
}

type Forms = Callable[[str], frozenset[str]]
"""Returns every form of a word, in lower case."""


def plain_forms(word: str) -> frozenset[str]:
    return _english(word) if word.isascii() else _russian(word)


def _english(word: str) -> frozenset[str]:
    forms = {word, f"{word}s", f"{word}ed", f"{word}ing"}
    if word.endswith("e"):
        forms |= {f"{word}d", f"{word[:-1]}ing"}
    if word.endswith(("s", "x", "ch", "sh", "o")):
        forms.add(f"{word}es")
    if word.endswith("y") and word[-2:-1] not in _VOWELS:
        forms |= {f"{word[:-1]}ies", f"{word[:-1]}ied"}
    if _DOUBLES.search(word):
        forms |= {f"{word}{word[-1]}ed", f"{word}{word[-1]}ing"}
    return frozenset(forms)


def _russian(word: str) -> frozenset[str]:
    ending = word[-1] if word[-1:] in _RUSSIAN_ENDINGS else ""
    stem = word.removesuffix(ending) if ending else word
    return frozenset({word, *(stem + suffix for suffix in _RUSSIAN_ENDINGS[ending])})
