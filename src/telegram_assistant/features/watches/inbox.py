"""The inbox of alerts: a line for each event, in the order of the events, with the words that matched."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from uuid import UUID

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.search.parsing import parse_query
from telegram_assistant.domain.search.snippets import MAX_MARKS, Snippet
from telegram_assistant.domain.stories.visible import VisibleStory
from telegram_assistant.domain.timestamps import MomentCursor
from telegram_assistant.domain.watches.watch import AlertKind, WatchKind
from telegram_assistant.errors import Rejected
from telegram_assistant.features.stories.stories import visible_stories
from telegram_assistant.language.parsed_text import fold, readings_of
from telegram_assistant.language.sentences import split_sentences
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.watches.alerts import Alert
from telegram_assistant.summaries.cleaning import without_openings

MAX_HEADLINE = 140
MAX_TEXT = 500
MIN_WORDS = 3
"""Of a headline: what comes before the first sentence with as many is an opening, "Analysis."."""
SAME_BEGINNING = 3
"""Letters that a word and the word of a watch have in common; only such words are looked up."""
FOLDED_KINDS = frozenset({AlertKind.POSTED, AlertKind.MENTIONED, AlertKind.FOLLOWED})
"""Alerts about new posts of one story are one line; an edit or a deletion is news of its own."""
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")


@dataclass(frozen=True, slots=True)
class InboxLine:
    """An alert, and those of the same watch about other posts of its story.

    A watch raises one alert per story, but stories may become one later.
    """

    alert: Alert
    headline: Snippet
    text: Snippet
    """The text after the headline; empty if there is none."""
    matches: tuple[str, ...]
    """The words that matched, as they are written in the post."""
    others: tuple[Alert, ...] = ()
    more_channels: int = 0
    """Other channels that tell the story, as the tenant sees it."""


@dataclass(frozen=True, slots=True)
class InboxPage:
    """A page of the inbox, the newest event first; `next` is None on the last page."""

    lines: tuple[InboxLine, ...]
    next: MomentCursor | None

    @property
    def raised_until(self) -> datetime | None:
        """When the last of these alerts was raised."""
        return max(
            (alert.created_at for line in self.lines for alert in (line.alert, *line.others)), default=None
        )


async def read_inbox(
    *,
    stores: TenantStores,
    limit: int,
    watch_id: UUID | None = None,
    unread_only: bool = False,
    after: MomentCursor | None = None,
) -> InboxPage:
    """At most `limit` alerts, in fewer lines if several are about one story."""
    alerts = await stores.alerts.by_event(
        limit=limit + 1, watch_id=watch_id, unread_only=unread_only, after=after
    )
    page = alerts[:limit]
    visible = [alert.post_id for alert in page if alert.post_id and alert.posted_at]
    stories = await visible_stories(visible, stores=stores)
    cursor = MomentCursor(page[-1].happened_at, page[-1].alert_id) if len(alerts) > limit else None
    return InboxPage(
        tuple(_with_story(line, stories) for line in _fold_lines(page, stories)),
        cursor,
    )


def make_line(alert: Alert) -> InboxLine:
    """The line of one alert alone."""
    words = query_words(alert.watch_kind, alert.watch_query)
    sentences = split_sentences(alert.text)
    sentence_index = _place_of_headline(sentences, words)
    headline = _mark(sentences[sentence_index] if sentences else "", words, MAX_HEADLINE)
    text = _mark(" ".join(sentences[sentence_index + (not headline.is_cut_after) :]), words, MAX_TEXT)
    marked = [snippet.text[start:end] for snippet in (headline, text) for start, end in snippet.marks]
    return InboxLine(alert, headline, text, tuple(dict.fromkeys(marked)))


def _place_of_headline(sentences: Sequence[str], words: Sequence[str]) -> int:
    """Of the first sentence with a word of the watch, or that is no opening."""
    opening_count = len(sentences) - len(without_openings(list(sentences)))
    return next(
        (
            sentence_index
            for sentence_index, text in enumerate(sentences)
            if (sentence_index >= opening_count and len(text.split()) >= MIN_WORDS)
            or any(_is_meant(word, words) for word in _WORD.findall(text))
        ),
        0,
    )


@lru_cache(1000)
def query_words(kind: WatchKind | None, query: str) -> tuple[str, ...]:
    """The words that a watch looks for; none of a watch by meaning, for silence or for growing stories."""
    if kind not in {WatchKind.WORDS, WatchKind.MENTION, WatchKind.CHANGES}:
        return ()
    try:
        parsed_query = parse_query(query, today=datetime.now(UTC).date())
    except Rejected:
        return ()
    return tuple(dict.fromkeys(fold(word) for word in _WORD.findall(parsed_query.meaning)))


def _fold_lines(alerts: Sequence[Alert], stories: Mapping[PostId, VisibleStory]) -> list[list[Alert]]:
    lines: dict[tuple[UUID | None, PostId] | UUID, list[Alert]] = {}
    for alert in alerts:
        story = stories.get(alert.post_id) if alert.post_id and alert.kind in FOLDED_KINDS else None
        lines.setdefault((alert.watch_id, story.story_id) if story else alert.alert_id, []).append(alert)
    return list(lines.values())


def _with_story(alerts: Sequence[Alert], stories: Mapping[PostId, VisibleStory]) -> InboxLine:
    alert = alerts[0]
    story = stories.get(alert.post_id) if alert.post_id else None
    more_channels = len(story.channel_ids) - 1 if story else 0
    return replace(make_line(alert), others=tuple(alerts[1:]), more_channels=more_channels)


def _mark(text: str, words: Sequence[str], max_letters: int) -> Snippet:
    end = len(text)
    if end > max_letters:
        end = text.rfind(" ", max_letters // 2, max_letters)
        end = max_letters if end < 0 else end
    visible = text[:end]
    marks = [match.span() for match in _WORD.finditer(visible) if _is_meant(match.group(), words)]
    return Snippet(visible, tuple(marks[:MAX_MARKS]), is_cut_after=end < len(text))


def _is_meant(word: str, words: Sequence[str]) -> bool:
    folded_text = fold(word)
    return any(
        folded_text == wanted_word
        or (
            folded_text[:SAME_BEGINNING] == wanted_word[:SAME_BEGINNING]
            and bool(readings_of(folded_text) & readings_of(wanted_word))
        )
        for wanted_word in words
    )
