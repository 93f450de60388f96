"""Names of people, places and organisations in a text, each with a key that is the same in Russian and in
English.

Found by capital letters: within a sentence, in quotation marks, and at the beginning of a sentence if the
word is no ordinary one.
"""

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from telegram_assistant.language.lemmas import CACHED_WORDS, MAX_WORD_CHARACTERS, content_lemma, lemma
from telegram_assistant.language.russian import analyser

MAX_CHARACTERS = 4_000
_CAPITALISED = re.compile(r"(?<![\w#@/.])[A-ZА-ЯЁ][\w’'-]*")
_BEGINS = re.compile(r"(?:^|[.!?…:;\n—–•▪️*]\s*|[^\w\s«»\"“”„'’,()-]\s*)$")
_SIGNED = re.compile(r"\w\S? [—–]\s?$")
_ENDS = re.compile(r"[.!\s]*(?:\n|$)")
"""A name behind a dash at the end of a line is that of the speaker."""
_QUOTED = re.compile(r"[«\"“„]\s*$")
_NAMED = ("Geox", "Orgn", "Name", "Surn", "Patr")
_LETTERS = str.maketrans(
    {
        "а": "a", "б": "b", "в": "v", "г": "g", "д": "d", "е": "e", "ё": "e", "ж": "zh", "з": "z", "и": "i",
        "й": "i", "к": "k", "л": "l", "м": "m", "н": "n", "о": "o", "п": "p", "р": "r", "с": "s", "т": "t",
        "у": "u", "ф": "f", "х": "h", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "sh", "ъ": "", "ы": "i", "ь": "",
        "э": "e", "ю": "u", "я": "a", "і": "i", "ї": "i", "є": "e", "ґ": "g",
    }
)  # fmt: skip
_FOLDED = (
    ("shch", "sh"), ("sch", "sh"), ("tch", "ch"), ("kh", "h"), ("ph", "f"), ("th", "t"), ("ck", "k"),
    ("qu", "kv"), ("x", "ks"), ("w", "v"), ("yo", "e"), ("yu", "u"), ("ya", "a"), ("ju", "u"), ("ja", "a"),
    ("ye", "e"), ("y", "i"), ("j", "i"), ("ou", "u"), ("oo", "u"), ("ee", "i"),
)  # fmt: skip
_REPEATED = re.compile(r"(.)\1+")
_MIN_KEY = 3


def names_in(text: str) -> frozenset[str]:
    """The keys of the names in a text, one for each word of a name:
    a surname alone is the same person as with a first name.
    """
    text = text[:MAX_CHARACTERS]
    sure: set[str] = set()
    unsure: set[str] = set()
    for match in _CAPITALISED.finditer(text):
        word = match.group().rstrip("-’'")
        before = text[max(0, match.start() - 4) : match.start()]
        if _QUOTED.search(before):
            (sure if _is_unusual(word.casefold()) else unsure).add(word)
        elif _SIGNED.search(before) and _ENDS.match(text, match.end()):
            sure.add(word)
        elif _BEGINS.search(before):
            (sure if _is_name(word.casefold()) else unsure).add(word)
        else:
            sure.add(word)
    keys = {key for word in sure if (key := key_of(word))}
    return frozenset(keys)


@lru_cache(maxsize=CACHED_WORDS)
def key_of(name: str) -> str:
    """The same for a name in both alphabets and in every grammatical case;
    empty if too little remains of it.
    """
    word = name.casefold().replace("’", "'").removesuffix("'s").replace("ё", "е")
    if not content_lemma(word):
        return ""
    if not word.isascii():
        word = "-".join(_nominative(part) for part in word.split("-"))
    latin = word.translate(_LETTERS)
    for letters, folded_text in _FOLDED:
        latin = latin.replace(letters, folded_text)
    latin = (
        _REPEATED.sub(r"\1", latin.replace("c", "k").replace("kh", "ch")).replace("-", "").replace("'", "")
    )
    stem = latin.rstrip("aeiou")
    return stem if len(stem) >= _MIN_KEY else latin if len(latin) >= _MIN_KEY else ""


def written_name(key: str, texts: Iterable[str]) -> str:
    """The name of this key as most texts write it, in the nominative if any does; empty if none has it."""
    spellings = Counter(
        word
        for text in texts
        for capitalised in _CAPITALISED.findall(text[:MAX_CHARACTERS])
        if key_of(word := capitalised.rstrip("-’'")) == key
    )
    return min(
        spellings,
        key=lambda word: (not _is_nominative(word.casefold()), -spellings[word], len(word), word),
        default="",
    )


def _is_nominative(word: str) -> bool:
    return (
        not word.endswith(("'s", "’s"))
        if word.isascii()
        else "-".join(_nominative(part) for part in word.split("-")) == word
    )


def _nominative(word: str) -> str:
    words = analyser()
    if words is None or len(word) > MAX_WORD_CHARACTERS:
        return lemma(word)
    readings = words.parse(word)
    name_reading = next(
        (reading for reading in readings if any(mark in reading.tag for mark in _NAMED)), readings[0]
    )
    return str(name_reading.normal_form)


@lru_cache(maxsize=CACHED_WORDS)
def _is_name(word: str) -> bool:
    """Whether a word that begins a sentence is a name: the dictionary says so, or does not know it."""
    words = analyser()
    if word.isascii() or words is None or len(word) > MAX_WORD_CHARACTERS:
        return False
    readings = words.parse(word)
    return any(mark in readings[0].tag for mark in _NAMED) or not words.word_is_known(word)


@lru_cache(maxsize=CACHED_WORDS)
def _is_unusual(word: str) -> bool:
    """Whether a quotation that begins with this word may be a name: «Гранит», but not «Мы следили»."""
    return bool(content_lemma(word))
