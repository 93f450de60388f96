"""Whether a text touches a topic that somebody wrote down: every word of the topic,
in any form and alphabet.
"""

from functools import lru_cache

from telegram_assistant.language.lemmas import WORD, content_lemma, lemmas_in
from telegram_assistant.language.names import key_of, names_in

MAX_CACHED = 500


@lru_cache(maxsize=MAX_CACHED)
def touches(text: str, topic: str) -> bool:
    """A topic without a word that means something touches nothing."""
    words = [word for word in WORD.findall(topic) if content_lemma(word.casefold())]
    lemmas, names = _words_of(text)
    return bool(words) and all(
        content_lemma(word.casefold()) in lemmas or key_of(word) in names for word in words
    )


@lru_cache(maxsize=MAX_CACHED)
def _words_of(text: str) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(lemmas_in(text)), names_in(text)
