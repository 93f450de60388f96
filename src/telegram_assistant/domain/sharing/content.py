"""The content of a copy of a story, post, answer or digest, with its source posts."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from telegram_assistant.domain.ids import PostId
from telegram_assistant.reasons import Reason


@dataclass(frozen=True, kw_only=True)
class SourcePost:
    """A post that a copy is from, as it was when the copy was made."""

    post_id: PostId
    channel: str
    link: str
    posted_at: datetime
    text: str
    revision: int = 1
    deleted_at: datetime | None = None
    is_private: bool = False
    """Nobody can read its channel without an invitation."""

    @cached_property
    def text_hash(self) -> str:
        """The SHA-256 of the text in UTF-8, which everybody can compute."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class SharedLine:
    """A sentence or a text, and the posts that say it."""

    text: str
    posts: tuple[PostId, ...] = ()
    label: Reason | None = None
    """Says what the line is, before it."""
    revision: int | None = None
    """Which text of the posts says it, where a copy has several of a post; None for all."""
    is_quote: bool = False
    """It is the whole text of a post."""


@dataclass(frozen=True, slots=True)
class SharedSection:
    """Lines under a heading; the first section may have none."""

    heading: Reason | None
    lines: tuple[SharedLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedContent:
    """A copy before it is written in a format."""

    title: Reason
    title_posts: tuple[PostId, ...] = ()
    """The posts that say the title."""
    sections: tuple[SharedSection, ...]
    posts: tuple[SourcePost, ...]
    """All posts, the first published first; lines cite only these."""

    @property
    def private_channels(self) -> tuple[str, ...]:
        """The titles of private channels that posts are from."""
        titles = {post.post_id.channel_id: post.channel for post in self.posts if post.is_private}
        return tuple(titles.values())

    @property
    def sources(self) -> tuple[SourcePost, ...]:
        """The posts that lines cite, or all posts if none is cited."""
        cited_ids = {
            *self.title_posts,
            *(post_id for section in self.sections for line in section.lines for post_id in line.posts),
        }
        return tuple(post for post in self.posts if post.post_id in cited_ids) or self.posts
