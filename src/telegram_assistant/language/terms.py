"""The terms of a text, by which posts are compared: words, names, numbers, links and mentions as hashes.

The surroundings of a text are left out: hashtags, calls to subscribe, signatures, datelines, openings like
`breaking`. A round-up keeps no term by which it could join the stories that it sums up.
"""

import re
from itertools import pairwise
from zlib import crc32

from telegram_assistant.domain.posts.language import language_of
from telegram_assistant.domain.posts.near_copies import content_of, without_surroundings
from telegram_assistant.domain.stories.terms import StoryTerms
from telegram_assistant.language.lemmas import lemmas_in
from telegram_assistant.language.names import names_in
from telegram_assistant.language.numbers import NumberKind, numbers_in
from telegram_assistant.language.round_ups import is_round_up

MAX_CHARACTERS = 4_000
MAX_WORDS = 150
MAX_PAIRS = 200
MAX_FACTS = 40
TERMS_OF_ROUND_UP = 4
"""As many as a copy must have."""
_ADDRESS = re.compile(r"https?://[^\s)\]>»\"]+", re.IGNORECASE)
_MENTION = re.compile(r"(?<![\w@/])@([A-Za-z]\w{3,31})|t\.me/([A-Za-z]\w{3,31})")
_OWN_SITE = ("t.me/", "telegram.me/")


def terms_of(text: str, *, addresses: tuple[str, ...] = (), seen: str = "") -> StoryTerms:
    """`addresses` are links behind words; `seen` is what is written in the post's pictures.

    A round-up is known by its whole text alone, so only its copies are linked to it.
    """
    text = text[:MAX_CHARACTERS]
    bare = without_surroundings(text)
    language = (language_of(bare) or "").replace("uk", "ru")
    if is_round_up(bare):
        whole_text_terms = frozenset(
            _hash_term(f"r{number}", content_of(text).hex()) for number in range(TERMS_OF_ROUND_UP)
        )
        return StoryTerms(language=language, words=whole_text_terms, pairs=whole_text_terms)
    lemmas = lemmas_in(bare)
    numbers = numbers_in(bare)
    return StoryTerms(
        language=language,
        words=frozenset(_hash_term("w", lemma) for lemma in lemmas[:MAX_WORDS]),
        names=frozenset([_hash_term("n", name) for name in sorted(names_in(bare))][:MAX_FACTS]),
        numbers=frozenset(
            [_hash_term("v", number.value) for number in numbers if _tells(number.value, number.kind)][
                :MAX_FACTS
            ]
        ),
        pairs=frozenset(_hash_term("p", f"{lemma} {other}") for lemma, other in pairwise(lemmas[:MAX_PAIRS])),
        links=frozenset(
            _hash_term("l", address.rstrip(".,;"))
            for address in (*_ADDRESS.findall(text), *addresses)
            if not _is_own(address)
        ),
        mentions=frozenset(hash_of_username(username or other) for username, other in _MENTION.findall(text)),
        seen=frozenset(_hash_term("w", lemma) for lemma in lemmas_in(seen))
        | frozenset(_hash_term("v", number.value) for number in numbers_in(seen)),
    )


def hash_of_username(username: str) -> int:
    return _hash_term("@", username.casefold())


def _tells(value: str, kind: NumberKind) -> bool:
    """Whether a number tells posts apart: a bare 1 or 2 is in every second text."""
    return kind is not NumberKind.PLAIN or value not in {"0", "1"}


def _is_own(address: str) -> bool:
    return any(own in address for own in _OWN_SITE)


def _hash_term(kind: str, term: str) -> int:
    """As PostgreSQL's int, with a sign."""
    number = crc32(f"{kind}{term}".encode("utf-8", "surrogatepass"))
    return number - 2**32 if number >= 2**31 else number
