"""Whom a post names as the source of its news: «по данным РИА», "Reuters reports", "via @channel"."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from telegram_assistant.language.names import key_of

MAX_CHARACTERS = 4_000
_NAME = (
    r"(?:@\w{4,32}|[«“\"][^»”\"\n]{2,40}[»”\"]"
    r"|(?<![\w-])[A-ZА-ЯЁ][\w-]{1,40}(?:[ \u00a0][A-ZА-ЯЁ][\w-]{1,40}){0,2})"
)
_KIND = (
    r"(?:(?:информационн\w+|новостн\w+)\s)?"
    r"(?:(?:агентств|газет|издани|журнал|телеканал|канал|портал|пресс-служб)\w*\s)?"
)
_ENGLISH_KIND = r"(?:the\s)?(?:(?:news\s)?agency\s|newspaper\s|channel\s)?"
_NAMED = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?i:по (?:данным|информации|сообщению|словам)|со ссылкой на|источник:)\s{_KIND}({_NAME})",
        rf"(?i:сообщ|пиш|написа|переда|расска|заяв|уточн)\w+\s{_KIND}({_NAME})",
        rf"({_NAME})\s(?:сообщ|пиш|написа|переда[её]|расска|заяв|уточн)\w+",
        rf"(?i:according to|citing|told|reported by|wrote|says|said|via|source:)\s{_ENGLISH_KIND}({_NAME})",
        rf"({_NAME})\s(?:first\s)?(?:reports|reported|writes|wrote|says|said)\b",
    )
)
_WORD = re.compile(r"[\w-]+")


@lru_cache(maxsize=2_000)
def sources_in(text: str) -> Mapping[str, str]:
    """The sources that a text names, as it writes them, by the keys of their words."""
    text = text[:MAX_CHARACTERS]
    names = [match[1] for pattern in _NAMED for match in pattern.finditer(text)]
    return {key: name for name in reversed(names) for key in _keys_of(name)}


def common_source(texts: Sequence[str]) -> str:
    """The source that all of them name, in its shortest form, which has no ending; empty if there is none."""
    first, *others = (sources_in(text) for text in texts)
    common = [key for key in first if all(key in names_by_key for names_by_key in others)]
    names = [_bare(names_by_key[key]) for key in common[:1] for names_by_key in (first, *others)]
    return min(names, key=lambda name: (len(name), name), default="")


def _keys_of(name: str) -> Iterable[str]:
    if name.startswith("@"):
        return (name.casefold(),)
    return filter(None, map(key_of, _WORD.findall(name)))


def _bare(name: str) -> str:
    return name.strip('«»“”"')
