"""Whether a sentence brings what a question wants: a number of the right thing, a name, a place, a time,
a cause, or more than the question says.
"""

import re

from telegram_assistant.language.dates import dates_in
from telegram_assistant.language.names import key_of
from telegram_assistant.language.opposites import opposites_of
from telegram_assistant.language.parsed_text import ParsedText, ParsedWord, is_verb, may_be_name, readings_of
from telegram_assistant.language.quantities import Quantity, quantities_in
from telegram_assistant.language.questions.wanted import (
    NOUN_WORDS,
    TIME_UNITS,
    Wanted,
    WantedKind,
    counts_any_people,
    readings_of_all,
)
from telegram_assistant.language.sentences import quotations

MIN_ADDED = 2
"""Words that a sentence adds to the question at least, where it brings no name, number or quotation."""
WORDS_ONLY = 0.5
"""How surely such words answer; a fact does so with 1."""
PLACE_WORDS = 3
_EMPTY = """
большой новый крупный последний первый важный главный свежий интересный хороший
big new large latest important great fresh interesting good
"""
_FATES = (
    "погибнуть умереть убить погибший жертва скончаться kill die dead victim",
    "пострадать ранить ранение пострадавший раненый injure hurt wound",
    "госпитализировать больница hospitalise hospitalize hospital",
    "задержать арестовать задержание арест задержанный detain arrest",
    "эвакуировать эвакуация evacuate",
    "спасти спасение rescue save",
    "пропасть пропавший missing",
    "уволить увольнение сократить dismiss fire sack",
    "осудить приговорить sentence convict",
    "оштрафовать fine",
)
"""Fates of people: the number of people with one fate is not the number of people with another."""
_COLLECTIVE = re.compile(r"\b(?:дво|тро|четвер|пятер|шестер|семер)(?:е|о|их|ых|им|ым)\b", re.IGNORECASE)
_CAUSE = re.compile(
    r"\b(?:из-за|потому\s+что|так\s+как|поскольку|в\s+связи\s+с|вследствие|ввиду|благодаря|причин\w+|"
    r"виноват\w*|вызва\w+|привел\w+\s+к|чтобы|ради|в\s+ответ\s+на|после\s+того|за\s+то|на\s+фоне|"
    r"after|in\s+response|amid|"
    r"because|due\s+to|owing\s+to|caused?|reasons?|thanks\s+to|led\s+to|blamed?|so\s+that|in\s+order\s+to)\b",
    re.IGNORECASE,
)
_DEFINES = re.compile(
    r"[»”\"]?(?:\s*\([^)]*\))?\s+(?:[—–-]\s+(?:это\s+)?(?=[а-яё])|это\s+|является\s+|"
    r"представля\w+\s+собой\s+|"
    r"(?:is|are|was|were)\s+(?:an?|the)\s+)|(?<=\w),\s+(?:an?|the)\s+",
    re.IGNORECASE,
)
_REASON = re.compile(r"\b(?:причин\w+|виноват\w*|reasons?|blamed?)\b", re.IGNORECASE)
_PLACE = re.compile(
    r"\b(?:в|во|на|у|под|над|около|возле|близ|из|за|перед|между|внутри|рядом\s+с|недалеко\s+от|к|in|at|near|"
    r"on|under|behind|inside|outside|from|into|to|beside)\s+",
    re.IGNORECASE,
)
_FROM_NOW = re.compile(r"\b(?:через|спустя|назад|in|within|ago|after|later)\b", re.IGNORECASE)
_ENDS_PHRASE = re.compile(r"[.,;:!?()—–]|\s(?:и|на|в|с|за|от|из|and|of|in|on|at|for|from|to)\s")
_ADDS = re.compile(r"\b(?:ещ[её]|another|a\s+further)\s+$", re.IGNORECASE)
_CHANGES = re.compile(
    r"\b(?:рос|вырос|поднял|повыси|увелич|упа|снизи|сократи|уменьши|подешев|подорожа|"
    r"ros|rise|grew|grow|fell|fall|drop|gain|lost|lose|cut)\w*(?:\s+\w+)?\s+(?:на|by)\s+$",
    re.IGNORECASE,
)
"""Behind such words stands a difference, not a level."""
_QUOTES = frozenset('«"“')


