"""Cuts a run of capitalised Russian words into names, by the dictionary and by the words beside it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from telegram_assistant.ai.local.base_forms import PARTICLES
from telegram_assistant.ai.local.name_dictionary import NameDictionary, NameWord
from telegram_assistant.ai.local.name_words import (
    GIVEN_NAMES,
    HOUSES,
    NAMED_AFTER,
    NAMED_KINDS,
    NO_NAMES,
    PERSON_TITLE,
    PLACE_BEFORE,
    REGIONS,
    ROMAN_NUMBER,
    STREET_FOLLOWS,
    WORKS,
)
from telegram_assistant.ai.outputs import EntityKind

COMPOUND = re.compile(
    r"^((?:Южн|Северн|Западн|Восточн|Центральн|Нижн|Верхн|Велик|Нов|Стар|Саудовск|Латинск|Средн|Больш|Мал|"
    r"Крайн|Дальн|Экваториальн))[а-яё]{2,3}$"
)
LINE_ENDS = re.compile(r"[^\w\n]*(?:\n|$)")
_NOMINATIVE_SURNAME = re.compile(r"(?:ов|ев|ёв|ин|ын|ский|цкий|ко|ова|ева|ёва|ина|ына|ская|цкая)$")
_TITLE_CASE = re.compile(r"[А-ЯЁ][а-яё’']+(?:-[А-ЯЁа-яё][а-яё]+)*|(?:аль|эль)-[А-ЯЁ][а-яё]+")
_ABBREVIATION = re.compile(r"[А-ЯЁ]{2,6}")
_ADJECTIVAL = re.compile(r"[сц]к(?:ий|ого|ому|им|ом|ая|ой|ую)$")
_QUOTE_OPENS, _QUOTE_CLOSES = re.compile(r"[«\"“„]$"), re.compile(r"[»\"”“]")
_ADJECTIVE = re.compile(r"(?:ском|ского|скому|ской|скую|ские|ских|ским|скими|ская|ское)$")
MAX_PERSON_WORDS = 4
MAX_SHORT_SURNAME = 4
"""Surnames before a given name, as in China and Korea, are not longer."""
MIN_SURNAME = 5
MIN_UNKNOWN = 4
MAX_ABBREVIATION = 6
MIN_SHOUTED = 4
"""An ordinary word in capitals of this length is no abbreviation."""


@dataclass(frozen=True, slots=True)
class Run:
    """Capitalised words in a row, and the text beside them."""

    text: str
    before: str
    after: str
    begins: bool
    """Whether it begins a sentence, a line or a quotation."""

    @property
    def is_quotation(self) -> bool:
        """Whether the quotation marks hold nothing else, as around the title of a work."""
        return _QUOTE_OPENS.search(self.before) is not None and _QUOTE_CLOSES.match(self.after) is not None


@dataclass(frozen=True, slots=True)
class NamePart:
    """One name of a run."""

    name: str
    kind: EntityKind
    is_whole: bool
    is_first: bool


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a run with what the dictionary says."""

    text: str
    facts: NameWord

    @property
    def kind(self) -> EntityKind | None:
        return self.facts.kind

    @property
    def is_title_case(self) -> bool:
        return _TITLE_CASE.fullmatch(self.text) is not None


def is_surname(word: str) -> bool:
    return len(word) >= MIN_SURNAME and _NOMINATIVE_SURNAME.search(word) is not None


def parts_of_run(run: Run, dictionary: NameDictionary) -> Iterator[NamePart]:
    """The names of a run in their order."""
    words = [_Word(word, _facts_of(word, dictionary)) for word in run.text.split()]
    start = 0
    previous: EntityKind | None = None
    while start < len(words):
        length, kind = _name_at(words, start, run, previous)
        if kind is not None:
            name = " ".join(word.text for word in words[start : start + length])
            yield NamePart(name, kind, is_whole=name == run.text, is_first=start == 0)
        start, previous = start + length, kind


