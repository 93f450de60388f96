"""Russian lemmas from pymorphy3's dictionary."""

from functools import lru_cache

from pymorphy3 import MorphAnalyzer

from telegram_assistant.ai.local.words import Lemma, plain_lemma

NAMING = frozenset({"NOUN", "UNKN", None})


def dictionary_lemma() -> Lemma:
    """Loads the dictionary, about 15 MB; words are remembered, because people use few."""
    analyser = MorphAnalyzer()

    @lru_cache(maxsize=50_000)
    def lemma(word: str) -> tuple[str, bool]:
        if word.isascii():
            return plain_lemma(word)
        best = analyser.parse(word)[0]
        return str(best.normal_form), best.tag.POS in NAMING

    return lemma
