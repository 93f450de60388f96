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
    may_be_name,
    name_readings_of,
    parse_sentences,
    parse_text,
    tells_before,
)
from telegram_assistant.language.questions.answering import brings, names_reason
from telegram_assistant.language.questions.holding import (
    dates_its_verb,
    has_subject,
    has_verb,
    has_word,
    is_verbal,
    tells_becoming,
    tells_of,
    verbs_of,
)
from telegram_assistant.language.questions.roles import acts_on
from telegram_assistant.language.questions.wanted import Wanted, WantedKind, parse_wanted
from telegram_assistant.language.sentences import is_headline

MIN_COVERAGE = 0.6
"""The share of a question's other words that one post must have."""
MIN_COVERAGE_WITHOUT_NAMES = 0.75
MIN_WORDS_WITHOUT_NAMES = 3
ROOT_SHARE = 0.5
"""How much a word of the same root counts: «закрытие» where the post has «закрыли»."""
MIN_HELD = 0.5
"""The share of a question's words that a quoted sentence has, with the one before it."""
NAME_BONUS = 0.5
WANTED_BONUS = 0.5
"""Of a sentence that surely brings what is wanted."""
MAX_CHARACTERS = 1_500
"""Per post. Words that no dictionary knows take a millisecond each, and a post may consist of them."""
MAX_QUOTED_WORDS = 60
_NEEDS_VERB = frozenset({WantedKind.PERSON, WantedKind.PLACE})
"""Such a question is answered by the sentence with its verb, and not by the next one."""
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
_CURRENCIES = frozenset({"доллар", "рубль", "dollar", "dollars"})
_COUNTING = re.compile(
    r"(?:\d|сколько|скольк\w+|миллион\w*|миллиард\w*|тысяч\w*|many|much|million|billion|thousand|"
    r"\b(?:в|in|of))\s+$",
    re.IGNORECASE,
)
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
_SOURCE = re.compile(
    r"\bпо\s+(?:словам|данным|мнению|информации|версии|оценке|оценкам)\b|\baccording\s+to\b", re.IGNORECASE
)
"""How a sentence begins that tells what was so before the news."""
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
    is_dated: bool = False
    """Whether it is about certain days, in which the newest post counts first."""


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
    """Whether that sentence brings what the question wants."""
    has_roles: bool
    """Whether the post says who acts on whom as the question does, where the question says it."""

    def answers(self, question: ParsedQuestion) -> bool:
        return self.has_wanted and self.has_roles and self.is_about(question)

    def is_about(self, question: ParsedQuestion) -> bool:
        """All names of the question in this one post, and enough of its other words; without names,
        most of the words.
        """
        if not question.names:
            min_words = MIN_WORDS_WITHOUT_NAMES - question.is_dated
            return len(question.words) >= min_words and self.coverage >= MIN_COVERAGE_WITHOUT_NAMES
        return self.has_all_names and self.coverage >= MIN_COVERAGE


@lru_cache(maxsize=1_000)
def parse_question(text: str) -> ParsedQuestion:
    parsed_text = parse_text(text)
    content = [
        word
        for word in parsed_text.words
        if word.is_content
        and (not _is_asking(word) or _is_currency(word, text))
        and not _is_source(word, text)
    ]
    names = [
        word
        for word in content
        if word.is_capitalised and (not word.begins or may_be_name(word.text) or _is_quoted(word, text))
    ]
    other_words = {word.folded: word for word in content if word not in names}
    return ParsedQuestion(
        text,
        tuple({key_of(word.text) or word.folded: word for word in names}.values()),
        tuple(other_words.values()),
        frozenset(word.folded for word in names if _PLACE.search(text[: word.start])),
        parse_wanted(parsed_text),
        _roles(parsed_text, names),
    )


