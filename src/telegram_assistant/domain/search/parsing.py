"""Parser of search queries: words and filters.

    снег метро            both words, in any form
    "снег в метро"        these words in this order
    снег or дождь         one of them
    снег -реклама         without that word
    from:@gorod_news      in this channel; its id or "its title" will do, and several mean any of them
    has:image             image, video, link or file; several mean all of them
    lang:ru  tag:погода  kind:news    several mean any of them
    since:2026-11-01  until:2026-11-30  on:yesterday    days, months, years; 7d is a week ago
    after:2026-11-01  before:2026-11-30    without the days themselves
    edited:yes  deleted:yes    changed after publishing; deleted by the channel
    ads:yes               advertising too

`channel:` is another name of `from:`. An unknown operator is refused by its name. Addresses (https://…) and
numbers after a colon (22:30, localhost:8080) are words.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date, timedelta
from difflib import get_close_matches

from telegram_assistant.domain.days import days_in
from telegram_assistant.domain.posts.text import storable
from telegram_assistant.domain.search.query import Has, Query, Term
from telegram_assistant.domain.understanding.policy import PostSort
from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason

MAX_CHARACTERS = 1000
MAX_TERMS = 50


def parse_query(typed_text: str, *, today: date) -> Query:
    """Parses a query.

    Raises Rejected, with a correction, if an operator's value makes no sense or the query is too long.
    """
    if len(typed_text) > MAX_CHARACTERS:
        raise Rejected(
            Reason(
                "query_too_long",
                "the query has more than {max_characters} characters; use fewer words",
                max_characters=MAX_CHARACTERS,
            )
        )
    reading = _Reading(today)
    for token in _TOKEN.finditer(storable(typed_text)):
        reading.take(bool(token["minus"]), token["name"], token["quoted"], token["bare"])
    return reading.build_query()


_TOKEN = re.compile(
    r'(?P<minus>-+)?(?:(?P<name>[A-Za-z]+):(?=[^\s:]))?(?:"(?P<quoted>[^"]*)"?|(?P<bare>[^\s"]+))'
)
_LANGUAGE = re.compile(r"[a-z]{2,3}")
_LETTER = re.compile(r"\w")
OR = {"or", "или"}
YES, NO = {"yes", "да"}, {"no", "нет"}
ADDRESSES = {"http", "https", "ftp", "mailto", "tel", "tg", "magnet"}
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
    is_edited: bool = False
    is_deleted: bool = False

    def take(
        self,
        is_excluded: bool,  # noqa: FBT001 -- a group of the token, as the others
        name: str | None,
        quoted_text: str | None,
        bare: str | None,
    ) -> None:
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
            operator(self, " ".join((quoted_text if quoted_text is not None else bare or "").split()))
        elif bare is not None and not name and bare.endswith(":") and bare[:-1].lower() in _OPERATORS:
            raise Rejected(
                Reason(
                    "operator_needs_value",
                    "{operator} needs a value right after it, as in {example}",
                    operator=bare,
                    example=_EXAMPLES[bare[:-1].lower()],
                )
            )
        elif name and _is_operator(name, quoted_text, bare):
            raise Rejected(_unknown_operator(name, quoted_text if quoted_text is not None else bare or ""))
        elif quoted_text is not None:
            if name:
                self._word(name, is_excluded=is_excluded)
            self._add(Term(" ".join(quoted_text.split()), is_phrase=True, is_excluded=is_excluded))
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

    def take_days(self, value: str, *, is_begin: bool, is_end: bool) -> None:
        first_day, last_day = days_in(value, self.today)
        if is_begin:
            self.begin(first_day)
        if is_end:
            self.end(last_day)

    def begin(self, day: date) -> None:
        self.since = day if self.since is None else max(day, self.since)

    def end(self, day: date) -> None:
        self.until = day if self.until is None else min(day, self.until)

    def build_query(self) -> Query:
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
            is_edited=self.is_edited,
            is_deleted=self.is_deleted,
        )


def _is_operator(name: str, quoted_text: str | None, bare: str | None) -> bool:
    """Whether `name:value` was meant as an operator: no address, no port, and no drive."""
    value = bare if quoted_text is None else quoted_text
    return (
        len(name) > 1
        and name.lower() not in ADDRESSES
        and not (value or "").startswith("//")
        and not (value or "").isdecimal()
    )


def _unknown_operator(name: str, value: str) -> Reason:
    example = MEANT.get(f"{name}:{value}".lower()) or MEANT.get(name.lower())
    if example is None:
        similar_names = get_close_matches(name.lower(), _EXAMPLES, 1)
        example = _EXAMPLES[similar_names[0]] if similar_names else ", ".join(_EXAMPLES.values())
    return Reason(
        "operator_unknown",
        "there is no filter {operator}: in a search; write {example}, or {quoted} for the words themselves",
        operator=name,
        example=example,
        quoted=f'"{name}:{value}"',
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
                    "has:{value} is unknown; write has:{known}",
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
                    "kind:{value} is unknown; write kind:{known}",
                    value=kind,
                    known=", kind:".join(PostSort),
                )
            )
        reading.kinds.append(PostSort(kind))
        reading.with_ads |= kind == PostSort.ADVERTISING


def _ads(reading: _Reading, value: str) -> None:
    if value.lower() not in {*YES, *NO}:
        raise Rejected(
            Reason("ads_needs_yes_or_no", "ads: needs yes or no; without it, advertising is hidden")
        )
    reading.with_ads = value.lower() in YES


def _take_edited(reading: _Reading, value: str) -> None:
    if value.lower() not in YES:
        raise Rejected(Reason("edited_needs_yes", "write edited:yes for posts that were edited"))
    reading.is_edited = True


def _take_deleted(reading: _Reading, value: str) -> None:
    if value.lower() not in {*YES, *NO}:
        raise Rejected(
            Reason("deleted_needs_yes", "write deleted:yes for posts that their channel has deleted")
        )
    reading.is_deleted = value.lower() in YES


def _since(reading: _Reading, value: str) -> None:
    reading.take_days(value, is_begin=True, is_end=False)


def _until(reading: _Reading, value: str) -> None:
    reading.take_days(value, is_begin=False, is_end=True)


def _after(reading: _Reading, value: str) -> None:
    reading.begin(days_in(value, reading.today)[1] + timedelta(days=1))


def _before(reading: _Reading, value: str) -> None:
    reading.end(days_in(value, reading.today)[0] - timedelta(days=1))


def _on(reading: _Reading, value: str) -> None:
    reading.take_days(value, is_begin=True, is_end=True)


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
    "channel": _from,
    "after": _after,
    "before": _before,
    "edited": _take_edited,
    "deleted": _take_deleted,
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
    "channel": "channel:@gorod_news",
    "after": "after:2026-11-01",
    "before": "before:2026-11-30",
    "edited": "edited:yes",
    "deleted": "deleted:yes",
}
MEANT = {
    "is:edited": "edited:yes",
    "is:changed": "edited:yes",
    "is:deleted": "deleted:yes",
    "is:removed": "deleted:yes",
    "is:ad": "ads:yes",
    **dict.fromkeys(("in", "by", "author", "user", "chat", "source"), _EXAMPLES["from"]),
    **dict.fromkeys(("filter", "media", "with"), _EXAMPLES["has"]),
    **dict.fromkeys(("type", "category"), _EXAMPLES["kind"]),
    **dict.fromkeys(("topic", "hashtag"), _EXAMPLES["tag"]),
    **dict.fromkeys(("date", "day", "during", "when"), _EXAMPLES["on"]),
    **dict.fromkeys(("newer", "start", "begin"), _EXAMPLES["after"]),
    **dict.fromkeys(("older", "end", "to"), _EXAMPLES["before"]),
}
"""Operators of other programs, with what they are called here."""


def _each_once[T](values: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(values))
