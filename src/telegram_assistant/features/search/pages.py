"""Pages of search results: cursors, and groups of posts with the same text."""

import asyncio
import base64
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.posts.near_copies import SAME_LENGTH, Sketch, is_copy, sketch_of
from telegram_assistant.errors import Rejected
from telegram_assistant.stores.postgres.posts.rows import StoredPost
from telegram_assistant.stores.postgres.search.search import SearchPosition

COMPARED_CHARACTERS = 1_000
"""Per text. Comparing whole texts that are crafted to be slow would add half a second to a search."""


@dataclass(frozen=True, slots=True)
class Bookmark:
    """The start of the next page. Matches are ranked in windows: the newest matches first, then the next window.

    A cursor is an encoded bookmark. It contains no posts and grants nothing: it is read with the rights of the caller.
    """

    as_of: datetime
    """Later posts are ignored, because they would shift the pages."""
    place: SearchPosition | None = None
    """Where the window begins; None: at the newest post."""
    offset: int = 0

    def encode(self, *, about: str) -> str:
        place = self.place and [self.place.posted_at.isoformat(), self.place.channel_id, self.place.message_id]
        said = json.dumps([_digest(about), self.as_of.isoformat(), place, self.offset])
        return base64.urlsafe_b64encode(said.encode()).decode().rstrip("=")

    @classmethod
    def read(cls, cursor: str, *, about: str) -> "Bookmark":
        """Raises Rejected if the cursor is not valid or belongs to another query."""
        try:
            digest, as_of, place, offset = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
            found = cls(_moment(as_of), SearchPosition(_moment(place[0]), _number(place[1]), _number(place[2])) if place else None, _number(offset))
        except (ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
            raise Rejected("the cursor is not valid; start again from the first page") from error
        if digest != _digest(about):
            raise Rejected("the cursor belongs to another query; start again from the first page")
        return found


@dataclass(slots=True)
class ResultGroup:
    """A post, and later results with the same text."""

    stored: StoredPost
    sketch: Sketch
    copies: list[PostId] = field(default_factory=list)


async def group_copies(posts: Iterable[StoredPost]) -> list[ResultGroup]:
    """Groups posts with the same text, in the order of the first post of each. Long texts are compared by beginning and length."""
    groups: list[ResultGroup] = []
    by_bucket: dict[bytes, list[ResultGroup]] = {}
    key = secrets.token_bytes()
    for stored in posts:
        sketch = sketch_of(stored.post.text[:COMPARED_CHARACTERS], key)
        await asyncio.sleep(0)  # each takes up to a millisecond or two: a hundred would block the event loop
        alike = by_bucket.setdefault(sketch.bucket, [])
        same = next((one for one in alike if stored.post.text and is_copy(one.sketch, sketch) and _have_same_length(one.stored, stored)), None)
        if same is not None:
            same.copies.append(stored.post.id)
            continue
        group = ResultGroup(stored, sketch)
        alike.append(group)
        groups.append(group)
    return groups


def _have_same_length(one: StoredPost, other: StoredPost) -> bool:
    shorter, longer = sorted((len(one.post.text), len(other.post.text)))
    return longer <= COMPARED_CHARACTERS or shorter >= SAME_LENGTH * longer


def _digest(about: str) -> str:
    return sha256(about.encode()).hexdigest()[:12]


def _moment(said: object) -> datetime:
    moment = datetime.fromisoformat(str(said))
    if moment.tzinfo is None:
        raise ValueError(said)
    return moment


def _number(said: object) -> int:
    if not isinstance(said, int) or not -1 <= said < 2**63:
        raise ValueError(said)
    return said
