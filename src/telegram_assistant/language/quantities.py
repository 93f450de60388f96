"""Numbers in Russian and English prose with the noun they count: «полтора миллиона рублей» is 1,500,000 of
«рубль».

Scores such as 5:1 are one quantity. Dates are not numbers. «Один» and "one" are ignored, because they mostly
count nothing.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from telegram_assistant.language.dates import dates_in

MAX_CHARACTERS = 12_000
NOUN_WORDS = 3
"""The noun is among so many words after the number."""
_UNITS = {
    "один одна одно одну одного одной одним одному one": 1, "ноль ноля нуля zero": 0,
    "два две двух двум двумя двое двоих двоим two": 2, "три трех трем тремя трое троих троим three": 3,
    "четыре четырех четырем четырьмя четверо четверых four": 4, "пять пяти пятью пятеро пятерых five": 5,
    "шесть шести шестью шестеро шестерых six": 6,
    "семь семи семью семеро семерых seven": 7, "восемь восьми восемью восьмью eight": 8,
    "девять девяти девятью nine": 9, "десять десяти десятью ten": 10,
    "одиннадцать одиннадцати eleven": 11, "двенадцать двенадцати twelve": 12,
    "тринадцать тринадцати thirteen": 13, "четырнадцать четырнадцати fourteen": 14,
    "пятнадцать пятнадцати fifteen": 15, "шестнадцать шестнадцати sixteen": 16,
    "семнадцать семнадцати seventeen": 17, "восемнадцать восемнадцати eighteen": 18,
    "девятнадцать девятнадцати nineteen": 19,
    "двадцать двадцати twenty": 20, "тридцать тридцати thirty": 30, "сорок сорока forty": 40,
    "пятьдесят пятидесяти fifty": 50, "шестьдесят шестидесяти sixty": 60, "семьдесят семидесяти seventy": 70,
    "восемьдесят восьмидесяти eighty": 80, "девяносто ninety": 90,
    "сто ста": 100, "двести двухсот": 200, "триста трехсот": 300, "четыреста четырехсот": 400,
    "пятьсот пятисот": 500, "шестьсот шестисот": 600, "семьсот семисот": 700, "восемьсот восьмисот": 800,
    "девятьсот девятисот": 900,
}  # fmt: skip
_SCALES = {
    "тыс тысяча тысячи тысяче тысячу тысяч тысячам тысячами тысячах тысячей thousand thousands k": 10**3,
    (
        "млн миллион миллиона миллиону миллионом миллионов миллионам миллионами миллионах миллионы million "
        "millions mln"
    ): 10**6,
    (
        "млрд миллиард миллиарда миллиарду миллиардом миллиардов миллиардам миллиардами миллиардах "
        "миллиарды billion billions bn"
    ): 10**9,
    "трлн триллион триллиона триллионов триллионы trillion trillions": 10**12,
    "десяток десятка десятков": 10, "дюжина дюжины дюжин дюжину dozen dozens": 12,
    "сотня сотни сотню сотен": 100,
}  # fmt: skip
_HALVES = {
    "полтора": 1.5, "полторы": 1.5, "полутора": 1.5, "полмиллиона": 5e5, "полмиллиарда": 5e8,
    "полтысячи": 500.0, "полсотни": 50.0, "полтораста": 150.0,
}  # fmt: skip
UNIT = {word: float(value) for words, value in _UNITS.items() for word in words.split()}
SCALE = {word: float(value) for words, value in _SCALES.items() for word in words.split()}
_ALONE_WORDS = """
тысяча тысячу миллион миллиард триллион десяток дюжина дюжину сотня сотню dozen
"""
_ALONE = frozenset(_ALONE_WORDS.split())
"""Scales that are a number by themselves; «тысячи» alone is a vague number."""
_SYMBOLS = {
    "%": "процент", "percent": "процент", "$": "доллар", "€": "евро", "£": "фунт", "₽": "рубль",
    "руб": "рубль", "р": "рубль", "км": "километр", "м": "метр", "см": "сантиметр", "мм": "миллиметр",
    "кг": "килограмм", "г": "грамм", "т": "тонна", "чел": "человек", "ч": "час", "мин": "минута",
    "сек": "секунда", "га": "гектар", "km": "kilometre", "kilometers": "kilometre", "kilometer": "kilometre",
    "m": "metre", "meters": "metre", "meter": "metre", "kg": "kilogram", "mph": "mile", "hrs": "hour",
    "min": "minute", "sec": "second",
}  # fmt: skip
_TOKEN = re.compile(
    r"(?P<score>(?<![\d:])\d{1,3}:\d{1,3}(?![\d:]))"
    r"|(?P<digits>\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?![\d])(?:[.,]\d+)?|"
    r"\d+(?:[.,]\d+)*)(?P<ordinal>-?(?:[а-яё]{1,2}|st|nd|rd|th)\b)?"
    r"|(?P<word>[^\W\d_]+)|(?P<symbol>[%$€£₽])|(?P<mark>[^\w\s])",
    re.IGNORECASE,
)
_BREAKS = frozenset('.,;:!?…()«»"“”—–')
_LINKS = frozenset({"and", "a"})
_FUNCTION_WORDS = """
и в во на с со из от до за по для при о об у к ко или а но что как не за это его ее их был была были было же
ли уже еще
of in on at by to from for and or with as the a an is are was were be been has have had that which who than
after before into over under near
вместо против через около после перед между среди без кроме если когда
instead against versus until while when if
"""
_FUNCTION = frozenset(_FUNCTION_WORDS.split())
_RUSSIAN = re.compile(r"[а-яё]", re.IGNORECASE)
_RUSSIAN_ADJECTIVE = re.compile(r"(?:ых|их|ыми|ими|ой|ый|ий|ая|ые|ие|ого|его|ом|ую|юю|ей)$")
_RUSSIAN_VERB = re.compile(
    r"(?:ли|ла|ло|лся|лась|лись|лось|ет|ют|ит|ят|ут|ены|аны|ено|ано|ться|ать|ить|еть)$"
)
_PLURAL = re.compile(r"(?:[^s]s|people|children|men|women|feet|police)$")
_FROM_TO = frozenset(
    {("от", "до"), ("с", "до"), ("со", "до"), ("с", "по"), ("from", "to"), ("between", "and")}
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number, or a score with two of them, and the noun behind it in lower case as it is written."""

    start: int
    end: int
    value: float
    noun: str = ""
    against: float | None = None
    """The second number of a score."""


