"""The installation's tags: a controlled vocabulary per language,
which grows by tags that several channels propose.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

LANGUAGES = ("ru", "en")
MAX_TAGS = 8
MAX_PROPOSALS = 3
"""The most proposals of one post."""
CHANNELS_THAT_AGREE = 5
TEXTS_THAT_AGREE = 5
SHORTEST_TAG, MAX_TAG_LENGTH = 2, 40
_TAG = re.compile(r"[^\W\d_][^\W_]*(?:[ -][^\W_]+){0,3}")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]+")
_LATIN = re.compile(r"[A-Za-z]+")
ENOUGH = 400


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The active tags by language, each with its topic."""

    tags: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def tags_of(self, language: str) -> Mapping[str, str]:
        return self.tags.get(language, {})

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(topic for tags in self.tags.values() for topic in tags.values()))


@dataclass(frozen=True, slots=True)
class Support:
    """How widely a tag was proposed."""

    channels: int
    texts: int
    """Number of different texts: an advertisement in fifty channels counts once."""


def language_for(text: str) -> str:
    """The language of the vocabulary for a text, whatever its own language.

    Links make any text look more Latin than it is.
    """
    beginning = text[:ENOUGH]
    cyrillic, latin = (sum(map(len, letters.findall(beginning))) for letters in (_CYRILLIC, _LATIN))
    return "ru" if cyrillic * 3 >= latin else "en"


def tag_in(proposed_text: str) -> str | None:
    """The normalised tag; None for text that cannot be a tag: addresses, sentences, numbers."""
    folded_tag = " ".join(proposed_text.removeprefix("#").replace("_", " ").split()).casefold()
    return (
        folded_tag
        if SHORTEST_TAG <= len(folded_tag) <= MAX_TAG_LENGTH and _TAG.fullmatch(folded_tag)
        else None
    )


def is_established(support: Support) -> bool:
    """Whether a proposed tag becomes active.

    Neither one channel alone nor one text in many channels can add a tag.
    """
    return support.channels >= CHANNELS_THAT_AGREE and support.texts >= TEXTS_THAT_AGREE
