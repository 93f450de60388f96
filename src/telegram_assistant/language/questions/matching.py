"""Questions in Russian and English: their names and words, and whether a post can answer them. No model."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from telegram_assistant.language.names import key_of
from telegram_assistant.language.parsed_text import (
    ParsedText,
    ParsedWord,
    goes_on,
    is_verb,
    may_be_name,
    parse_sentences,
    parse_text,
)
from telegram_assistant.language.questions.answering import brings
from telegram_assistant.language.questions.roles import acts_on
from telegram_assistant.language.questions.wanted import Wanted, wanted_by
from telegram_assistant.language.sentences import is_headline

MIN_COVERAGE = 0.6
"""The share of a question's other words that one post must have."""
MIN_COVERAGE_WITHOUT_NAMES = 0.75
MIN_WORDS_WITHOUT_NAMES = 3
NAME_BONUS = 0.5
WANTED_BONUS = 0.5
"""Of a sentence that surely brings what is wanted."""
MAX_CHARACTERS = 1_500
"""Per post. Words that no dictionary knows take a millisecond each, and a post may consist of them."""
MAX_QUOTED_WORDS = 60
SIGNATURES = frozenset("@#")
"""How lines begin that only name the channel or its subjects."""
_ASKING_WORDS = """
кто что где когда куда откуда почему зачем как какой какая какое какие каков сколько чей ли же сказать
рассказать расскажи объясни известно знать узнать случиться произойти происходить новость новости последний
последние слышно писать пишут сообщать говорить было будет стать есть можно нужно делать сделать новый новая
who what where when why how which whose whom many much long tell know known happen happened happening news
latest new did does do is are was were there say said about will would can could any near because since while
until among within
"""
_MEASURES = """
стоить стоимость цена миллион миллиард тысяча процент доллар рубль
million millions billion thousand percent dollar dollars cost price
"""
_ASKING = frozenset(_MEASURES.split()) | frozenset(_ASKING_WORDS.split())
_ORGANISATIONS = """
университет институт академия клиника больница музей галерея театр обсерватория завод банк клуб команда
порт аэропорт стадион экспедиция лаборатория
university institute academy clinic hospital museum gallery theatre observatory bank club team
port airport stadium expedition laboratory
атлетик сити юнайтед хорнетс athletic city united hornets rovers
"""
_ORGANISATION = frozenset(_ORGANISATIONS.split())
_PLACE = re.compile(r"\b(?:в|во|у|из|под|около|возле|близ|in|near|at|from)\s+$", re.IGNORECASE)
_VERBAL = re.compile(
    r"(?:ed|ing)$|^(?:find|found|win|won|lose|lost|make|made|take|took|get|got|give|gave|raise|move|show|"
    r"pay|buy|beat|open|close)s?$"
)
_ADJECTIVE = re.compile(r"(?:ый|ий|ой|ая|яя|ое|ее|ые|ие|ого|его|ому|ему|ых|их|ую|юю|ыми|ими)$")


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question: the names in it, and its other words that mean something."""

    text: str
    names: tuple[ParsedWord, ...]
    words: tuple[ParsedWord, ...]
    places: frozenset[str]
    """Those names that stand behind «в», «у», "in", "near":
    a longer name with such a word in it is something else.
    """
    wanted: Wanted
    roles: tuple[tuple[ParsedWord, ...], tuple[ParsedWord, ...]] | None = None
    """Two of the names, where the first acts on the second."""


@dataclass(frozen=True, slots=True)
class PostMatch:
    """How well a post fits a question, and its sentence that fits best."""

    has_all_names: bool
    names: float
    """The share of the question's names that it has."""
    coverage: float
    """The share of its other words; a noun counts twice."""
    sentence: str
    fit: float
    """Of its best sentence, to compare posts with each other."""
    has_wanted: bool
    """Whether that sentence brings what the question wants,
    and no sentence of the post swaps who acts on whom.
    """

    def answers(self, question: ParsedQuestion) -> bool:
        return self.has_wanted and self.is_about(question)

    def is_about(self, question: ParsedQuestion) -> bool:
        """All names of the question in this one post, and enough of its other words; without names,
        most of the words.
        """
        if not question.names:
            return (
                len(question.words) >= MIN_WORDS_WITHOUT_NAMES and self.coverage >= MIN_COVERAGE_WITHOUT_NAMES
            )
        return self.has_all_names and self.coverage >= MIN_COVERAGE


@lru_cache(maxsize=1_000)
def parse_question(text: str) -> ParsedQuestion:
    parsed = parse_text(text)
    content = [
        word
        for word in parsed.words
        if word.is_content and not word.readings & _ASKING and word.folded not in _ASKING
    ]
    names = [
        word
        for word in content
        if word.is_capitalised and (not word.begins or may_be_name(word.text) or _is_quoted(word, text))
    ]
    others = {word.folded: word for word in content if word not in names}
    return ParsedQuestion(
        text,
        tuple({key_of(word.text) or word.folded: word for word in names}.values()),
        tuple(others.values()),
        frozenset(word.folded for word in names if _PLACE.search(text[: word.start])),
        wanted_by(parsed),
        _roles(parsed, names),
    )


