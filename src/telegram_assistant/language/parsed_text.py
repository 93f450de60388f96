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
он она оно они его ее их это этот эта эти этому там тогда туда такой такая такое такие тот та те поэтому
однако затем потом также кроме но а зато причем
he she it they his her its their this that these those there then such also however besides so but
yet meanwhile
"""
_FIRST_WORDS = frozenset(_PRONOUNS.split())
_ABOUT_IT = re.compile(
    r"(?:(?:в|на|с|у|о|к|по|за|из|от|до|при|для|под|над)о? (?:ним|ней|н[её]м|них|него|не[её]|ними|нему)|"
    r"(?:in|on|at|by|to|of|from|for|with) (?:it|them|him|her))\b",
    re.IGNORECASE,
)
_EXISTS = re.compile(r"there(?:['’]s| is| are| was| were| will| has| have| had)\b", re.IGNORECASE)
_POINTS_BACK = re.compile(
    r"^[^,.;:!?—–]*?\b(?:об этом|про это|этого|этому|этим|такой|такого|такие|там же|также|тоже|при этом|"
    r"по (?:его|её|ее|их) (?:словам|мнению|данным)|"
    r"about (?:this|that|it)|of this|because of this|at the same time|in (?:his|her|their) words|"
    r"according to (?:him|her|them))\b(?! (?:год|лет|недел|месяц|дн|сезон|year|week|month|season))",
    re.IGNORECASE,
)
"""In the first clause, what an earlier sentence named."""
_TELLS_BEFORE = re.compile(
    r"\W*(?:ранее|до\s+этого|напомним|как\s+(?:мы|ранее)\s|"
    r"earlier|previously|as\s+we\s+(?:reported|wrote))\b",
    re.IGNORECASE,
)
_LIST_MARKS = ("- ", "– ", "— ", "• ", "▪", "●", "◾", "* ")
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
    words = tuple(_parse_word(match, text) for match in WORD.finditer(text))
    readings = frozenset(reading for word in words for reading in word.readings)
    keys = frozenset(key for word in words if word.is_capitalised and (key := key_of(word.text)))
    return ParsedText(text, words, tuple(word for word in words if word.is_content), readings, keys)


@lru_cache(maxsize=CACHED_TEXTS)
def parse_sentences(text: str) -> tuple[ParsedText, ...]:
    return tuple(parse_text(sentence) for sentence in split_sentences(text))


@lru_cache(maxsize=CACHED_WORDS)
def readings_of(word: str) -> frozenset[str]:
    """All dictionary forms of a word; without the dictionary its stem."""
    folded_text = fold(word)
    words = analyser()
    if folded_text.isascii() or words is None or len(folded_text) > MAX_WORD_CHARACTERS:
        return frozenset({lemma(folded_text)})
    return frozenset(fold(reading.normal_form) for reading in words.parse(folded_text))


@lru_cache(maxsize=CACHED_WORDS)
def name_readings_of(word: str) -> frozenset[str]:
    """The dictionary forms of a name: of «Песков» the surname, and not the sand. All forms of a word that the
    dictionary does not know, or has no name for.
    """
    folded_text = fold(word)
    words = analyser()
    if (
        folded_text.isascii()
        or words is None
        or len(folded_text) > MAX_WORD_CHARACTERS
        or not words.word_is_known(folded_text)
    ):
        return readings_of(word)
    name_forms = frozenset(
        fold(reading.normal_form)
        for reading in words.parse(folded_text)
        if any(mark in reading.tag for mark in _NAMED)
    )
    return name_forms or readings_of(word)


@lru_cache(maxsize=CACHED_WORDS)
def parts_of_speech(word: str) -> frozenset[str]:
    """The possible parts of speech of a Russian word.

    Empty without the dictionary, or for a word that is not in it.
    """
    words = analyser()
    if (
        word.isascii()
        or words is None
        or len(word) > MAX_WORD_CHARACTERS
        or not words.word_is_known(fold(word))
    ):
        return frozenset()
    return frozenset(str(reading.tag.POS) for reading in words.parse(word))


@lru_cache(maxsize=CACHED_WORDS)
def is_verb(word: str) -> bool:
    """Whether the likeliest reading of a Russian word is a verb; False without the dictionary."""
    words = analyser()
    if word.isascii() or words is None or len(word) > MAX_WORD_CHARACTERS:
        return False
    return words.parse(word)[0].tag.POS in _VERBS


@lru_cache(maxsize=CACHED_WORDS)
def is_adjective(word: str) -> bool:
    """Whether the likeliest reading of a Russian word is an adjective: «холодную», «эту»."""
    words = analyser()
    if word.isascii() or words is None or len(word) > MAX_WORD_CHARACTERS:
        return False
    return words.parse(word)[0].tag.POS in {"ADJF", "PRTF"}


@lru_cache(maxsize=CACHED_WORDS)
def is_future_verb(word: str) -> bool:
    """Whether the likeliest reading of a Russian word is a verb in the future tense."""
    words = analyser()
    if word.isascii() or words is None or len(word) > MAX_WORD_CHARACTERS:
        return False
    tag = words.parse(word)[0].tag
    return bool(tag.POS == "VERB" and tag.tense == "futr")


@lru_cache(maxsize=CACHED_WORDS)
def may_be_name(word: str) -> bool | None:
    """Whether a word that begins a sentence is a name; None if nobody can tell: English, or no dictionary."""
    folded_text = fold(word)
    words = analyser()
    if folded_text.isascii() or words is None or len(folded_text) > MAX_WORD_CHARACTERS:
        return None
    if not words.word_is_known(folded_text):
        return True
    return any(mark in words.parse(folded_text)[0].tag for mark in _NAMED)


def count_shared(one_text: ParsedText, other: ParsedText) -> tuple[int, int]:
    """How many content words of the shorter text the other has in any form, and how many the shorter has."""
    shorter, longer = sorted((one_text, other), key=lambda text: len(text.content))
    return sum(bool(word.readings & longer.readings) for word in shorter.content), len(shorter.content)


def goes_on(sentence: ParsedText) -> bool:
    """Whether it cannot stand alone, since it begins with what the sentence before it named: «она», «в ней»,
    “in it”; or has it in its first clause: «об этом», «по его словам».
    """
    if not sentence.words:
        return False
    points_back = sentence.words[0].folded in _FIRST_WORDS and not _EXISTS.match(
        sentence.text, sentence.words[0].start
    )
    return (
        points_back
        or _ABOUT_IT.match(sentence.text) is not None
        or _POINTS_BACK.match(sentence.text) is not None
    )


def tells_before(text: str) -> bool:
    """Whether a sentence says of itself that it tells what was before: «Ранее», “Earlier”."""
    return _TELLS_BEFORE.match(text) is not None


def is_whole(text: str) -> bool:
    """Whether a sentence is complete: no item of a list, and every quotation mark is closed."""
    return (
        not text.rstrip().endswith((";", ":", ","))
        and not text.startswith(_LIST_MARKS)
        and text.count("«") == text.count("»")
        and text.count("“") <= text.count("”")
        and text.count('"') % 2 == 0
    )


def fold(word: str) -> str:
    return word.casefold().replace("ё", "е").replace("’", "'").removesuffix("'s")


def _parse_word(match: "re.Match[str]", text: str) -> ParsedWord:
    token = match.group()
    folded_text = fold(token)
    is_content = len(folded_text) >= MIN_CONTENT_LETTERS and bool(content_lemma(folded_text))
    before = text[max(0, match.start() - 4) : match.start()]
    return ParsedWord(
        token,
        match.start(),
        match.end(),
        folded_text,
        readings_of(token),
        is_content,
        token[0].isupper(),
        begins=bool(_BEGINS.search(before)),
    )
