"""Finds names of people, places and organisations by their capital letters within a sentence, each in its
dictionary form.

A neural network finds more (natasha's takes 45 ms of a core for a post of 400 characters, measured); this
takes a fiftieth of a millisecond.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from telegram_assistant.ai.local.english_names import find_english_names
from telegram_assistant.ai.outputs import EntityKind, NamedEntity

MAX_NAMES = 10
MAX_CHARACTERS = 4_000
LONGEST = 100
MAX_WORD_CHARACTERS = 30
"""No name is longer, and the dictionary analyses long words slowly."""
MAX_LOOKUPS = 30
"""The most dictionary lookups per text; each takes up to a millisecond."""
_RUN = re.compile(r"(?<![\w#@/])[A-ZА-ЯЁ][\w’'-]*(?:[ \u00a0](?:of |de |van |von |the )?[A-ZА-ЯЁ][\w’'-]*)*")
_CYRILLIC = re.compile(r"[А-Яа-яЁё]")
_BEGINS = re.compile(r"(?:^|[.!?…:;\n«\"“—–-]\s*|\W{3,})$")
_NO_NAMES = re.compile(
    r"СМИ|ЧП|ЧС|ЧМ|ВИЧ|СПИД|СВО|БПЛА|МСК|РСЗО|ОСАГО|КАСКО|ДТП|ЖКХ|ИИ|НДС|НДФЛ|ВВП|ЕГЭ|ОГЭ|ПВЗ|ТЦ|ТРЦ|ЖК|ДНК|"
    r"АЭС|ТЭЦ|ЛЭП|ПВО|РЭБ|ЗРК|ВПК|ОПК|ТВ|ПО|ПК|ГОСТ|МРОТ|ИП|ООО|АО|ПАО|НКО|КПП|АЗС|СИЗО|ИК|ФЗ|УК|ЛГБТ"
)
"""Abbreviations of things."""
_SURNAME = re.compile(r"(?:ов|ев|ёв|ин|ын|ский|цкий|ко|ова|ева|ёва|ина|ына|ская|цкая)$")
_FEMALE_VERB = re.compile(r"\s+(?:не\s+)?[а-яё]+(?:ла|лась)\b")
_DASH = re.compile(r"[—–-]\s*$")
_LINE_ENDS = re.compile(r"[^\w\n]*(?:\n|$)")
_ADJECTIVE = re.compile(r"(?:ском|ского|скому|ской|скую|ские|ских|ским|скими|ская|ское)$")
_COMPOUND = re.compile(
    r"^((?:Южн|Северн|Западн|Восточн|Центральн|Нижн|Верхн|Велик|Нов|Стар|Саудовск|Больш|Мал|Крайн|Дальн|"
    r"Экваториальн))[а-яё]{2,3}$"
)
MIN_SURNAME = 5
AFTER_CHARACTERS = 30
_SOFT_STEMS = frozenset({"Нижн", "Верхн", "Крайн", "Дальн"})
_POSSESSIVE = re.compile(r"[’']s\b")
_TWO_WORDS = 2


@dataclass(frozen=True, slots=True)
class NameDictionary:
    """Lookups of Russian words, in lower case."""

    kind_of: Callable[[str], EntityKind | None]
    """The kind of entity that a word names; None if it is no name."""
    nominative: Callable[[tuple[str, ...]], tuple[str, ...]]
    """The words of one name in the nominative; they agree in case, number and gender."""


NO_DICTIONARY = NameDictionary(kind_of=lambda _word: None, nominative=lambda words: words)


def names_in(text: str, dictionary: NameDictionary) -> tuple[NamedEntity, ...]:
    """The distinct names of a text in its order, whatever grammatical case they stand in."""
    kinds: dict[str, EntityKind] = {}
    for name, kind in _find_names(text[:MAX_CHARACTERS], _limit_lookups(dictionary)):
        kinds.setdefault(name[:LONGEST], kind)
        if len(kinds) == MAX_NAMES:
            break
    return tuple(NamedEntity(text=name, kind=kind) for name, kind in kinds.items())


def _limit_lookups(dictionary: NameDictionary) -> NameDictionary:
    """Limits the number of lookups and the length of words."""
    lookups = 0

    def kind_of(word: str) -> EntityKind | None:
        nonlocal lookups
        lookups += 1
        return (
            dictionary.kind_of(word) if lookups <= MAX_LOOKUPS and len(word) <= MAX_WORD_CHARACTERS else None
        )

    return replace(dictionary, kind_of=kind_of)


def _find_names(text: str, dictionary: NameDictionary) -> Iterator[tuple[str, EntityKind]]:
    if not _CYRILLIC.search(text):
        yield from find_english_names(text)
        return
    for run in _RUN.finditer(text):
        name, start = _POSSESSIVE.sub("", run.group()).rstrip("-’'"), run.start()
        before = text[max(0, start - 6) : start]
        begins = _BEGINS.search(before) is not None or start == 0
        if name.isascii():
            continue
        after = text[run.end() : run.end() + AFTER_CHARACTERS]
        for part, kind in _russian(name, dictionary, begins=begins, after=after):
            is_subject = part == name and _is_subject(name, before, after)
            yield _canonical(part, dictionary, is_nominative=is_subject), kind


def _canonical(name: str, dictionary: NameDictionary, *, is_nominative: bool = False) -> str:
    """The name in the nominative, capitalised like the text.

    A name in capitals may be an abbreviation and stays unchanged.
    """
    if name.isupper() or is_nominative:
        return name
    words = name.split()
    if (compound := _COMPOUND.match(words[0])) is not None and len(words) > 1:
        place = _canonical(" ".join(words[1:]), dictionary)
        return f"{_agree(compound[1], place)} {place}"
    nominative = dictionary.nominative(tuple(word.casefold() for word in words))
    return " ".join(_match_case(word, form) for word, form in zip(words, nominative, strict=True))


def _agree(stem: str, noun: str) -> str:
    """The adjective of this stem in the nominative, in the gender of the noun."""
    is_soft, is_velar = stem in _SOFT_STEMS, stem.endswith("к")
    if noun.endswith(("а", "я")):
        return f"{stem}{'яя' if is_soft else 'ая'}"
    if noun.endswith(("о", "е")):
        return f"{stem}{'ее' if is_soft else 'ое'}"
    return f"{stem}{'ий' if is_soft or is_velar else 'ой' if stem == 'Больш' else 'ый'}"


def _match_case(written: str, form: str) -> str:
    parts, likes = form.split("-"), written.split("-")
    if len(parts) != len(likes):
        return form.capitalize()
    return "-".join(
        part.capitalize() if like[:1].isupper() else part for part, like in zip(parts, likes, strict=True)
    )


def _russian(
    name: str, dictionary: NameDictionary, *, begins: bool, after: str
) -> Iterator[tuple[str, EntityKind]]:
    """Names found by the dictionary. At the beginning of a sentence a person needs both name and surname, or
    a surname that looks like one, or to stand alone at the end of a line, as a speaker does.
    """
    words = [(word, _kind_of(word, dictionary)) for word in name.split()]
    before = ""
    for kind, some in groupby(words, key=lambda word: word[1]):
        together = " ".join(word for word, _ in some)
        is_first, is_two = begins and name.startswith(together), " " in together
        if kind is EntityKind.PERSON:
            is_alone = together == name and (_is_surname(together) or _LINE_ENDS.match(after) is not None)
            if is_two or not is_first or is_alone:
                yield together, kind
        elif kind is EntityKind.PLACE and _COMPOUND.match(before.rsplit(" ", maxsplit=1)[-1]):
            yield f"{before.rsplit(' ', maxsplit=1)[-1]} {together}", kind
        elif kind is not None:
            yield together, kind
        elif (
            together.isupper()
            and len(together) >= _TWO_WORDS
            and not is_first
            and not _NO_NAMES.fullmatch(together)
        ):
            yield together, EntityKind.ORGANISATION
        before = together


def _is_subject(name: str, before: str, after: str) -> bool:
    """Whether a surname in -а is a woman's: what she did follows, or it stands at the end as a speaker."""
    is_speaker = _DASH.search(before) is not None and _LINE_ENDS.match(after) is not None
    return name.endswith("а") and _is_surname(name) and (is_speaker or _FEMALE_VERB.match(after) is not None)


def _kind_of(word: str, dictionary: NameDictionary) -> EntityKind | None:
    if _NO_NAMES.fullmatch(word):
        return None
    kind = dictionary.kind_of(word.casefold())
    return None if kind is EntityKind.PLACE and _ADJECTIVE.search(word) else kind


def _is_abbreviation(word: str) -> bool:
    return word.isupper() and len(word) >= _TWO_WORDS and not _NO_NAMES.fullmatch(word)


def _is_surname(word: str) -> bool:
    return len(word) >= MIN_SURNAME and _SURNAME.search(word) is not None
