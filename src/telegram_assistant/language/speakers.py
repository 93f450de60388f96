"""Speakers: the speaker of a statement, found beside a verb of speech or after "according to"."""

import re

from telegram_assistant.language.parsed_text import ParsedText, ParsedWord, is_verb

_VERBS_WORDS = """
сказать говорить заявить заявлять сообщить сообщать рассказать рассказывать признать признавать признаться
отметить отмечать подчеркнуть добавить добавлять объяснить объяснять пояснить пояснять уточнить уточнять
пообещать обещать просить попросить предупредить предупреждать подтвердить утверждать ответить отвечать
написать писать передать напомнить прокомментировать шутить вспоминать вспомнить указать полагать считать
опровергнуть цитировать советовать посоветовать жаловаться пожаловаться радоваться
"""
_VERBS = frozenset(_VERBS_WORDS.split())
_ENGLISH_VERBS_WORDS = """
say says said tell tells told admit admits admitted promise promises promised ask asks asked warn warns warned
explain explains explained add adds added claim claims claimed announce announced announces report reports
reported confirm confirms confirmed note notes noted insist insists insisted state states stated argue argues
argued recall recalls recalled joke joked complain complained reply replied advise advised write writes wrote
"""
_ENGLISH_VERBS = frozenset(_ENGLISH_VERBS_WORDS.split())
_ACCORDING = re.compile(
    r"\b(?:по (?:словам|данным|информации|мнению|сообщению|версии)|according to)\s+", re.IGNORECASE
)
_CLAUSE_END = re.compile(r"[,.:;!?…«»\"“”—–()]")
_STATES = re.compile(r"\s*(?:,?\s*(?:что|that)\b|:|,\s)", re.IGNORECASE)
_ENDS_STATEMENT = re.compile(r"(?:[,»”\"]\s*[—–-]?\s*|,\s[^,.«»\"“”]{0,60})$")
_QUOTED = re.compile(r"«[^»]*»|“[^”]*”|\"[^\"]*\"")
MAX_WORDS = 5


def is_speech(word: ParsedWord) -> bool:
    return (
        word.folded in _ENGLISH_VERBS
        if word.folded.isascii()
        else bool(word.readings & _VERBS) and (is_verb(word.folded) or word.folded in _VERBS)
    )


def has_speech(sentence: ParsedText) -> bool:
    """Whether the sentence says outside its quotations that somebody says something."""
    outside = outside_quotes(sentence)
    return any(is_speech(word) for word in outside) or _ACCORDING.search(sentence.text) is not None


def outside_quotes(sentence: ParsedText) -> tuple[ParsedWord, ...]:
    quoted_spans = [match.span() for match in _QUOTED.finditer(sentence.text)]
    return tuple(
        word for word in sentence.words if not any(start <= word.start < end for start, end in quoted_spans)
    )


def speakers_in(sentence: ParsedText) -> tuple[ParsedWord, ...]:
    """The words that name who speaks; none if it is a pronoun, or nobody."""
    outside = outside_quotes(sentence)
    speakers: list[ParsedWord] = []
    for match in _ACCORDING.finditer(sentence.text):
        speakers += _clause(
            [word for word in outside if word.start >= match.end()], sentence.text, match.end()
        )
    for index, word in enumerate(outside):
        if not is_speech(word) or not _is_statement(word, sentence.text):
            continue
        before = list(reversed(_clause_back(outside[:index], sentence.text, word.start)))
        speakers += before or _clause(list(outside[index + 1 :]), sentence.text, word.end)
    return tuple(dict.fromkeys(speakers))


def _is_statement(verb: ParsedWord, text: str) -> bool:
    """Whether something is stated, in contrast to "users complain about
    the service" or «за новинку просят 270 долларов».
    """
    return bool(
        _QUOTED.search(text) or _STATES.match(text, verb.end) or _ENDS_STATEMENT.search(text[: verb.start])
    )


def _clause(words: list[ParsedWord], text: str, start: int) -> list[ParsedWord]:
    clause: list[ParsedWord] = []
    for word in words[:MAX_WORDS]:
        if _CLAUSE_END.search(text[start : word.start]):
            break
        start = word.end
        if word.is_content and not is_verb(word.folded):
            clause.append(word)
    return clause


def _clause_back(words: tuple[ParsedWord, ...], text: str, end: int) -> list[ParsedWord]:
    clause: list[ParsedWord] = []
    for word in reversed(words[-MAX_WORDS:]):
        if _CLAUSE_END.search(text[word.end : end]):
            break
        end = word.start
        if word.is_content and not is_verb(word.folded):
            clause.append(word)
    return clause