def _facts_of(word: str, dictionary: NameDictionary) -> NameWord:
    if word in REGIONS:
        return NameWord(kind=EntityKind.PLACE, is_known=True)
    if word in NO_NAMES or word.casefold() in PARTICLES:
        return NameWord(is_known=True)
    return dictionary.read(word.casefold())


def _name_at(
    words: Sequence[_Word], start: int, run: Run, previous: EntityKind | None
) -> tuple[int, EntityKind | None]:
    """How many words a name that starts here has, and its kind; None if they are no name."""
    word = words[start]
    following = words[start + 1] if start + 1 < len(words) else None
    if word.text in NAMED_KINDS and following is not None and following.is_title_case:
        return 2, None if word.text in HOUSES else EntityKind.ORGANISATION
    length = _person_length(words, start)
    if length == 1 and start == 0 and word.facts.is_place and PLACE_BEFORE.search(run.before):
        return 1, EntityKind.PLACE
    if length:
        is_named = _is_person(words, start, length, run, previous)
        return length, EntityKind.PERSON if is_named else None
    if _is_office_holder(word, previous):
        return 2 if following is not None and _is_new(following) else 1, EntityKind.PERSON
    is_compound = following is not None and following.kind is EntityKind.PLACE and COMPOUND.match(word.text)
    if is_compound and following is not None:
        return 2, EntityKind.PLACE if _is_place(following, is_title=False) else None
    return 1, _kind_of(
        word, run, is_first=start == 0, is_whole=len(words) == 1, is_shouted=_is_shouted(words)
    )


def _kind_of(word: _Word, run: Run, *, is_first: bool, is_whole: bool, is_shouted: bool) -> EntityKind | None:
    """The kind of a single word that is no person."""
    if word.kind is EntityKind.PLACE:
        return word.kind if _is_place(word, is_title=run.is_quotation and is_whole) else None
    if word.kind is EntityKind.ORGANISATION and not any(letter.isdigit() for letter in word.text):
        return word.kind
    is_abbreviation = _is_abbreviation(word) and not (run.begins and is_first) and not is_shouted
    return EntityKind.ORGANISATION if is_abbreviation else None


def _is_office_holder(word: _Word, previous: EntityKind | None) -> bool:
    """Whether a surname follows the name of an office, as in `Minister of Norway Lund`."""
    if previous not in {EntityKind.PLACE, EntityKind.ORGANISATION} or not word.is_title_case:
        return False
    return _is_new(word) or (word.kind is EntityKind.PLACE and word.facts.is_surname)


def _is_new(word: _Word) -> bool:
    """Whether the dictionary lacks a capitalised word and has no guess."""
    is_long = len(word.text) >= MIN_UNKNOWN and word.is_title_case
    return is_long and word.kind is None and not word.facts.is_known


def _is_shouted(words: Sequence[_Word]) -> bool:
    """Whether capitals only make the words loud."""
    return any(word.text.isupper() and len(word.text) > MAX_ABBREVIATION for word in words)


def _is_place(word: _Word, *, is_title: bool) -> bool:
    is_guess = word.text.isupper() and not word.facts.is_known
    return not is_title and not is_guess and _ADJECTIVE.search(word.text) is None


def _is_abbreviation(word: _Word) -> bool:
    if _ABBREVIATION.fullmatch(word.text) is None or word.text in NO_NAMES:
        return False
    return not (word.facts.is_known and word.facts.is_ordinary and len(word.text) >= MIN_SHOUTED)


def _person_length(words: Sequence[_Word], start: int) -> int:
    """The number of words of a person's name that starts here; 0 if none does."""
    first_word = words[start]
    following = words[start + 1] if start + 1 < len(words) else None
    if not _begins_person(first_word, following):
        return 0
    is_given = first_word.facts.is_given_name or not first_word.facts.is_known
    length, names = 1, 1
    while start + length < len(words) and names < MAX_PERSON_WORDS:
        word = words[start + length]
        if word.text.casefold() in PARTICLES:
            length += 1
            continue
        if not _continues(first_word, word, words[start + length + 1 :], is_given=is_given):
            break
        length, names = length + 1, names + 1
    while words[start + length - 1].text.casefold() in PARTICLES:
        length -= 1
    return length if length > 1 or first_word.kind is EntityKind.PERSON else 0


