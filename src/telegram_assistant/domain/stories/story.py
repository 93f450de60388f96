"""A story, its posts and the links between them."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType
from uuid import UUID

from telegram_assistant.domain.ids import PostId

StoryId = NewType("StoryId", UUID)


class LinkKind(StrEnum):
    """Why two posts are in one story, the surest first."""

    FORWARD = "forward"
    ALBUM = "album"
    REPLY = "reply"
    COPY = "copy"
    PICTURE = "picture"
    REWRITE = "rewrite"
    TRANSLATION = "translation"

    @property
    def is_certain(self) -> bool:
        """Telegram says so; nothing was estimated."""
        return self in {LinkKind.FORWARD, LinkKind.ALBUM, LinkKind.REPLY}


class StoryChange(StrEnum):
    """The kind of change to a story."""

    CREATED = "created"
    """A post tells something new."""
    JOINED = "joined"
    MERGED = "merged"
    """Other stories became part of it."""
    SPLIT = "split"
    """Some of its posts are another story now."""


SUREST = {kind: place for place, kind in enumerate(LinkKind)}


@dataclass(frozen=True, slots=True)
class Link:
    """Two posts that tell the same.

    `score` is the logit of the decision, at most 20; certain links have 20.
    """

    post: PostId
    """The later one."""
    other: PostId
    kind: LinkKind
    score: float
    posted_at: datetime
    other_posted_at: datetime
    is_leaf: bool = False
    """One end is in a private channel: it joins a story and holds nothing together."""


@dataclass(frozen=True, slots=True)
class StoryMember:
    """A post of a story. `link` is the surest link to another post of it; None for a post alone."""

    post: PostId
    story_id: StoryId
    posted_at: datetime
    link: LinkKind | None