@dataclass(frozen=True, slots=True)
class Quantities:
    """The numbers of a text in its order, and the pairs «от … до …», "from … to …", 5–10."""

    all: tuple[Quantity, ...]
    ranges: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class _Token:
    start: int
    end: int
    text: str
    kind: str


@lru_cache(maxsize=20_000)
def quantities_in(text: str) -> Quantities:
    """Finds all numbers, in figures and in words."""
    text = text[:MAX_CHARACTERS]
    date_spans = [
        (date.start, date.end)
        for date in dates_in(text)
        if date.weekday is None and date.days_from_today is None
    ]
    tokens = [
        _Token(match.start(), match.end(), match.group(), match.lastgroup or "")
        for match in _TOKEN.finditer(text)
        if not any(start <= match.start() < end for start, end in date_spans)
    ]
    in_russian = bool(_RUSSIAN.search(text))
    spans: list[tuple[int, int, Quantity]] = []
    at = 0
    while at < len(tokens):
        number_and_end = _number_at(tokens, at, in_russian=in_russian)
        if number_and_end is None:
            at += 1
            continue
        quantity, stop = number_and_end
        spans.append((at, stop, quantity))
        at = stop
    spans = _with_scales_shared(tokens, spans)
    return Quantities(tuple(amount for _, _, amount in spans), tuple(_ranges(tokens, spans)))


def _number_at(tokens: list[_Token], at: int, *, in_russian: bool) -> tuple[Quantity, int] | None:
    token = tokens[at]
    if token.kind == "score":
        first_digits, second = token.text.split(":")
        return Quantity(token.start, token.end, float(first_digits), "", float(second)), at + 1
    value: float | None
    if token.kind in {"digits", "ordinal"}:
        value, stop = _value_of(token.text, in_russian=in_russian), at + 1
        while (
            stop < len(tokens)
            and (scale := SCALE.get(_fold_word(tokens[stop].text))) is not None
            and tokens[stop].kind == "word"
        ):
            value, stop = value * scale, stop + 1
            if (
                stop < len(tokens)
                and tokens[stop].text == "."
                and _fold_word(tokens[stop - 1].text) in {"тыс", "млн", "млрд", "трлн"}
            ):
                stop += 1
    elif token.kind == "word":
        value, stop = _words_at(tokens, at)
    else:
        return None
    if value is None:
        return None
    prefix = tokens[at - 1].text if at and tokens[at - 1].kind == "symbol" else ""
    noun = _SYMBOLS.get(prefix, "") or _noun_after(tokens, stop)
    return Quantity(token.start, tokens[stop - 1].end, round(value, 6), noun), stop