def _roles(
    parsed_text: ParsedText, names: Sequence[ParsedWord]
) -> tuple[tuple[ParsedWord, ...], tuple[ParsedWord, ...]] | None:
    """Of the question's names, those whose words stand together being one, the first two,
    where one acts on the other.
    """
    whole_names: list[list[ParsedWord]] = []
    for word in names:
        if whole_names and _touch(whole_names[-1][-1], word, parsed_text.text):
            whole_names[-1].append(word)
        else:
            whole_names.append([word])
    if len(whole_names) < 2:  # noqa: PLR2004 -- one acts on another
        return None
    first_names, second = tuple(whole_names[0]), tuple(whole_names[1])
    is_first = acts_on(parsed_text, first_names, second)
    return None if is_first is None else (first_names, second) if is_first else (second, first_names)


def match_post(question: ParsedQuestion, text: str) -> PostMatch:
    """Compares a post with a question.

    Names count in both alphabets; other words only in the question's own language.
    """
    text = text[:MAX_CHARACTERS]
    post = parse_text(text)
    named_words = [word for word in question.names if _names(word, post, question)]
    covered_weight = sum(_weight(word) * _share(word, post) for word in question.words)
    sentences = [sentence for sentence in parse_sentences(text) if sentence.text[0] not in SIGNATURES]
    fits = [_fit(question, sentence) for sentence in sentences]
    surenesses = [
        _sureness(question, sentences, fits, sentence_index) for sentence_index in range(len(sentences))
    ]
    ranked_sentences = [
        (sureness > 0, fit + WANTED_BONUS * sureness, -sentence_index)
        for sentence_index, (fit, sureness) in enumerate(zip(fits, surenesses, strict=True))
    ]
    has_wanted, fit, best_index = max(ranked_sentences, default=(False, 0.0, 0))
    return PostMatch(
        has_all_names=len(named_words) == len(question.names),
        names=len(named_words) / len(question.names) if question.names else 0.0,
        coverage=covered_weight / sum(map(_weight, question.words))
        if question.words
        else float(bool(question.names)),
        sentence=_quote_sentence(question, sentences, -best_index) if sentences else text,
        fit=fit,
        has_wanted=has_wanted,
        has_roles=_has_roles(question, sentences),
    )


def _sureness(
    question: ParsedQuestion, sentences: Sequence[ParsedText], fits: Sequence[float], sentence_index: int
) -> float:
    """How surely a sentence answers. It must name the question's subject, or follow a sentence about it."""
    is_about_it = (fits[sentence_index] > 0 and _has_name(question, sentences[sentence_index])) or (
        sentence_index > 0 and fits[sentence_index - 1] > 0
    )
    if not is_about_it or not _holds(question, sentences, sentence_index):
        return 0.0
    parsed_question = parse_text(
        " ".join((question.text, *(word.text for word in (*question.names, *question.words))))
    )
    return brings(question.wanted, parsed_question, sentences[sentence_index])


def _holds(question: ParsedQuestion, sentences: Sequence[ParsedText], sentence_index: int) -> bool:
    """Whether the sentence, with the one before it, has half of the question's words, and itself the verb,
    the subject or the date of the verb that this kind of question needs.
    """
    sentence, before = (
        sentences[sentence_index],
        sentences[sentence_index - 1 : sentence_index] if sentence_index else (),
    )
    if sentence.text.rstrip().endswith("?") or tells_before(sentence.text):
        return False
    if question.wanted.kind is WantedKind.CAUSE and not names_reason(sentence):
        before = ()
    held_weight = sum(
        _weight(word) for word in question.words if any(has_word(word, text) for text in (sentence, *before))
    )
    if held_weight < MIN_HELD * sum(map(_weight, question.words)):
        return False
    verbs = verbs_of(question.text, question.words)
    if question.wanted.kind is WantedKind.CONFIRMATION:
        parsed_text = parse_text(question.text)
        return (
            has_verb(verbs, sentence)
            and _has_name(question, sentence)
            and has_subject(parsed_text, question.names, sentence, place_names=question.places)
        )
    if question.wanted.kind is WantedKind.TIME:
        return dates_its_verb(verbs, sentence)
    if not tells_becoming(question.text, sentence) or not tells_of(question.text, question.words, sentence):
        return False
    return question.wanted.kind not in _NEEDS_VERB or has_verb(verbs, sentence)


