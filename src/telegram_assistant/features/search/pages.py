"""Pages of search results: cursors, and groups of posts of one story or with the same text."""

import asyncio
import base64
import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from hashlib import sha256

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.posts.near_copies import SAME_LENGTH, Outline, Sketch, is_copy, outline_of
from telegram_assistant.domain.stories.visible import VisibleStory
from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.posts.rows import StoredPost
from telegram_assistant.stores.postgres.search.search import SearchPosition

COMPARED_CHARACTERS = 1_000
"""Per text. Comparing whole texts that are crafted to be slow would add half a second to a search."""
MAX_KEPT_OUTLINES = 1_000
CHARACTERS_AT_ONCE = 4_000
"""Other tasks run after so many: crafted texts take a few milliseconds for them,
ordinary ones less than one.
"""


@dataclass(frozen=True, slots=True)
class Bookmark:
    """The start of the next page. Matches are ranked in windows: the newest matches first, then the next
    window.

    A cursor is an encoded bookmark. It contains no posts and grants nothing: it is read with the rights of
    the caller.
    """

    as_of: datetime
    """Later posts are ignored, because they would shift the pages."""
    place: SearchPosition | None = None
    """The position at which the window begins; None: at the newest post."""
    offset: int = 0

    def encode(self, *, about: str) -> str:
        position = self.place and [
            self.place.posted_at.isoformat(),
            self.place.channel_id,
            self.place.message_id,
        ]
        content = json.dumps([_digest(about), self.as_of.isoformat(), position, self.offset])
        return base64.urlsafe_b64encode(content.encode()).decode().rstrip("=")

    @classmethod
    def read(cls, cursor: str, *, about: str) -> "Bookmark":
        """Raises Rejected if the cursor is not valid or belongs to another query."""
        try:
            digest, as_of, position, offset = json.loads(
                base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
            )
            bookmark = cls(
                _moment(as_of),
                SearchPosition(_moment(position[0]), _number(position[1]), _number(position[2]))
                if position
                else None,
                _number(offset),
            )
        except (ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
            raise Rejected(
                Reason("search_cursor_invalid", "the cursor is not valid; start from the first page")
            ) from error
        if digest != _digest(about):
            raise Rejected(
                Reason(
                    "cursor_of_another_query",
                    "the cursor belongs to another query; start from the first page",
                )
            )
        return bookmark


@dataclass(slots=True)
class ResultGroup:
    """A post, and later results of the same story or with the same text."""

    stored: StoredPost
    outline: Outline
    story: VisibleStory | None = None
    sketch: Sketch | None = None
    """Made when another post has the same names and numbers."""
    copies: list[PostId] = field(default_factory=list)
    """Posts with the same text that are not of the story."""


@lru_cache(MAX_KEPT_OUTLINES)
def _outline(text: str) -> Outline:
    """The next page begins with the posts of this one, and people of a tenant find the same new posts."""
    return outline_of(text)


@dataclass(slots=True)
class ResultGroups:
    """Groups of posts, in the order of the first post of each.

    Long texts are compared by beginning and length.
    """

    groups: list[ResultGroup] = field(default_factory=list)
    _by_story: dict[PostId, ResultGroup] = field(default_factory=dict)
    _by_bucket: dict[bytes, list[ResultGroup]] = field(default_factory=dict)
    _key: bytes = field(default_factory=secrets.token_bytes)

    async def add(self, posts: Iterable[StoredPost], stories: Mapping[PostId, VisibleStory]) -> None:
        """`stories` by their posts; posts that are in none of them are grouped by their texts alone."""
        character_count = 0
        for stored_post in posts:
            self._add(stored_post, stories.get(stored_post.post.id))
            character_count += min(len(stored_post.post.text), COMPARED_CHARACTERS)
            if character_count >= CHARACTERS_AT_ONCE:
                character_count = 0
                await asyncio.sleep(0)

    def _add(self, stored_post: StoredPost, story: VisibleStory | None) -> None:
        if story is not None and story.story_id in self._by_story:
            return
        group = ResultGroup(stored_post, _outline(stored_post.post.text[:COMPARED_CHARACTERS]), story)
        bucket_groups = self._by_bucket.setdefault(group.outline.bucket, [])
        same_group = next(
            (
                candidate
                for candidate in bucket_groups
                if stored_post.post.text
                and self._is_copy(candidate, group)
                and _have_same_length(candidate.stored, stored_post)
            ),
            None,
        )
        if same_group is None:
            bucket_groups.append(group)
            self.groups.append(group)
        else:
            same_group.copies.append(stored_post.post.id)
        if story is not None and (same_group is None or same_group.story is None):
            target = same_group or group
            target.story = story
            self._by_story[story.story_id] = target

    def _is_copy(self, earlier_group: ResultGroup, other: ResultGroup) -> bool:
        earlier_group.sketch = earlier_group.sketch or earlier_group.outline.sketch(self._key)
        other.sketch = other.sketch or other.outline.sketch(self._key)
        return is_copy(earlier_group.sketch, other.sketch)


def _have_same_length(one_post: StoredPost, other: StoredPost) -> bool:
    shorter, longer = sorted((len(one_post.post.text), len(other.post.text)))
    return longer <= COMPARED_CHARACTERS or shorter >= SAME_LENGTH * longer


def _digest(about: str) -> str:
    return sha256(about.encode()).hexdigest()[:12]


def _moment(value: object) -> datetime:
    moment = datetime.fromisoformat(str(value))
    if moment.tzinfo is None:
        raise ValueError(value)
    return moment


def _number(value: object) -> int:
    if not isinstance(value, int) or not -1 <= value < 2**63:
        raise ValueError(value)
    return value