def brings(wanted_answer: Wanted, question: ParsedText, sentence: ParsedText) -> float:
    """How surely the sentence has what is wanted and says more than the question: 0 not at all,
    1 with a fact, between them with words only.
    """
    if wanted_answer.kind is WantedKind.CONFIRMATION:
        return 1.0
    return float(_BRINGS[wanted_answer.kind](wanted_answer, question, sentence))


def _brings_number(wanted_answer: Wanted, question: ParsedText, sentence: ParsedText) -> bool:
    if _counts_people(wanted_answer) and _says_opposite(question, sentence):
        return False
    if counts_any_people(wanted_answer) and _says_no_fate(question, sentence):
        return False
    return any(_is_wanted(wanted_answer, number, sentence) for number in _new_numbers(question, sentence))


def _counts_people(wanted_answer: Wanted) -> bool:
    return bool(wanted_answer.nouns & readings_of("человек"))


def _says_opposite(question: ParsedText, sentence: ParsedText) -> bool:
    """Whether people were killed who are asked about as injured, or the other way round."""
    missing_readings = [word.readings for word in question.content if not word.readings & sentence.readings]
    return any(opposites_of(readings) & sentence.readings for readings in missing_readings)


def _says_no_fate(question: ParsedText, sentence: ParsedText) -> bool:
    """Whether the sentence does not say what the question asks of people: that they were detained."""
    fates = [words for words in _FATES if question.readings & readings_of_all(words)]
    return bool(fates) and not any(sentence.readings & readings_of_all(words) for words in fates)


def _is_wanted(wanted_answer: Wanted, quantity: Quantity, sentence: ParsedText) -> bool:
    if quantity.value < wanted_answer.at_least or quantity.against is not None:
        return False
    before = sentence.text[: quantity.start]
    if _ADDS.search(before) or (wanted_answer.is_level and _CHANGES.search(before)):
        return False
    if not wanted_answer.nouns or (wanted_answer.may_be_bare and not quantity.noun):
        return True
    return bool(_counted_readings_of(quantity, sentence) & wanted_answer.nouns) or (
        _counts_people(wanted_answer) and _COLLECTIVE.match(sentence.text, quantity.start) is not None
    )


def _counted_readings_of(quantity: Quantity, sentence: ParsedText) -> frozenset[str]:
    """Readings of the noun and of the first words behind a number: «17 пассажирских рейсов»."""
    following_words = [word for word in sentence.words if word.start >= quantity.end][:NOUN_WORDS]
    near_readings = [
        word.readings
        for word in following_words
        if not _ENDS_PHRASE.search(sentence.text[quantity.end : word.start])
    ]
    return (
        readings_of(quantity.noun).union(*near_readings)
        if quantity.noun
        else frozenset().union(*near_readings)
    )


def _brings_score(_: Wanted, question: ParsedText, sentence: ParsedText) -> bool:
    return any(number.against is not None for number in _new_numbers(question, sentence))


def _brings_name(_: Wanted, question: ParsedText, sentence: ParsedText) -> bool:
    return bool(_new_names(question, sentence))


def _brings_person(_: Wanted, question: ParsedText, sentence: ParsedText) -> bool:
    """A name that is not where it happened."""
    return any(
        not re.search(rf"(?:{_PLACE.pattern})$", sentence.text[: name.start], re.IGNORECASE)
        for name in _new_names(question, sentence)
    )


def _brings_place(_: Wanted, question: ParsedText, sentence: ParsedText) -> bool:
    quantity_spans = [(quantity.start, quantity.end) for quantity in quantities_in(sentence.text).all] + [
        (date.start, date.end) for date in dates_in(sentence.text)
    ]
    added_starts = {word.start for word in _list_added_words(question, sentence) if not is_verb(word.folded)}
    for match in _PLACE.finditer(sentence.text):
        following_words = [word for word in sentence.words if word.start >= match.end()][:PLACE_WORDS]
        if any(start <= match.end() < end for start, end in quantity_spans) or not following_words:
            continue
        if any(
            word.start in added_starts and not re.search(r"[.,;:!?]", sentence.text[match.end() : word.start])
            for word in following_words
        ):
            return True
    return False