def _has_roles(question: ParsedQuestion, sentences: Sequence[ParsedText]) -> bool:
    if question.roles is None:
        return True
    roles = {acts_on(sentence, *question.roles) for sentence in sentences}
    return True in roles and False not in roles


def _quote_sentence(question: ParsedQuestion, sentences: Sequence[ParsedText], sentence_index: int) -> str:
    """The sentence; one that cannot stand alone, with the sentence before it."""
    sentence, before = sentences[sentence_index], sentences[sentence_index - 1] if sentence_index else None
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
    """A question is mostly about nouns: they count twice, and words like verbs or adjectives once."""
    return 1 if is_verbal(word.folded) or _ADJECTIVE.search(word.folded) else 2


def _share(word: ParsedWord, text: ParsedText) -> float:
    """1 if the text has the word in any form, less if it has one of the same root."""
    return 1.0 if word.readings & text.readings else ROOT_SHARE if has_word(word, text) else 0.0


def _names(name: ParsedWord, text: ParsedText, question: ParsedQuestion) -> bool:
    """Whether the text has this name on its own: Verkhnerechensk University is not Verkhnerechensk."""
    return any(
        word.is_capitalised
        and (name_readings_of(name.text) & name_readings_of(word.text) or _sounds_like(name, word))
        and not _is_part(word_index, name, text, question)
        for word_index, word in enumerate(text.words)
    )


def _sounds_like(name: ParsedWord, word: ParsedWord) -> bool:
    """The same name in the other alphabet or in another case. Two English words of different length are two
    names: Pope is not Popeye.
    """
    key = key_of(name.text)
    is_english = name.folded.isascii() and word.folded.isascii()
    return (
        bool(key)
        and key == key_of(word.text)
        and (not is_english or abs(len(name.folded) - len(word.folded)) <= 1)
    )


def _is_asking(word: ParsedWord) -> bool:
    return bool(word.readings & _ASKING) or word.folded in _ASKING


def _is_source(word: ParsedWord, question: str) -> bool:
    """Whether a question only says whose words it asks for: «по словам Лосева»."""
    return any(match.start() <= word.start < match.end() for match in _SOURCE.finditer(question))


def _is_currency(word: ParsedWord, question: str) -> bool:
    """Whether a question is about the currency, and does not count in it."""
    return bool(word.readings & _CURRENCIES) and not _COUNTING.search(question[: word.start])


def _is_part(word_index: int, name: ParsedWord, text: ParsedText, question: ParsedQuestion) -> bool:
    """Whether the word belongs to a longer name than the one asked about."""
    word = text.words[word_index]
    name_readings = frozenset[str]().union(*(name.readings for name in question.names))
    for neighbour in (
        *text.words[max(0, word_index - 1) : word_index],
        *text.words[word_index + 1 : word_index + 2],
    ):
        if (
            neighbour.is_capitalised
            and neighbour.is_content
            and _touch(neighbour, word, text.text)
            and not neighbour.readings & name_readings
        ):
            is_organisation = bool(neighbour.readings & _ORGANISATION) or neighbour.folded in _ORGANISATION
            if is_organisation or (name.folded in question.places and not neighbour.begins):
                return True
    return False


def _touch(beside: ParsedWord, other: ParsedWord, text: str) -> bool:
    first_word, second = sorted((beside, other), key=lambda word: word.start)
    return text[first_word.end : second.start] == " "


def _is_quoted(word: ParsedWord, text: str) -> bool:
    return text[max(0, word.start - 1) : word.start] in {"«", '"', "“"}
