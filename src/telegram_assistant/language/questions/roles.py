"""The roles of two names in a sentence. The first name acts on the second in «Маяк обыграл Ладью»,
the second on the first in "Tornado were beaten by North Wind".
"""

import re
from collections.abc import Sequence

from telegram_assistant.language.evidence import is_same
from telegram_assistant.language.lemmas import MAX_WORD_CHARACTERS
from telegram_assistant.language.parsed_text import ParsedText, ParsedWord, is_verb
from telegram_assistant.language.quantities import quantities_in
from telegram_assistant.language.questions.wanted import readings_of_all
from telegram_assistant.language.russian import analyser

_ENDS_CLAUSE = re.compile(r"[.,;:()!?]|\s(?:и|или|and|or)\s")
_SMALL_WORDS = """
the a an of to in on at by for with from against over after before near into as than
"""
_PREPOSITIONS = frozenset(_SMALL_WORDS.split()) - {"the", "a", "an"}
_NO_VERBS = frozenset(_SMALL_WORDS.split())
_PASSES = "достаться доставаться отойти"
"""Verbs whose actor is not the first name: «завод достанется Лосеву»."""
_SUBJECT, _OBJECT, _DOER = "nomn", "accs", "ablt"

type Name = Sequence[ParsedWord]


def acts_on(text: ParsedText, name: Name, other: Name) -> bool | None:
    """True if the first name acts on the second, False if it is the other way round,
    None if the text does not say so plainly.
    """
    name_span, second = _span(name, text), _span(other, text)
    if name_span is None or second is None:
        return None
    if name_span > second:
        is_turned = acts_on(text, other, name)
        return None if is_turned is None else not is_turned
    words, gap = (
        text.words[name_span[1] + 1 : second[0]],
        text.text[text.words[name_span[1]].end : text.words[second[0]].start],
    )
    if _ENDS_CLAUSE.search(gap):
        return _by_score(text) if not words else None
    if not any(
        is_verb(word.folded) or (word.folded.isascii() and word.folded not in _NO_VERBS) for word in words
    ):
        return _by_score(text)
    if any(word.readings & readings_of_all(_PASSES) for word in words):
        return False
    return _by_grammar(text, name_span[0], second[0])


def _span(name: Name, text: ParsedText) -> tuple[int, int] | None:
    """The places of the first and the last word of a name where it stands first."""
    word_indexes = [
        word_index
        for word_index, word in enumerate(text.words)
        if word.is_capitalised and any(is_same(word, part) for part in name)
    ]
    if not word_indexes:
        return None
    last_index = word_indexes[0]
    while last_index + 1 in word_indexes:
        last_index += 1
    return word_indexes[0], last_index


def _by_score(text: ParsedText) -> bool | None:
    """Of two names beside a score the one with more goals beats the other."""
    scores = [
        (quantity.value, quantity.against)
        for quantity in quantities_in(text.text).all
        if quantity.against is not None
    ]
    return scores[0][0] > scores[0][1] if scores and scores[0][0] != scores[0][1] else None


def _by_grammar(text: ParsedText, first: int, second: int) -> bool | None:
    begins, first_cases = _head(text, first)
    before, second_cases = _head(text, second)
    preceding = text.words[before - 1].folded if before else ""
    if preceding in _PREPOSITIONS or is_preposition(preceding):
        return False if preceding == "by" else None
    if begins and is_preposition(text.words[begins - 1].folded):
        return None
    if (_OBJECT in first_cases and _SUBJECT not in first_cases) or (
        _DOER in second_cases and not second_cases & {_SUBJECT, _OBJECT}
    ):
        return False
    return (
        True
        if (not first_cases or _SUBJECT in first_cases)
        and (not second_cases or second_cases & {_SUBJECT, _OBJECT})
        else None
    )


def _head(text: ParsedText, word_index: int) -> tuple[int, frozenset[str]]:
    """The place of a name, with the noun before it («команду «Ладья»»), and its grammatical cases.

    A name without endings of its own has no cases.
    """
    word = text.words[word_index]
    before = text.words[word_index - 1] if word_index else word
    if (
        word_index
        and not is_preposition(before.folded)
        and (before.begins or not before.is_capitalised)
        and text.text[before.end : word.start] in {" ", " «", ' "', " “"}
    ):
        cases = cases_of(before.folded)
        if cases:
            return word_index - 1, cases
    is_quoted = text.text[max(0, word.start - 1) : word.start] in {"«", '"', "“"}
    return word_index, frozenset() if is_quoted else cases_of(word.folded)


def cases_of(word: str) -> frozenset[str]:
    words = analyser()
    if word.isascii() or words is None or len(word) > MAX_WORD_CHARACTERS:
        return frozenset()
    return frozenset(
        str(reading.tag.case)
        for reading in words.parse(word)
        if reading.tag.POS == "NOUN" and reading.tag.case
    )


def is_preposition(word: str) -> bool:
    words = analyser()
    return bool(word) and not word.isascii() and words is not None and words.parse(word)[0].tag.POS == "PREP"
