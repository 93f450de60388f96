"""A text cut into words with all their dictionary forms, and into sentences:
what every comparison of two texts begins with.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from telegram_assistant.language.lemmas import CACHED_WORDS, MAX_WORD_CHARACTERS, WORD, content_lemma, lemma
from telegram_assistant.language.names import key_of
from telegram_assistant.language.russian import analyser
from telegram_assistant.language.sentences import MAX_CHARACTERS, split_sentences

CACHED_TEXTS = 4_000
MIN_CONTENT_LETTERS = 3
_NAMED = ("Geox", "Orgn", "Name", "Surn", "Patr")
_VERBS = frozenset({"VERB", "INFN", "PRTS", "GRND"})
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_LATIN = re.compile(r"[a-zA-Z]")
_PRONOUNS = """
он она оно они его ее их это этот эта эти этому там тогда туда такой такая такие тот та те поэтому однако
также кроме
he she it they his her its their this that these those there then such also however besides so
"""
_FIRST_WORDS = frozenset(_PRONOUNS.split())
_ABOUT_IT = re.compile(
    r"(?:(?:в|на|с|у|о|к|по|за|из|от|до|при|для|под|над)о? (?:ним|ней|н[её]м|них|него|не[её]|ними|нему)|"
    r"(?:in|on|at|by|to|of|from|for|with) (?:it|them|him|her))\b",
    re.IGNORECASE,
)
_BEGINS = re.compile(r"(?:^|[.!?…:;—–\n«\"“„(]\s*)$")


@dataclass(frozen=True, slots=True)
class ParsedWord:
    """A word of a text.

    `readings` are all its dictionary forms: the first reading of «нашли» is «наслать».
    """

    text: str
    start: int
    end: int
    folded: str
    readings: frozenset[str]
    is_content: bool
    is_capitalised: bool
    begins: bool
    """Whether it begins a sentence, a quotation or a clause after a colon or dash,
    where a capital letter says little.
    """


@dataclass(frozen=True, slots=True)
class ParsedText:
    """A sentence or a whole post."""

    text: str
    words: tuple[ParsedWord, ...]
    content: tuple[ParsedWord, ...]
    """The words that say something."""
    readings: frozenset[str]
    """Of all words."""
    keys: frozenset[str]
    """Of all words with a capital letter, one for both alphabets."""

    @property
    def is_cyrillic(self) -> bool:
        return is_cyrillic(self.text)


def is_cyrillic(text: str) -> bool:
    beginning = text[:400]
    return len(_CYRILLIC.findall(beginning)) >= len(_LATIN.findall(beginning))


@lru_cache(maxsize=CACHED_TEXTS)
def parse_text(text: str) -> ParsedText:
    text = text[:MAX_CHARACTERS]
    words = tuple(_parsed(match, text) for match in WORD.finditer(text))
    readings = frozenset(reading for word in words for reading in word.readings)
    keys = frozenset(key for word in words if word.is_capitalised and (key := key_of(word.text)))
    return ParsedText(text, words, tuple(word for word in words if word.is_content), readings, keys)


@lru_cache(maxsize=CACHED_TEXTS)
def parse_sentences(text: str) -> tuple[ParsedText, ...]:
    return tuple(parse_text(sentence) for sentence in split_sentences(text))


@lru_cache(maxsize=CACHED_WORDS)
def readings_of(word: str) -> frozenset[str]:
    """All dictionary forms of a word; without the dictionary its stem."""
    folded = fold(word)
    words = analyser()
    if folded.isascii() or words is None or len(folded) > MAX_WORD_CHARACTERS:
        return frozenset({lemma(folded)})
    return frozenset(fold(reading.normal_form) for reading in words.parse(folded))


@lru_cache(maxsize=CACHED_WORDS)
def is_verb(word: str) -> bool:
    """Whether the likeliest reading of a Russian word is a verb; False without the dictionary."""
    words = analyser()
    if word.isascii() or words is None or len(word) > MAX_WORD_CHARACTERS:
        return False
    return words.parse(word)[0].tag.POS in _VERBS


@lru_cache(maxsize=CACHED_WORDS)
def may_be_name(word: str) -> bool | None:
    """Whether a word that begins a sentence is a name; None if nobody can tell: English, or no dictionary."""
    folded = fold(word)
    words = analyser()
    if folded.isascii() or words is None or len(folded) > MAX_WORD_CHARACTERS:
        return None
    if not words.word_is_known(folded):
        return True
    return any(mark in words.parse(folded)[0].tag for mark in _NAMED)


def goes_on(sentence: ParsedText) -> bool:
    """Whether it cannot stand alone, since it begins with what the sentence before it named: «она», «в ней»,
    “in it”.
    """
    return sentence.words[0].folded in _FIRST_WORDS or _ABOUT_IT.match(sentence.text) is not None


def fold(word: str) -> str:
    return word.casefold().replace("ё", "е").replace("’", "'").removesuffix("'s")


def _parsed(match: "re.Match[str]", text: str) -> ParsedWord:
    written = match.group()
    folded = fold(written)
    is_content = len(folded) >= MIN_CONTENT_LETTERS and bool(content_lemma(folded))
    before = text[max(0, match.start() - 4) : match.start()]
    return ParsedWord(
        written,
        match.start(),
        match.end(),
        folded,
        readings_of(written),
        is_content,
        written[0].isupper(),
        begins=bool(_BEGINS.search(before)),
    )
