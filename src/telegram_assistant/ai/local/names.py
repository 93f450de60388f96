"""Finds names of people, places and organisations by their capital letters within a sentence, each in its
dictionary form.

A neural network finds more (natasha's takes 45 ms of a core for a post of 400 characters, measured); this
takes a fiftieth of a millisecond.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from telegram_assistant.ai.local.english_names import find_english_names
from telegram_assistant.ai.local.name_dictionary import NameDictionary, NameWord
from telegram_assistant.ai.local.name_words import ROMAN_NUMBER, WOMAN_BEFORE
from telegram_assistant.ai.local.russian_names import (
    COMPOUND,
    LINE_ENDS,
    NamePart,
    Run,
    is_surname,
    parts_of_run,
)
from telegram_assistant.ai.outputs import EntityKind, NamedEntity

MAX_NAMES = 10
MAX_CHARACTERS = 4_000
LONGEST = 100
MAX_WORD_CHARACTERS = 30
"""No name is longer, and the dictionary analyses long words slowly."""
MAX_LOOKUPS = 30
"""The most dictionary lookups per text; each takes up to a millisecond."""
_RUN = re.compile(
    r"(?<![\w#@/])[A-ZА-ЯЁ][\w’'-]*"
    r"(?:[ \u00a0](?:фон дер |фон |ван дер |ван |де |да |дель |бен |бин |ибн |аль-|эль-|of |the )?"
    r"[A-ZА-ЯЁ][\w’'-]*)*"
)
_CYRILLIC = re.compile(r"[А-Яа-яЁё]")
_BEGINS = re.compile(r"(?:^|[.!?…:;\n«\"“—–-]\s*|\W{3,})$")
_FEMALE_VERB = re.compile(r"\s+(?:не\s+)?[а-яё]+(?:ла|лась)\b")
_DASH = re.compile(r"[—–-]\s*$")
BEFORE_CHARACTERS = 40
AFTER_CHARACTERS = 30
_SOFT_STEMS = frozenset({"Нижн", "Верхн", "Средн", "Крайн", "Дальн"})
_POSSESSIVE = re.compile(r"[’']s\b")


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

    def read(word: str) -> NameWord:
        nonlocal lookups
        lookups += 1
        is_allowed = lookups <= MAX_LOOKUPS and len(word) <= MAX_WORD_CHARACTERS
        return dictionary.read(word) if is_allowed else NameWord()

    return replace(dictionary, read=read)


def _find_names(text: str, dictionary: NameDictionary) -> Iterator[tuple[str, EntityKind]]:
    if not _CYRILLIC.search(text):
        yield from find_english_names(text)
        return
    women: set[str] = set()
    for match in _RUN.finditer(text):
        written_name = _POSSESSIVE.sub("", match.group()).rstrip("-’'")
        if written_name.isascii():
            continue
        run = _run_at(text, match, written_name)
        for part in parts_of_run(run, dictionary):
            name = _canonical(part, run, dictionary, women)
            if part.kind is EntityKind.PERSON and " " in name and name.endswith("а"):
                women.add(name.rpartition(" ")[2])
            yield name, part.kind


def _run_at(text: str, match: re.Match[str], written_name: str) -> Run:
    start, end = match.span()
    before = text[max(0, start - BEFORE_CHARACTERS) : start]
    return Run(
        written_name,
        before,
        after=text[end : end + AFTER_CHARACTERS],
        begins=start == 0 or _BEGINS.search(before[-6:]) is not None,
    )


def _canonical(part: NamePart, run: Run, dictionary: NameDictionary, women: set[str]) -> str:
    """The name in the nominative, capitalised like the text.

    A name in capitals may be an abbreviation and stays unchanged.
    """
    name = part.name
    if name.isupper() or (part.is_whole and _is_subject(name, run)):
        return name
    words = name.split()
    if part.kind is EntityKind.ORGANISATION and len(words) > 1:
        return name
    if (compound := COMPOUND.match(words[0])) is not None and len(words) > 1:
        place_name = _nominative(words[1:], part.kind, dictionary)
        return f"{_agree(compound[1], place_name)} {place_name}"
    is_woman = part.is_first and WOMAN_BEFORE.search(run.before) is not None
    base = _nominative(words, part.kind, dictionary, is_woman=is_woman)
    return f"{base}а" if f"{base}а" in women and part.kind is EntityKind.PERSON else base


def _nominative(
    words: list[str], kind: EntityKind, dictionary: NameDictionary, *, is_woman: bool = False
) -> str:
    number = words[-1] if ROMAN_NUMBER.fullmatch(words[-1]) else ""
    name_words = words[:-1] if number else words
    plain = dictionary.nominative(tuple(word.casefold() for word in name_words), kind, is_woman)
    forms = [_match_case(word, form) for word, form in zip(name_words, plain, strict=True)]
    return " ".join([*forms, number] if number else forms)


def _agree(stem: str, noun: str) -> str:
    """The adjective of this stem in the nominative, in the gender of the noun."""
    is_soft, is_velar = stem in _SOFT_STEMS, stem.endswith("к")
    if noun.endswith(("а", "я")):
        return f"{stem}{'яя' if is_soft else 'ая'}"
    if noun.endswith(("о", "е")):
        return f"{stem}{'ее' if is_soft else 'ое'}"
    return f"{stem}{'ий' if is_soft or is_velar else 'ой' if stem == 'Больш' else 'ый'}"


def _match_case(written_name: str, form: str) -> str:
    parts, likes = form.split("-"), written_name.split("-")
    if len(parts) != len(likes):
        return form.capitalize()
    return "-".join(
        part.capitalize() if like[:1].isupper() else part for part, like in zip(parts, likes, strict=True)
    )


def _is_subject(name: str, run: Run) -> bool:
    """Whether a surname in -а is a woman's: what she did follows, or it stands at the end as a speaker."""
    is_speaker = _DASH.search(run.before) is not None and LINE_ENDS.match(run.after) is not None
    return (
        name.endswith("а") and is_surname(name) and (is_speaker or _FEMALE_VERB.match(run.after) is not None)
    )