def _value_of(number_text: str, *, in_russian: bool) -> float:
    digits = re.match(r"[\d.,\s\u00a0\u202f]+", number_text)
    plain = re.sub(r"[\s\u00a0\u202f]", "", digits.group() if digits else "0").rstrip(".,")
    if plain.count(",") + plain.count(".") > 1 or (not in_russian and re.fullmatch(r"\d{1,3},\d{3}", plain)):
        return (
            float(re.sub(r"[.,](?=\d{3}(?:\D|$))", "", plain).replace(",", "."))
            if re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+", plain)
            else 0.0
        )
    return float(plain.replace(",", "."))


def _words_at(tokens: list[_Token], at: int) -> tuple[float | None, int]:
    """Reads number words: «двести сорок тысяч», "two hundred and forty thousand", "half a million"."""
    total, current, has_number, stop = 0.0, 0.0, False, at
    letter_index = at
    while letter_index < len(tokens) and tokens[letter_index].kind in {"word", "mark"}:
        word = _fold_word(tokens[letter_index].text)
        if word in UNIT:
            current, has_number = current + UNIT[word], True
        elif word in _HALVES:
            current, has_number = current + _HALVES[word], True
        elif word == "half" and _next_is_scale(tokens, letter_index):
            current, has_number = 0.5, True
        elif word == "hundred" and (
            has_number or letter_index == at or _fold_word(tokens[letter_index - 1].text) == "a"
        ):
            current, has_number = (current or 1.0) * 100, True
        elif word in SCALE and (
            has_number
            or word in _ALONE
            or (
                word in {"thousand", "million", "billion"}
                and letter_index
                and _fold_word(tokens[letter_index - 1].text) == "a"
            )
        ):
            total, current, has_number = total + (current or 1.0) * SCALE[word], 0.0, True
        elif (
            has_number
            and (word in _LINKS or word == "-")
            and letter_index + 1 < len(tokens)
            and _fold_word(tokens[letter_index + 1].text) in {*UNIT, *SCALE, "hundred", "half"}
        ):
            letter_index += 1
            continue
        else:
            break
        letter_index += 1
        stop = letter_index
    value = total + current
    return (value if has_number and value != 1 else None), stop


def _next_is_scale(tokens: list[_Token], letter_index: int) -> bool:
    following = [_fold_word(token.text) for token in tokens[letter_index + 1 : letter_index + 3]]
    return any(word in SCALE for word in following[:2]) and following[0] in {"a", *SCALE}


def _noun_after(tokens: list[_Token], stop: int) -> str:
    candidates: list[str] = []
    for token in tokens[stop : stop + NOUN_WORDS]:
        word = _fold_word(token.text)
        if token.kind == "symbol":
            return _SYMBOLS.get(word, "") if not candidates else candidates[0]
        if token.kind != "word" or word in _FUNCTION:
            break
        candidates.append(word)
    if not candidates:
        return ""
    first_word = candidates[0]
    if first_word in _SYMBOLS:
        return _SYMBOLS[first_word]
    if _RUSSIAN.search(first_word):
        nouns = [word for word in candidates if not _RUSSIAN_ADJECTIVE.search(word)]
        return (
            nouns[0]
            if nouns and not (_RUSSIAN_VERB.search(nouns[0]) and nouns[0] != first_word)
            else first_word
        )
    return next((word for word in candidates if _PLURAL.search(word)), first_word)


def _with_scales_shared(
    tokens: list[_Token], spans: list[tuple[int, int, Quantity]]
) -> list[tuple[int, int, Quantity]]:
    """«5–10 тысяч»: the scale and the noun behind the second number count for the first one, too."""
    shared = list(spans)
    for index in range(len(spans) - 1):
        at, stop, quantity = spans[index]
        begins, ends, other = spans[index + 1]
        between = [token.text for token in tokens[stop:begins]]
        if between in (["–"], ["-"], ["—"]) and not quantity.noun:
            scale = 1.0
            for token in tokens[begins + 1 : ends]:
                scale *= SCALE.get(_fold_word(token.text), 1.0)
            value = quantity.value * scale if quantity.value < other.value else quantity.value
            shared[index] = (at, stop, Quantity(quantity.start, quantity.end, value, other.noun))
    return shared


def _ranges(tokens: list[_Token], spans: list[tuple[int, int, Quantity]]) -> list[tuple[float, float]]:
    ranges = []
    for (at, stop, quantity), (begins, _, other) in pairwise(spans):
        between = [_fold_word(token.text) for token in tokens[stop:begins]]
        before = _fold_word(tokens[at - 1].text) if at else ""
        if between in (["–"], ["-"], ["—"]) or (
            len(between) <= NOUN_WORDS and between and (before, between[-1]) in _FROM_TO
        ):
            ranges.append((quantity.value, other.value))
    return ranges


def _fold_word(word: str) -> str:
    return word.casefold().replace("ё", "е")
