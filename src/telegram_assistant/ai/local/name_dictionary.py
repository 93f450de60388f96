"""The interface to a dictionary of Russian words that knows names."""

from collections.abc import Callable
from dataclasses import dataclass

from telegram_assistant.ai.outputs import EntityKind


@dataclass(frozen=True, slots=True)
class NameWord:
    """Facts about a word that may be a name."""

    kind: EntityKind | None = None
    """The kind of entity that it names; None if it is no name."""
    is_known: bool = False
    is_given_name: bool = False
    is_surname: bool = False
    """Whether a surname or a patronymic may look like this."""
    is_place: bool = False
    """Whether a place may look like this, too."""
    is_adjective: bool = False
    is_ordinary: bool = False
    """Whether it has another meaning, too."""


@dataclass(frozen=True, slots=True)
class NameDictionary:
    """Lookups of Russian words, in lower case."""

    read: Callable[[str], NameWord]
    nominative: Callable[[tuple[str, ...], EntityKind, bool], tuple[str, ...]]
    """The words of one name of this kind in the nominative; the flag says whether it is a woman."""


NO_DICTIONARY = NameDictionary(
    read=lambda _word: NameWord(), nominative=lambda words, _kind, _is_woman: words
)
