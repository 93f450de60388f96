"""Whether a sentence is about what was asked: it has the question's words, its verb and its subject."""

import re
from collections.abc import Sequence

from telegram_assistant.language.dates import dates_in
from telegram_assistant.language.parsed_text import (
    ParsedText,
    ParsedWord,
    fold,
    is_adjective,
    is_verb,
    name_readings_of,
)
from telegram_assistant.language.questions.roles import cases_of, is_preposition
from telegram_assistant.language.questions.wanted import readings_of_all

ROOT_LETTERS = 5
SHORT_ROOT_LETTERS = 4
"""Of English verbs, whose endings are short: move, moves, moved."""
_NOMINATIVE = "nomn"
_ALIKE = (
    """
    победить победа победитель победный выиграть обыграть одолеть чемпион первый первенствовать
    win won winner winning victory victorious beat champion first
    """,
    "найти нашли обнаружить отыскать находка find found discover discovered",
    "умереть скончаться смерть die died dead death",
)
"""Verbs, and other words that say the same."""
_BECOMING = """
стать становиться назначить назначение избрать избрание переизбрать выбрать утвердить занять вступить
become became named appointed appointment elect elected election chosen sworn
"""
_OFFICE = "пост должность office post"
_HEADS = "возглавить head heads headed"
_ASKS_BECOMING = re.compile(
    r"\b(?:кто|кем)\s+(?:стал\w*|станет)\s+(\w+)|\bwho\s+(?:became|becomes)\s+(?:the\s+|an?\s+)?(\w+)",
    re.IGNORECASE,
)
_ASKS_STATE = re.compile(
    r"\bкак(?:ой|ая|ое|ие|им|ими|ов|ова|ово|овы)\s+(?:был|будет|будут|стал|оказал)\w*\s+(\w+)", re.IGNORECASE
)
_VERBAL = re.compile(
    r"(?:ed|ing)$|^(?:find|found|win|won|lose|lost|make|made|take|took|get|got|give|gave|raise|move|show|"
    r"pay|buy|beat|open|close)s?$"
)
_WHO = re.compile(r"\b(?:who|whom)\s+(\w+)", re.IGNORECASE)
_OTHER_CLAUSE = re.compile(
    r"[;:]|\b(?:котор\w+|после\s+того|когда|если|хотя|which|who|whom|when|where|while)\b", re.IGNORECASE
)
_PREPOSITIONS = "of by with to from for in at on against about near"


def is_verbal(word: str) -> bool:
    """Whether a word is a verb: by the dictionary in Russian, by its looks in English."""
    return bool(_VERBAL.search(word)) if word.isascii() else is_verb(word)


def has_word(word: ParsedWord, text: ParsedText) -> bool:
    """Whether the text has the word in any form, or one of the same root."""
    if word.readings & text.readings:
        return True
    is_short = word.folded.isascii() and len(word.folded) == SHORT_ROOT_LETTERS
    letters = SHORT_ROOT_LETTERS if is_short else ROOT_LETTERS
    root = word.folded[:letters]
    return len(root) == letters and any(other.folded.startswith(root) for other in text.words)


def verbs_of(question: str, words: Sequence[ParsedWord]) -> list[ParsedWord]:
    """The verbs among a question's words; in English also the word behind "who"."""
    behind_who = {match[1].casefold() for match in _WHO.finditer(question)}
    return [word for word in words if is_verbal(word.folded) or word.folded in behind_who]


def has_verb(verbs: Sequence[ParsedWord], text: ParsedText) -> bool:
    """Whether the text has one of the verbs, its root, or another word for winning, finding or dying."""
    return not verbs or any(
        has_word(verb, text)
        or any(
            verb.readings & readings_of_all(words) and text.readings & readings_of_all(words)
            for words in _ALIKE
        )
        for verb in verbs
    )


def tells_becoming(question: str, sentence: ParsedText) -> bool:
    """Whether a sentence says that somebody became it, where this is asked: the president of today is no
    answer to who became president.
    """
    match = _ASKS_BECOMING.search(question)
    if match is None or sentence.readings & readings_of_all(_HEADS):
        return True
    has_office = bool(sentence.readings & readings_of_all(_OFFICE)) or any(
        word.folded == fold(match[1] or match[2]) for word in sentence.words
    )
    return has_office and bool(sentence.readings & readings_of_all(_BECOMING))


def tells_of(question: str, words: Sequence[ParsedWord], sentence: ParsedText) -> bool:
    """Whether a sentence is about the thing of «какой была осень?»: «ночь стала самой холодной за осень» is
    about the night.
    """
    match = _ASKS_STATE.search(question)
    asked_words = [word for word in words if match is not None and word.start == match.start(1)]
    return all(
        any(
            word.readings & asked_word.readings and _may_act(sentence, word_index)
            for word_index, word in enumerate(sentence.words)
        )
        for asked_word in asked_words
    )


def has_subject(
    question: ParsedText, names: Sequence[ParsedWord], sentence: ParsedText, *, place_names: frozenset[str]
) -> bool:
    """Whether the names that act in the question also act in the sentence: Putin does not die where the cat
    that he gave away does.
    """
    subjects = [
        name
        for name in names
        if name.folded not in place_names
        and any(
            word.start == name.start and _may_act(question, word_index)
            for word_index, word in _list_names(question)
        )
    ]
    return all(
        any(
            name_readings_of(word.text) & name_readings_of(name.text) and _may_act(sentence, word_index)
            for word_index, word in _list_names(sentence)
        )
        for name in subjects
    )


def dates_its_verb(verbs: Sequence[ParsedWord], sentence: ParsedText) -> bool:
    """Whether a date of the sentence belongs to one of the verbs: no other clause begins between them."""
    if not verbs:
        return True
    forms = [word for word in sentence.words if any(_is_form(verb, word) for verb in verbs)]
    spans = [(date.start, date.end) for date in dates_in(sentence.text)] or [(0, len(sentence.text))]
    return any(
        not _OTHER_CLAUSE.search(sentence.text[min(end, word.end) : max(start, word.start)])
        for word in forms
        for start, end in spans
    )


def _is_form(verb: ParsedWord, word: ParsedWord) -> bool:
    return bool(verb.readings & word.readings) or (
        len(verb.folded) >= ROOT_LETTERS and word.folded.startswith(verb.folded[:ROOT_LETTERS])
    )


def _list_names(text: ParsedText) -> list[tuple[int, ParsedWord]]:
    return [(word_index, word) for word_index, word in enumerate(text.words) if word.is_capitalised]


def _may_act(text: ParsedText, word_index: int) -> bool:
    """Whether the name may be a subject: in the nominative, neither behind a preposition nor an owner."""
    word = text.words[word_index]
    before = next(
        (other.folded for other in reversed(text.words[:word_index]) if not is_adjective(other.folded)), ""
    )
    if before in _PREPOSITIONS.split() or is_preposition(before) or word.text.endswith(("'s", "’s")):
        return False
    cases = cases_of(word.folded)
    return not cases or _NOMINATIVE in cases
