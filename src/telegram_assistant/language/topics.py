"""Whether a text touches a topic that somebody wrote down: every word of the topic,
in any form and alphabet.
"""

from functools import lru_cache

from telegram_assistant.language.lemmas import WORD, content_lemma, lemmas_in
from telegram_assistant.language.names import key_of, names_in
from telegram_assistant.language.parsed_text import is_cyrillic

MAX_CACHED = 500


type _Words = tuple[frozenset[str], frozenset[str]]
"""The lemmas of a text, and the names in it."""


class TextMemory:
    """Reads each text once, however many topics it is compared with, and remembers it as long as it lives."""

    def __init__(self) -> None:
        self._words: dict[str, _Words] = {}
        self._alphabets: dict[str, bool] = {}

    def is_cyrillic(self, text: str) -> bool:
        """Whether the text is in Cyrillic letters."""
        known_answer = self._alphabets.get(text)
        if known_answer is None:
            known_answer = self._alphabets[text] = is_cyrillic(text)
        return known_answer

    def touches(self, text: str, topic: str) -> bool:
        """Whether the text touches the topic. One without a word that means something touches nothing."""
        words = self._words.get(text)
        if words is None:
            words = self._words[text] = _read(text)
        return _touch(words, topic)


def _touch(words: _Words, topic: str) -> bool:
    lemmas, names = words
    topic_words = _words_of_topic(topic)
    return bool(topic_words) and all(lemma in lemmas or name in names for lemma, name in topic_words)


@lru_cache(maxsize=MAX_CACHED)
def _words_of_topic(topic: str) -> tuple[tuple[str, str], ...]:
    """The lemma of each word that means something, and its key as a name."""
    return tuple(
        (lemma, key_of(word)) for word in WORD.findall(topic) if (lemma := content_lemma(word.casefold()))
    )


def _read(text: str) -> _Words:
    return frozenset(lemmas_in(text)), names_in(text)
