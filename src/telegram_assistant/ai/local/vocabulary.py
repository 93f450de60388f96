"""The packaged vocabulary: the initial tags of every installation, and the words that indicate each tag."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from telegram_assistant.domain.understanding.vocabulary import LANGUAGES, Vocabulary

WEAK = "~"
"""Prefix of a word that is only a weak sign of its tag."""


@cache
def _load_packaged(language: str) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """The words, by topic and tag."""
    read = tomllib.loads(
        (files("telegram_assistant.ai") / "vocabulary" / f"{language}.toml").read_text(encoding="utf-8")
    )
    return {
        topic: {tag: _words(tag, listed_words) for tag, listed_words in tags.items()}
        for topic, tags in read.items()
    }


def _words(tag: str, listed_words: str) -> tuple[str, ...]:
    words = tuple(word for part in listed_words.split(",") if (word := part.strip()))
    return words if WEAK + tag in words else (tag, *words)


@cache
def packaged_words(language: str) -> Mapping[str, tuple[str, ...]]:
    """The words by tag, in the order of the file; the first tag of a topic names the topic itself."""
    return {tag: words for tags in _load_packaged(language).values() for tag, words in tags.items()}


@cache
def packaged_vocabulary() -> Vocabulary:
    return Vocabulary(
        {
            language: {tag: topic for topic, tags in _load_packaged(language).items() for tag in tags}
            for language in LANGUAGES
        }
    )


@cache
def words_in_other_language(tag: str) -> tuple[str, ...]:
    """The same tag in the other language, and the words that indicate it surely; empty for words that are no
    packaged tag.
    """
    for language, other in zip(LANGUAGES, reversed(LANGUAGES), strict=True):
        for topic, tags in _load_packaged(language).items():
            if tag.casefold() in tags:
                tag_index = list(tags).index(tag.casefold())
                words = list(_load_packaged(other)[topic].values())[tag_index]
                return tuple(word for word in words if not word.startswith(WEAK))
    return ()