def _roles(
    parsed: ParsedText, names: Sequence[ParsedWord]
) -> tuple[tuple[ParsedWord, ...], tuple[ParsedWord, ...]] | None:
    """Of the question's names, those whose words stand together being one, the first two,
    where one acts on the other.
    """
    whole: list[list[ParsedWord]] = []
    for word in names:
        if whole and _touch(whole[-1][-1], word, parsed.text):
            whole[-1].append(word)
        else:
            whole.append([word])
    if len(whole) < 2:  # noqa: PLR2004 -- one acts on another
        return None
    first, second = tuple(whole[0]), tuple(whole[1])
    is_first = acts_on(parsed, first, second)
    return None if is_first is None else (first, second) if is_first else (second, first)


def match_post(question: ParsedQuestion, text: str) -> PostMatch:
    """Compares a post with a question.

    Names count in both alphabets; other words only in the question's own language.
    """
    text = text[:MAX_CHARACTERS]
    post = parse_text(text)
    named = [word for word in question.names if _names(word, post, question)]
    covered = sum(_weight(word) for word in question.words if word.readings & post.readings)
    sentences = [sentence for sentence in parse_sentences(text) if sentence.text[0] not in SIGNATURES]
    fits = [_fit(question, sentence) for sentence in sentences]
    wanted = [_sureness(question, sentences, fits, place) for place in range(len(sentences))]
    ranked = [
        (sure > 0, fit + WANTED_BONUS * sure, -place)
        for place, (fit, sure) in enumerate(zip(fits, wanted, strict=True))
    ]
    has_wanted, fit, best = max(ranked, default=(False, 0.0, 0))
    return PostMatch(
        has_all_names=len(named) == len(question.names),
        names=len(named) / len(question.names) if question.names else 0.0,
        coverage=covered / sum(map(_weight, question.words))
        if question.words
        else float(bool(question.names)),
        sentence=_quoted(question, sentences, -best) if sentences else text,
        fit=fit,
        has_wanted=has_wanted and not _swaps_roles(question, sentences),
    )


def _sureness(
    question: ParsedQuestion, sentences: Sequence[ParsedText], fits: Sequence[float], place: int
) -> float:
    """What is wanted counts in a sentence that names what the question is about,
    or goes on from one that is about it.
    """
    is_about_it = (fits[place] > 0 and _has_name(question, sentences[place])) or (
        place > 0 and fits[place - 1] > 0
    )
    parsed_question = parse_text(" ".join((question.text, *(name.text for name in question.names))))
    return brings(question.wanted, parsed_question, sentences[place]) if is_about_it else 0.0


def _swaps_roles(question: ParsedQuestion, sentences: Sequence[ParsedText]) -> bool:
    return question.roles is not None and any(
        acts_on(sentence, *question.roles) is False for sentence in sentences
    )


def _quoted(question: ParsedQuestion, sentences: Sequence[ParsedText], place: int) -> str:
    """The sentence; one that cannot stand alone, with the sentence before it."""
    sentence, before = sentences[place], sentences[place - 1] if place else None
    stands_alone = _has_name(question, sentence) and not goes_on(sentence)
    if (
        before is None
        or stands_alone
        or not _fit(question, before)
        or len(before.words) + len(sentence.words) > MAX_QUOTED_WORDS
    ):
        return sentence.text
    return f"{before.text}{'.' if is_headline(before.text) else ''} {sentence.text}"


def _has_name(question: ParsedQuestion, sentence: ParsedText) -> bool:
    return not question.names or any(_names(word, sentence, question) for word in question.names)


def _fit(question: ParsedQuestion, sentence: ParsedText) -> float:
    words = sum(bool(word.readings & sentence.readings) for word in question.words)
    names = sum(_names(word, sentence, question) for word in question.names)
    return (words + NAME_BONUS * names) / max(len(question.words) + NAME_BONUS * len(question.names), 1.0)


def _weight(word: ParsedWord) -> int:
    """What is asked about is mostly a noun; English words that look like verbs count once."""
    if word.folded.isascii():
        return 1 if _VERBAL.search(word.folded) else 2
    return 1 if is_verb(word.folded) or _ADJECTIVE.search(word.folded) else 2


def _names(name: ParsedWord, text: ParsedText, question: ParsedQuestion) -> bool:
    """Whether the text has this name on its own: Verkhnerechensk University is not Verkhnerechensk."""
    key = key_of(name.text)
    return any(
        word.is_capitalised
        and (name.readings & word.readings or (key and key == key_of(word.text)))
        and not _is_part(place, name, text, question)
        for place, word in enumerate(text.words)
    )


def _is_part(place: int, name: ParsedWord, text: ParsedText, question: ParsedQuestion) -> bool:
    """Whether the word belongs to a longer name than the one asked about."""
    word = text.words[place]
    name_readings = frozenset[str]().union(*(name.readings for name in question.names))
    for beside in (*text.words[max(0, place - 1) : place], *text.words[place + 1 : place + 2]):
        if beside.is_capitalised and _touch(beside, word, text.text) and not beside.readings & name_readings:
            is_organisation = bool(beside.readings & _ORGANISATION) or beside.folded in _ORGANISATION
            if is_organisation or (name.folded in question.places and not beside.begins):
                return True
    return False


def _touch(beside: ParsedWord, other: ParsedWord, text: str) -> bool:
    first, second = sorted((beside, other), key=lambda word: word.start)
    return text[first.end : second.start] == " "


def _is_quoted(word: ParsedWord, text: str) -> bool:
    return text[max(0, word.start - 1) : word.start] in {"«", '"', "“"}
