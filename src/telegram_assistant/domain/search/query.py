"""Parser of search queries: words and filters.

    снег метро            both words, in any form
    "снег в метро"        these words in this order
    снег or дождь         one of them
    снег -реклама         without that word
    from:@gorod_news      in this channel; its id or "its title" will do, and several mean any of them
    has:image             image, video, link or file; several mean all of them
    lang:ru  tag:погода  kind:news    several mean any of them
    since:2026-11-01  until:2026-11-30  on:yesterday    days, months, years; 7d is a week ago
    ads:yes               advertising too

An unknown operator is an ordinary word.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from telegram_assistant.domain.days import days_in
from telegram_assistant.domain.posts.text import storable
from telegram_assistant.domain.understanding.policy import PostSort
from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason

MAX_CHARACTERS = 1000
MAX_TERMS = 50


class Has(StrEnum):
    """What a post contains besides text."""

    IMAGE = "image"
    VIDEO = "video"
    LINK = "link"
    FILE = "file"


def bits_of(has: Iterable[Has]) -> int:
    """The bit mask that is stored beside the words of a post."""
    return sum(1 << _HAS.index(feature) for feature in {*has})


_HAS = tuple(Has)


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
        return tuple((number, term) for number, terms in enumerate(self.alternatives) for term in terms)

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
        yield from (f"from:{_quoted(channel)}" for channel in self.channels)
        yield from (f"has:{feature}" for feature in self.has)
        yield from (f"lang:{language}" for language in self.languages)
        yield from (f"tag:{_quoted(tag)}" for tag in self.tags)
        yield from (f"kind:{kind}" for kind in self.kinds)
        if self.since is not None:
            yield f"since:{self.since.isoformat()}"
        if self.until is not None:
            yield f"until:{self.until.isoformat()}"
        if self.with_ads:
            yield "ads:yes"


def parse_query(typed: str, *, today: date) -> Query:
    """Parses a query.

    Raises Rejected, with a correction, if an operator's value makes no sense or the query is too long.
    """
    if len(typed) > MAX_CHARACTERS:
        raise Rejected(
            Reason(
                "query_too_long",
                "the query has more than {max_characters} characters; use fewer words",
                max_characters=MAX_CHARACTERS,
            )
        )
    reading = _Reading(today)
    for token in _TOKEN.finditer(storable(typed)):
        reading.take(bool(token["minus"]), token["name"], token["quoted"], token["bare"])
    return reading.done()


_TOKEN = re.compile(
    r'(?P<minus>-+)?(?:(?P<name>[A-Za-z]+):(?=[^\s:]))?(?:"(?P<quoted>[^"]*)"?|(?P<bare>[^\s"]+))'
)
_LANGUAGE = re.compile(r"[a-z]{2,3}")
_LETTER = re.compile(r"\w")
_PLAIN = re.compile(r"[^\s:]\S*")
OR = {"or", "или"}
SAME_AS = {"photo": "image", "picture": "image", "url": "link", "document": "file"}


@dataclass(slots=True)
class _Reading:
    """The state of the parser."""

    today: date
    alternatives: list[list[Term]] = field(default_factory=lambda: [[]])
    channels: list[str] = field(default_factory=list)
    has: list[Has] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    kinds: list[PostSort] = field(default_factory=list)
    since: date | None = None
    until: date | None = None
    with_ads: bool = False

    def take(self, is_excluded: bool, name: str | None, quoted: str | None, bare: str | None) -> None:  # noqa: FBT001 -- the groups of one token
        operator = _OPERATORS.get((name or "").lower())
        if operator is not None:
            if is_excluded:
                raise Rejected(
                    Reason(
                        "only_words_excluded",
                        "only words can be excluded; write {operator}: without the minus",
                        operator=name or "",
                    )
                )
            operator(self, " ".join((quoted if quoted is not None else bare or "").split()))
        elif bare is not None and not name and bare.endswith(":") and bare[:-1].lower() in _OPERATORS:
            raise Rejected(
                Reason(
                    "operator_needs_value",
                    "{operator} needs a value right after it, as in {example}",
                    operator=bare,
                    example=_EXAMPLES[bare[:-1].lower()],
                )
            )
        elif quoted is not None:
            if name:
                self._word(name, is_excluded=is_excluded)
            self._add(Term(" ".join(quoted.split()), is_phrase=True, is_excluded=is_excluded))
        else:
            self._word(f"{name}:{bare}" if name else bare or "", is_excluded=is_excluded)

    def _word(self, word: str, *, is_excluded: bool) -> None:
        if word.casefold() in OR and not is_excluded:
            self.alternatives.append([])
        else:
            self._add(Term(word, is_excluded=is_excluded))

    def _add(self, term: Term) -> None:
        if _LETTER.search(term.text):
            self.alternatives[-1].append(term)

    def take_days(self, value: str, *, begins: bool, ends: bool) -> None:
        first, last = days_in(value, self.today)
        if begins:
            self.since = first if self.since is None else max(first, self.since)
        if ends:
            self.until = last if self.until is None else min(last, self.until)

    def done(self) -> Query:
        if self.since and self.until and self.since > self.until:
            raise Rejected(
                Reason(
                    "since_after_until",
                    "since:{since} is after until:{until}; swap them",
                    since=str(self.since),
                    until=str(self.until),
                )
            )
        if sum(map(len, self.alternatives)) > MAX_TERMS:
            raise Rejected(
                Reason(
                    "query_too_many_words",
                    "the query has more than {max_words} words; use fewer",
                    max_words=MAX_TERMS,
                )
            )
        return Query(
            alternatives=tuple(tuple(terms) for terms in self.alternatives if terms),
            channels=_each_once(self.channels),
            has=_each_once(self.has),
            languages=_each_once(self.languages),
            tags=_each_once(self.tags),
            kinds=_each_once(self.kinds),
            since=self.since,
            until=self.until,
            with_ads=self.with_ads,
        )


def _from(reading: _Reading, value: str) -> None:
    if not _LETTER.search(value):
        raise Rejected(
            Reason("from_needs_channel", 'from: needs a channel, as in from:@gorod_news or from:"Its title"')
        )
    reading.channels.append(value)


def _has(reading: _Reading, value: str) -> None:
    for word in value.lower().split(","):
        name = SAME_AS.get(word, word)
        if name not in set(Has):
            raise Rejected(
                Reason(
                    "has_unknown",
                    "has:{value} is not known; write has:{known}",
                    value=word,
                    known=", has:".join(Has),
                )
            )
        reading.has.append(Has(name))


def _lang(reading: _Reading, value: str) -> None:
    for language in value.lower().split(","):
        if not _LANGUAGE.fullmatch(language):
            raise Rejected(
                Reason("lang_needs_code", "lang: needs a two-letter code, as in lang:ru or lang:en")
            )
        reading.languages.append(language)


def _tag(reading: _Reading, value: str) -> None:
    tag = " ".join(value.removeprefix("#").replace("_", " ").casefold().split())
    if not _LETTER.search(tag):
        raise Rejected(
            Reason("tag_needs_value", 'tag: needs a tag, as in tag:погода or tag:"public transport"')
        )
    reading.tags.append(tag)


def _kind(reading: _Reading, value: str) -> None:
    for kind in value.lower().split(","):
        if kind not in set(PostSort):
            raise Rejected(
                Reason(
                    "kind_unknown",
                    "kind:{value} is not known; write kind:{known}",
                    value=kind,
                    known=", kind:".join(PostSort),
                )
            )
        reading.kinds.append(PostSort(kind))
        reading.with_ads |= kind == PostSort.ADVERTISING


def _ads(reading: _Reading, value: str) -> None:
    if value.lower() not in {"yes", "no"}:
        raise Rejected(
            Reason("ads_needs_yes_or_no", "ads: needs yes or no; without it, advertising is hidden")
        )
    reading.with_ads = value.lower() == "yes"


def _since(reading: _Reading, value: str) -> None:
    reading.take_days(value, begins=True, ends=False)


def _until(reading: _Reading, value: str) -> None:
    reading.take_days(value, begins=False, ends=True)


def _on(reading: _Reading, value: str) -> None:
    reading.take_days(value, begins=True, ends=True)


_OPERATORS: dict[str, Callable[[_Reading, str], None]] = {
    "from": _from,
    "has": _has,
    "lang": _lang,
    "tag": _tag,
    "kind": _kind,
    "ads": _ads,
    "since": _since,
    "until": _until,
    "on": _on,
}
_EXAMPLES = {
    "from": "from:@gorod_news",
    "has": "has:image",
    "lang": "lang:ru",
    "tag": "tag:погода",
    "kind": "kind:news",
    "ads": "ads:yes",
    "since": "since:2026-11-01",
    "until": "until:2026-11-30",
    "on": "on:yesterday",
}


def _quoted(value: str) -> str:
    return value if _PLAIN.fullmatch(value) else f'"{value}"'


def _each_once[T](values: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(values))
