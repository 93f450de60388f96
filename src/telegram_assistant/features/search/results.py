"""Results of a search: posts, each with the rest of its story,
and what was searched differently than it was typed.
"""

from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.search.facets import Facets
from telegram_assistant.domain.search.snippets import Snippet
from telegram_assistant.domain.stories.visible import VisiblePost
from telegram_assistant.features.search.meaning import WordsOnly
from telegram_assistant.features.search.words import Mended, Relaxed, note_giving_up
from telegram_assistant.reasons import Reason


@dataclass(frozen=True, slots=True)
class FoundStory:
    """The story of a result, as far as the tenant sees it.

    `more` are its other posts, oldest first, each album once.
    """

    story_id: PostId
    more: tuple[VisiblePost, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """A post that matches. It is the best match of its story, if results are grouped by story."""

    post_id: PostId
    posted_at: datetime
    channel: str
    link: str
    text: str
    snippet: Snippet
    lang: str | None
    kind: str | None
    tags: tuple[str, ...]
    copies: tuple[PostId, ...]
    """Posts with the same text, which are not listed themselves."""
    by_words: bool
    by_meaning: bool
    by_names: bool
    """The post has names and numbers of the best results, and is of the same days."""
    is_edited: bool = False
    """It once had another text, as far as the tenant has seen it."""
    deleted_at: datetime | None = None
    story: FoundStory | None = None
    """None: results are not grouped by story, or the tenant sees no other post of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPage:
    """A page of results: the best match first; or the newest post first, if it was asked for or the query has
    no words.
    """

    query: str
    """The query as it was parsed; entered again, it means the same."""
    results: tuple[SearchResult, ...]
    facets: Facets
    """Counts over all posts that matched in the searched period, copies included."""
    searched_back_to: datetime | None
    """None: everything that the query asks for was searched."""
    words_only: WordsOnly | None
    relaxed: Relaxed | None
    """Which words a post needed; None: all of them."""
    mended: tuple[Mended, ...]
    """Words that no post has, with those that were searched instead."""
    gave_up: tuple[str, ...]
    """Words that no post has, and for which there was no time to look for similar ones."""
    cursor: str | None
    """The cursor of the next page; None: this is the last page."""

    @property
    def notes(self) -> tuple[Reason, ...]:
        """The differences between the typed query and the search."""
        return (
            *(correction.words for correction in self.mended),
            *(note_giving_up(typed_text) for typed_text in self.gave_up),
            *([self.relaxed.words] if self.relaxed else []),
        )
