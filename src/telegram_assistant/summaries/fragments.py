"""Sentences that say nothing without what stood around them: the caption of a picture, the second half of a
sentence, a pronoun without its noun, a quotation without its speaker, an exclamation of whoever wrote it.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from telegram_assistant.language.lemmas import MAX_WORD_CHARACTERS
from telegram_assistant.language.parsed_text import ParsedText, ParsedWord, parts_of_speech
from telegram_assistant.language.russian import analyser
from telegram_assistant.language.speakers import has_speech, outside_quotes

_CAPTION = re.compile(
    r"\W*(?:(?:ещ[её]|новые|первые|те самые)\s+)*(?:кадры|видеокадры|фотокадры|фото|видео|момент|"
    r"на\s+(?:фото|видео|снимке|снимках|кадрах|фотографии|фотографиях)|"
    r"(?:more |new |the )*(?:footage|photos?|video|moment))\b",
    re.IGNORECASE,
)
_DASH = re.compile(r"\s[—–-]\s")
_QUOTED = re.compile(r"[«\"“„]")
_FIRST_PERSON_WORDS = (
    "я мне меня мной мой моя мое мои мы нас нам нами надеюсь думаю считаю i my me i'm i'd i've we us"
)
_FIRST_PERSON = frozenset(_FIRST_PERSON_WORDS.split())
_PREDICATES = frozenset({"VERB", "INFN", "PRTS", "PRED", "ADJS", "GRND", "COMP"})
_PREPOSITION = "PREP"
_COUNTS = re.compile(
    r"\d(?!\d? (?:январ|феврал|март|апрел|ма[йя]|июн|июл|август|сентябр|октябр|ноябр|декабр))"
)
"""A figure that is no day of a month."""
_SAID_BY_NOBODY = re.compile(
    r"(?:по)?(?:сказал|рассказал|заявил|сообщил|добавил|отметил|объяснил|пояснил|уточнил|подчеркнул|признал"
    r"|попросил|обещал|утверждал)[ао]?,\s+(?:что|чтобы|как)\b",
    re.IGNORECASE,
)
"""A verb of speech in front, and no speaker."""
MIN_QUOTED_WORDS = 3
"""Fewer words in quotation marks are a name."""
MAX_AROUND_QUOTE = 2
"""Words beside a quotation that may lack a verb of speech, and still say nothing themselves."""


_MALE, _FEMALE, _SEVERAL = frozenset({"masc", "neut"}), frozenset({"femn"}), frozenset({"plur"})
_PRONOUNS = {
    **dict.fromkeys(["он", "оно", "его", "ему", "нем", "него", "нему"], _MALE),
    **dict.fromkeys(["она", "ее", "ей", "ею", "нее", "ней", "нею"], _FEMALE),
    **dict.fromkeys(["они", "их", "ими", "них", "ними"], _SEVERAL),
    **dict.fromkeys(["им", "ним"], _MALE | _SEVERAL),
}
_SOURCES = frozenset(["словам", "слову", "данным", "информации", "мнению", "сообщению", "среди"])
"""«По словам одного из них»: the words are nobody."""
_TIMES = re.compile(
    r"\W*(?:(?:же|самый|самая|самое|самую|момент)\s+)?(?:год|лет|зим|осен|весн|месяц|недел|ден|дн|ноч|утр|"
    r"вечер|час|минут|раз|сезон|квартал|век|врем|момент|период|выходн|понедельник|вторник|сред[ау]|четверг|"
    r"пятниц|суббот|воскресен)",
    re.IGNORECASE,
)
_THIS = re.compile(r"\bэт(?:от|а|о|у|ой|ого|ому|им|ом|и|их|ими)\b", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[,.;:!?—–]")


def is_fragment(sentence: ParsedText) -> bool:
    """Whether a sentence is a caption, begins in the middle, has no predicate, quotes nobody, or speaks of
    its writer.
    """
    return bool(sentence.words) and (
        _CAPTION.match(sentence.text) is not None
        or _begins_in_the_middle(sentence)
        or _has_no_predicate(sentence)
        or _quotes_nobody(sentence)
        or _SAID_BY_NOBODY.match(sentence.text) is not None
        or _speaks_of_its_writer(sentence)
    )


def depends_on_others(sentence: ParsedText) -> bool:
    """Whether a sentence within a post points at what an earlier one named, or only names something."""
    return lacks_antecedent(sentence) or not states_something(sentence)


def states_something(sentence: ParsedText) -> bool:
    """Whether it has a predicate or a number, in contrast to «Курсы валют на завтра»."""
    return _has_predicate(sentence) or _COUNTS.search(sentence.text) is not None


def _has_predicate(sentence: ParsedText) -> bool:
    """Whether a Russian sentence has a verb or a dash in its place; any other sentence may have one."""
    return (
        not sentence.is_cyrillic
        or _DASH.search(sentence.text) is not None
        or _has_verb(word for word in sentence.words)
    )


def _has_verb(words: Iterable[ParsedWord]) -> bool:
    """No name is a verb; a word in small letters that the dictionary does not know may be one."""
    return any(
        parts & _PREDICATES if (parts := parts_of_speech(word.text)) else word.text.islower()
        for word in words
        if word.begins or not word.is_capitalised
    )


def _begins_in_the_middle(sentence: ParsedText) -> bool:
    """«iPhone» begins a sentence, «в городе» continues one."""
    first = sentence.words[0]
    return sentence.text.lstrip().startswith(first.text) and first.text.islower()


def _has_no_predicate(sentence: ParsedText) -> bool:
    """A Russian sentence that begins with a preposition, and goes on without a verb or a dash."""
    if not sentence.is_cyrillic or _DASH.search(sentence.text):
        return False
    first, *others = sentence.words
    return _PREPOSITION in parts_of_speech(first.text) and not any(
        parts_of_speech(word.text) & _PREDICATES for word in others
    )


def _quotes_nobody(sentence: ParsedText) -> bool:
    """Whether it is a quotation whose speaker another sentence names."""
    outside = outside_quotes(sentence)
    return (
        len(sentence.words) - len(outside) >= MIN_QUOTED_WORDS
        and len(outside) <= MAX_AROUND_QUOTE
        and not has_speech(sentence)
        and not _DASH.search(sentence.text)
    )


def _speaks_of_its_writer(sentence: ParsedText) -> bool:
    """A quotation in the first person has quotation marks, or a dash before its speaker."""
    return (
        any(word.folded in _FIRST_PERSON for word in sentence.words)
        and not _QUOTED.search(sentence.text)
        and not _DASH.search(sentence.text)
    )


def lacks_antecedent(sentence: ParsedText) -> bool:
    """Whether a Russian sentence has a pronoun of the third person before any noun that it may stand for, or
    speaks in its first clause of «this» which it does not name.
    """
    if not sentence.is_cyrillic:
        return False
    return _points_at_earlier_noun(sentence) or _points_at_earlier_thing(sentence.text)


def _points_at_earlier_noun(sentence: ParsedText) -> bool:
    known: frozenset[str] = frozenset()
    nouns = 0
    for word in sentence.words:
        wanted = _PRONOUNS.get(word.folded)
        if wanted is None:
            genders = _genders_of(word)
            known |= genders
            nouns += bool(genders)
        elif not (known & wanted or (nouns > 1 and wanted & _SEVERAL)):
            return True
    return False


def _points_at_earlier_thing(text: str) -> bool:
    match = _THIS.search(text)
    return (
        match is not None
        and _CLAUSE_END.search(text, 0, match.start()) is None
        and _TIMES.match(text, match.end()) is None
    )


def _genders_of(word: ParsedWord) -> frozenset[str]:
    """The genders and numbers in which a noun may be meant; all of a word that the dictionary lacks."""
    if word.folded in _SOURCES:
        return frozenset()
    return _genders_of_form(word.text) if word.is_content else frozenset()


@lru_cache(maxsize=20_000)
def _genders_of_form(text: str) -> frozenset[str]:
    words, folded = analyser(), text.casefold()
    if words is None or folded.isascii() or len(folded) > MAX_WORD_CHARACTERS:
        return _MALE | _FEMALE | _SEVERAL
    if not words.word_is_known(folded):
        return _MALE | _FEMALE | _SEVERAL if text[0].isupper() else frozenset()
    tags = [reading.tag for reading in words.parse(folded)]
    return frozenset(
        "plur" if tag.number == "plur" else str(tag.gender)
        for tag in tags
        if tag.POS in {"NOUN", "NUMR"} or "Subx" in tag
    )
