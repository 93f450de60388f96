"""The kind of answer that a question wants: a number of something, a name, a place, a time, a cause."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache

from telegram_assistant.language.lemmas import MAX_WORD_CHARACTERS
from telegram_assistant.language.parsed_text import ParsedText, ParsedWord, is_verb, readings_of
from telegram_assistant.language.quantities import SCALE
from telegram_assistant.language.russian import analyser

NOUN_WORDS = 3
"""The noun that is counted or chosen is among so many words behind the question word."""


class WantedKind(StrEnum):
    """The kind of thing that answers a question."""

    NUMBER = "number"
    SCORE = "score"
    NAME = "name"
    PERSON = "person"
    PLACE = "place"
    TIME = "time"
    CAUSE = "cause"
    DEFINITION = "definition"
    """A description of a thing or a person."""
    DETAIL = "detail"
    """Anything that the question does not say itself."""
    CONFIRMATION = "confirmation"
    """Yes or no: who says it again says yes."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The kind of answer that a question wants.

    `nouns` are readings of the noun that a number counts; none: any number does.
    """

    kind: WantedKind
    nouns: frozenset[str] = frozenset()
    may_be_bare: bool = True
    """Whether a number without a noun does, like a price."""
    at_least: float = 0.0
    """Of millions no smaller number is one."""
    is_level: bool = False
    """Whether a difference is no answer: who asks for the price does not ask by how much it rose."""


TIME_UNITS = "секунда минута час день сутки неделя месяц год second minute hour day week month year"
_LENGTHS = "миллиметр сантиметр метр километр миля millimetre centimetre metre kilometre mile foot inch"
_MONEY = "рубль доллар евро фунт юань тенге гривна копейка rouble ruble dollar euro pound yuan cent"
_PEOPLE = """
человек люди житель пассажир сотрудник работник рабочий ребенок женщина мужчина турист пациент студент
зритель участник пострадавших погибших раненых жертва injured wounded dead victim
people person resident passenger employee worker child woman man tourist patient student visitor
"""
_PERCENT = "процент percent"
_ALIKE = (
    (TIME_UNITS, TIME_UNITS),
    (_LENGTHS, _LENGTHS),
    (_PERCENT, _PERCENT),
    ("человек люди пострадавших погибших раненых жертва people person injured wounded dead victim", _PEOPLE),
)
"""Wanted nouns, and the nouns that count as them: people are also passengers, hours are also minutes."""
_AMOUNTS = """
цена стоимость курс сумма прибыль доход выручка убыток зарплата бюджет штраф
price cost rate sum profit revenue loss salary budget fee amount fine
"""
_MEASURES = """
температура скорость высота глубина длина площадь вес возраст доля процент магнитуда мощность
temperature speed height depth length area weight age share percentage magnitude power
"""
_NAMED = """
клуб команда компания фирма город страна область район улица река остров музей театр банк университет
институт больница клиника фильм книга партия газета канал корабль судно человек спортсмен актер
режиссер министр клиент сервис
club team company firm city town country region district street river island museum theatre bank
university institute hospital clinic film book party newspaper channel ship person athlete actor
director minister customer service
"""
_NOUN_PHRASE = frozenset({"NOUN", "ADJF", "PRTF", "NUMR"})
_AUXILIARY_WORDS = """
did does do is are was were will would has have had can could should be been may might must the a an
"""
_AUXILIARIES = frozenset(_AUXILIARY_WORDS.split())
_IS_SCORE = re.compile(
    r"\b(?:как(?:ой|им|ого|ов)\s+(?:\w+\s+)?сч[её]т|what\s+(?:\w+\s+){0,3}score)", re.IGNORECASE
)
_IS_CONFIRMATION = re.compile(
    r"^\W*(?:(?:is|are|was|were|did|does|do|has|have|had|will|would|can|could|should)\b|(?!известно|слышно|"
    r"знает)\w+(?:\s\w+)?\s+ли\b)",
    re.IGNORECASE,
)
_IS_PRICE = re.compile(
    r"\bwhat\s+(?:do|does|did|will|would|is|are)\b.*\b(?:pay|paying|cost|charge)\b|\bза\s+сколько\b",
    re.IGNORECASE,
)
_IS_DEFINITION = re.compile(
    r"^\W*(?:(?:что\s+(?:это\s+)?такое|кто\s+так(?:ой|ая|ие|ое))\s+|"
    r"(?:what|who)\s+(?:is|are)\s+(?:an?\s+)?(?-i:[«\"“]?[A-ZА-ЯЁ][^\s?]*"
    r"(?:\s+[A-ZА-ЯЁ][^\s?]*)*)\s*\??\s*$)",
    re.IGNORECASE,
)
_KINDS = (
    (
        WantedKind.CAUSE,
        re.compile(r"\b(?:почему|зачем|отчего|из-за чего|причин\w+|why|caused?|reasons?)\b", re.IGNORECASE),
    ),
    (
        WantedKind.TIME,
        re.compile(
            r"\b(?:когда|во сколько(?! раз| обойд| оцен)|(?:в|до|с|к) како(?:м|го|му) (?:год[уа]|месяц[еау])|"
            r"какого числа|в какой день|"
            r"when|(?:what|which)\s+(?:year|month|date|day|time))\b",
            re.IGNORECASE,
        ),
    ),
    (
        WantedKind.NUMBER,
        re.compile(
            r"\b(?:скольк\w+|насколько|как\s+(?:долго|давно|далеко|сильно)|"
            r"how\s+(?:many|much|long|far|old|big|large|fast|high|tall|deep|strong|heavy|wide|often))\b",
            re.IGNORECASE,
        ),
    ),
    (WantedKind.PLACE, re.compile(r"\b(?:где|куда|откуда|where)\b", re.IGNORECASE)),
    (
        WantedKind.PERSON,
        re.compile(
            r"\b(?:кто|кого|кому|кем|как\s+зовут|чей|чья|чье|чьё|чьи|who|whom|whose)\b", re.IGNORECASE
        ),
    ),
    (
        WantedKind.DETAIL,
        re.compile(
            r"\b(?:как(?:ой|ая|ое|ие|ого|ому|им|ими|их|ую|ова|ов|овы)|which|what|что|чем|чём)\b",
            re.IGNORECASE,
        ),
    ),
)
_FATES = re.compile(
    r"\b(?:пострада\w+|погиб\w+|ранен\w*|эвакуир\w+|госпитализир\w+|injured|hurt|killed|died|wounded|"
    r"evacuated|hospitali[sz]ed)\b",
    re.IGNORECASE,
)
"""Fates of people: a question about the number of the injured is a question about people."""
_COSTS = re.compile(r"\b(?:сто[ия]\w+|обой\w+|cost|pay|much)\b", re.IGNORECASE)
_ASKS_CHANGE = re.compile(
    r"\bна\s+скольк\w+|\bнасколько|\bby\s+how|\bhow\s+(?:much|many)\b.*\b(?:rise|rose|grow|grew|"
    r"fall|fell|drop|"
    r"gain|lose|lost|cut)",
    re.IGNORECASE,
)
_LONG = re.compile(r"how\s+long|как\s+(?:долго|давно)|сколько\s+времени", re.IGNORECASE)


@cache
def readings_of_all(words: str) -> frozenset[str]:
    return frozenset(reading for word in words.split() for reading in readings_of(word))


def counts_any_people(wanted_answer: Wanted) -> bool:
    """Whether the number is one of people, or of some sort of people: passengers, children."""
    return bool(wanted_answer.nouns & readings_of_all(_PEOPLE))


def asks_itself(question: str) -> bool:
    """Whether a question says what it wants; «а вчера?» does not."""
    patterns = (_IS_CONFIRMATION, _IS_PRICE, *(pattern for _, pattern in _KINDS))
    return any(pattern.search(question) for pattern in patterns)


def parse_wanted(question: ParsedText) -> Wanted:
    """The answer that a question wants, by its first question word; without one, anything that it does not
    say itself.
    """
    text = question.text
    for pattern, wanted_answer in (
        (_IS_DEFINITION, Wanted(WantedKind.DEFINITION)),
        (_IS_SCORE, Wanted(WantedKind.SCORE)),
        (_IS_CONFIRMATION, Wanted(WantedKind.CONFIRMATION)),
        (_IS_PRICE, _price()),
    ):
        if pattern.search(text):
            return wanted_answer
    matches = [
        (match.start(), match.end(), kind)
        for kind, pattern in _KINDS
        if (match := pattern.search(text)) is not None
    ]
    _, end, kind = min(matches, key=lambda candidate: candidate[0], default=(0, 0, WantedKind.DETAIL))
    noun = _noun_behind(question, end)
    if kind is WantedKind.NUMBER:
        return replace(_wanted_number(text, noun), is_level=_ASKS_CHANGE.search(text) is None)
    return _wanted_thing(noun) if kind is WantedKind.DETAIL and noun is not None else Wanted(kind)


def _wanted_thing(noun: ParsedWord) -> Wanted:
    """Of «какая цена» a number, of «какая команда» a name, of «какой приз» anything."""
    if noun.readings & readings_of_all(_AMOUNTS):
        return _price()
    if noun.readings & readings_of_all(_MEASURES):
        return Wanted(WantedKind.NUMBER)
    return Wanted(WantedKind.NAME if noun.readings & readings_of_all(_NAMED) else WantedKind.DETAIL)


def _price(at_least: float = 0.0) -> Wanted:
    return Wanted(WantedKind.NUMBER, readings_of_all(_MONEY), at_least=at_least)


def _wanted_number(text: str, noun: ParsedWord | None) -> Wanted:
    if _LONG.search(text):
        return Wanted(
            WantedKind.NUMBER, readings_of_all(TIME_UNITS) | readings_of_all(_LENGTHS), may_be_bare=False
        )
    if noun is None:
        return _wanted_without_noun(text)
    if noun.folded in SCALE or noun.readings & readings_of_all(_MONEY):
        return _price(at_least=SCALE.get(noun.folded, 0.0))
    synonyms = next(
        (all_words for first_noun, all_words in _ALIKE if noun.readings & readings_of_all(first_noun)), ""
    )
    return Wanted(WantedKind.NUMBER, readings_of_all(synonyms) or noun.readings, may_be_bare=False)


def _wanted_without_noun(text: str) -> Wanted:
    if _FATES.search(text):
        return Wanted(WantedKind.NUMBER, readings_of_all(_PEOPLE), may_be_bare=False)
    return _price() if _COSTS.search(text) else Wanted(WantedKind.NUMBER)


def _noun_behind(question: ParsedText, end: int) -> ParsedWord | None:
    """The noun that a question word goes with: «сколько жилых домов», "how many houses",
    «сколько пострадавших»; not that of «сколько стоит дом».
    """
    noun: ParsedWord | None = None
    for word in [word for word in question.words if word.start >= end][:NOUN_WORDS]:
        part = _part_of_speech(word.folded)
        if (
            word.folded in _AUXILIARIES
            or is_verb(word.folded)
            or (word.is_capitalised and not word.begins)
            or part not in _NOUN_PHRASE
        ):
            return noun
        noun = word
        if part == "NOUN":
            return noun
    return noun


def _part_of_speech(word: str) -> str:
    """NOUN for all that nobody can tell: English, or no dictionary."""
    words = analyser()
    if word.isascii() or words is None or len(word) > MAX_WORD_CHARACTERS:
        return "NOUN"
    return str(words.parse(word)[0].tag.POS)
