"""Keys of all words that may be names, for an index that is asked for names:
also of words that begin a sentence.
"""

import re

from telegram_assistant.language.names import key_of

MAX_CHARACTERS = 1_500
"""The dictionary takes up to a tenth of a millisecond for a word,
and a text can be full of capital letters.
"""
_CAPITALISED = re.compile(r"(?<![\w#@/.])[A-ZА-ЯЁ][\w’'-]+")


def keys_in(text: str) -> frozenset[str]:
    return frozenset(
        key for word in _CAPITALISED.findall(text[:MAX_CHARACTERS]) if (key := key_of(word.rstrip("-’'")))
    )