def _begins_person(first_word: _Word, following: _Word | None) -> bool:
    """Whether a word may begin a person's name: a surname, a given name, or a word that the dictionary lacks
    before a surname. A given name that is also a place needs a surname.
    """
    if not first_word.is_title_case:
        return False
    if first_word.kind is EntityKind.PERSON:
        return True
    is_followed = following is not None and following.kind is EntityKind.PERSON and following.is_title_case
    if first_word.text.casefold() in GIVEN_NAMES:
        return following is not None
    if first_word.facts.is_given_name:
        is_surname_next = following is not None and is_followed and not following.facts.is_given_name
        return is_surname_next if first_word.kind is EntityKind.PLACE else following is not None
    is_surname_next = is_followed and following is not None and not following.facts.is_given_name
    return is_surname_next and not first_word.facts.is_known and first_word.kind is None


def _continues(first_word: _Word, word: _Word, remaining_words: Sequence[_Word], *, is_given: bool) -> bool:
    """Whether a word goes on with the name of a person."""
    if ROMAN_NUMBER.fullmatch(word.text):
        return is_given
    if not word.is_title_case:
        return False
    facts = word.facts
    is_short = max(len(first_word.text), len(word.text) - 1) <= MAX_SHORT_SURNAME and not facts.is_ordinary
    if not is_given:
        is_new = bool(remaining_words) and facts.is_given_name and remaining_words[0].is_title_case
        is_given_next = facts.is_given_name or not facts.is_known
        return (word.kind is EntityKind.PERSON and is_given_next and not is_new) or is_short
    if word.kind is EntityKind.PERSON or facts.is_surname or not facts.is_known or is_short:
        return True
    if word.kind is not None:
        return False
    return facts.is_adjective or first_word.kind is EntityKind.PERSON


def _is_person(
    words: Sequence[_Word], start: int, length: int, run: Run, previous: EntityKind | None
) -> bool:
    """Whether words that may be a person's name are one here: no street, no title of a work; one word at the
    beginning of a sentence must be a known surname.
    """
    is_first, is_last = start == 0, start + length == len(words)
    if (is_first and NAMED_AFTER.search(run.before)) or (is_last and STREET_FOLLOWS.match(run.after)):
        return False
    if run.is_quotation and is_first and is_last:
        return False
    if (
        length == 1
        and not is_first
        and previous is None
        and _is_of_title(words[start - 1], is_begin=run.begins and start == 1)
    ):
        return False
    return length > 1 or _is_single_person(
        words[start],
        run,
        is_first=is_first,
        is_whole=is_first and is_last,
        is_holder=previous in {EntityKind.PLACE, EntityKind.ORGANISATION},
    )


def _is_of_title(word: _Word, *, is_begin: bool) -> bool:
    """Whether the word before a name makes it part of a title: `Радио`, or any that is capitalised within."""
    if WORKS.fullmatch(word.text.casefold()) is not None:
        return True
    return word.is_title_case and word.kind is None and word.facts.is_ordinary and not is_begin


def _is_single_person(word: _Word, run: Run, *, is_first: bool, is_whole: bool, is_holder: bool) -> bool:
    """Whether one word is a person: the dictionary knows it, or it looks like a surname. Adjectives of places
    look like surnames, too, so those need an office before them.
    """
    facts = word.facts
    if is_holder or (is_first and PERSON_TITLE.search(run.before)):
        return True
    if not (run.begins and is_first):
        return facts.is_known or _ADJECTIVAL.search(word.text) is None
    is_speaker = LINE_ENDS.match(run.after) is not None and facts.is_known and not facts.is_ordinary
    return is_whole and (is_surname(word.text) or is_speaker)