def _brings_time(_: Wanted, question: ParsedText, sentence: ParsedText) -> bool:
    question_dates = {question.text[date.start : date.end].casefold() for date in dates_in(question.text)}
    if any(
        sentence.text[date.start : date.end].casefold() not in question_dates
        for date in dates_in(sentence.text)
    ):
        return True
    return bool(_FROM_NOW.search(sentence.text)) and any(
        readings_of(number.noun) & readings_of_all(TIME_UNITS)
        for number in _new_numbers(question, sentence)
        if number.noun
    )


def _brings_cause(_: Wanted, question: ParsedText, sentence: ParsedText) -> bool:
    return bool(_CAUSE.search(sentence.text) and _list_added_words(question, sentence))


def names_reason(sentence: ParsedText) -> bool:
    """Whether it says of itself that it gives the reason of something told before."""
    return _REASON.search(sentence.text) is not None


def _brings_definition(_: Wanted, question: ParsedText, sentence: ParsedText) -> bool:
    """“X is a …”, «X — это …»: the name before it stands in the question."""
    for match in _DEFINES.finditer(sentence.text):
        before = [word for word in sentence.words if word.end <= match.start()][-1:]
        if any(word.is_content and _is_asked(word, question) for word in before):
            return bool(_list_added_words(question, sentence))
    return False


def _brings_detail(_: Wanted, question: ParsedText, sentence: ParsedText) -> float:
    """A name, a number or a quotation; or at least two words that mean something,
    beside one of the question's own.
    """
    if (
        _new_names(question, sentence)
        or _new_numbers(question, sentence)
        or any(quotation not in question.text for quotation in quotations(sentence.text))
    ):
        return 1.0
    has_asked = any(
        word.readings & question.readings and not word.is_capitalised for word in sentence.content
    )
    return WORDS_ONLY if has_asked and len(_list_added_words(question, sentence)) >= MIN_ADDED else 0.0


_BRINGS = {
    WantedKind.NUMBER: _brings_number,
    WantedKind.SCORE: _brings_score,
    WantedKind.NAME: _brings_name,
    WantedKind.PERSON: _brings_person,
    WantedKind.PLACE: _brings_place,
    WantedKind.TIME: _brings_time,
    WantedKind.CAUSE: _brings_cause,
    WantedKind.DEFINITION: _brings_definition,
    WantedKind.DETAIL: _brings_detail,
}


def _new_numbers(question: ParsedText, sentence: ParsedText) -> list[Quantity]:
    question_numbers = {(quantity.value, quantity.against) for quantity in quantities_in(question.text).all}
    return [
        quantity
        for quantity in quantities_in(sentence.text).all
        if (quantity.value, quantity.against) not in question_numbers
    ]


def _list_added_words(question: ParsedText, sentence: ParsedText) -> list[ParsedWord]:
    """The words that the question does not have, without those that say nothing about a thing."""
    empty_readings = readings_of_all(_EMPTY)
    return [
        word
        for word in sentence.content
        if not _is_asked(word, question) and not word.readings & empty_readings
    ]


def _is_asked(word: ParsedWord, question: ParsedText) -> bool:
    return bool(word.readings & question.readings) or (
        word.is_capitalised and key_of(word.text) in question.keys
    )


def _new_names(question: ParsedText, sentence: ParsedText) -> list[ParsedWord]:
    date_spans = [(date.start, date.end) for date in dates_in(sentence.text)]
    names = [
        word
        for word_index, word in enumerate(sentence.words)
        if word.is_capitalised and word.is_content and _is_name(sentence, word_index)
    ]
    return [
        word
        for word in names
        if not _is_asked(word, question) and not any(start <= word.start < end for start, end in date_spans)
    ]


def _is_name(sentence: ParsedText, word_index: int) -> bool:
    """A capital letter inside a sentence or in quotation marks; at its beginning,
    one that the dictionary or a second capital letter confirms.
    """
    word = sentence.words[word_index]
    if not word.begins:
        return True
    if sentence.text[max(0, word.start - 1) : word.start] in _QUOTES or may_be_name(word.text):
        return True
    following = sentence.words[word_index + 1 : word_index + 2]
    return (
        bool(following)
        and following[0].is_capitalised
        and sentence.text[word.end : following[0].start] == " "
        and word.folded.isascii()
    )
