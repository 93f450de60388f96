"""Search queries: words and filters, as `parsing` reads them and as they are written again."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from telegram_assistant.domain.understanding.policy import PostSort

_PLAIN = re.compile(r"[^\s:]\S*")


class Has(StrEnum):
    """The content of a post besides text."""

    IMAGE = "image"
    VIDEO = "video"
    LINK = "link"
    FILE = "file"


def bits_of(has: Iterable[Has]) -> int:
    """The bit mask that is stored beside the words of a post."""
    return sum(1 << _HAS.index(feature) for feature in {*has})


_HAS = tuple(Has)


class SearchOrder(StrEnum):
    """Which results come first."""

    BEST = "best"
    NEWEST = "newest"


@dataclass(frozen=True, slots=True)
class Term:
    """A word or a phrase."""

    text: str
    is_phrase: bool = False
    is_excluded: bool = False

    def __str__(self) -> str:
        return ("-" if self.is_excluded else "") + (f'"{self.text}"' if self.is_phrase else self.text)

    @property
    def is_strict(self) -> bool:
        """Whether a post must match the term literally, not only by meaning."""
        return self.is_phrase or self.is_excluded


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A parsed query: one of the alternatives and all filters must match.

    Days are in the user's time zone, both ends included.
    """

    alternatives: tuple[tuple[Term, ...], ...] = ()
    channels: tuple[str, ...] = ()
    """Channels as typed: @name, id or title."""
    has: tuple[Has, ...] = ()
    languages: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    kinds: tuple[PostSort, ...] = ()
    since: date | None = None
    until: date | None = None
    with_ads: bool = False
    is_edited: bool = False
    """Only posts that were edited after publishing, as far as the tenant has seen it."""
    is_deleted: bool = False
    """Only posts that their channel has deleted, instead of those that are still there."""

    def __str__(self) -> str:
        """The query in canonical form; parsing it gives the same query."""
        return " ".join((*filter(None, [self.words]), *self._limits()))

    @property
    def words(self) -> str:
        """The words alone, with quotes, exclusions and alternatives,
        in the syntax of `websearch_to_tsquery`.
        """
        return " or ".join(" ".join(map(str, terms)) for terms in self.alternatives)

    @property
    def terms(self) -> tuple[tuple[int, Term], ...]:
        """Every term, with the number of its alternative."""
        return tuple(
            (alternative_index, term)
            for alternative_index, terms in enumerate(self.alternatives)
            for term in terms
        )

    @property
    def meaning(self) -> str:
        """The words that a post should be about, without exclusions."""
        return " ".join(term.text for terms in self.alternatives for term in terms if not term.is_excluded)

    @property
    def strict_words(self) -> str:
        """The words that even a semantic match must contain; empty: none."""
        strict = [" ".join(str(term) for term in terms if term.is_strict) for terms in self.alternatives]
        return " or ".join(strict) if all(strict) else ""

    def _limits(self) -> Iterator[str]:
        yield from (f"from:{_quote_value(channel)}" for channel in self.channels)
        yield from (f"has:{feature}" for feature in self.has)
        yield from (f"lang:{language}" for language in self.languages)
        yield from (f"tag:{_quote_value(tag)}" for tag in self.tags)
        yield from (f"kind:{kind}" for kind in self.kinds)
        if self.since is not None:
            yield f"since:{self.since.isoformat()}"
        if self.until is not None:
            yield f"until:{self.until.isoformat()}"
        if self.with_ads:
            yield "ads:yes"
        if self.is_edited:
            yield "edited:yes"
        if self.is_deleted:
            yield "deleted:yes"


def _quote_value(value: str) -> str:
    return value if _PLAIN.fullmatch(value) else f'"{value}"'
