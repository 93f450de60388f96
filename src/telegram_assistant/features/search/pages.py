"""Pages of a search: where one ends, and posts that say the same folded into one."""

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
"""Of each text. Comparing whole ones, made to be slow, would take a search half a second."""


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Where the next page begins. What is ranked together is a window: the newest matches as far as was looked, then the next.

    A cursor is a bookmark in writing. It says nothing about posts and opens nothing: it is read with the rights of who shows it.
    """

    as_of: datetime
    """Posts that came later would move what is on which page."""
    place: SearchPosition | None = None
    """Where the window begins; None: with the newest."""
    offset: int = 0

    def written(self, *, about: str) -> str:
        place = self.place and [self.place.posted_at.isoformat(), self.place.channel_id, self.place.message_id]
        said = json.dumps([_digest(about), self.as_of.isoformat(), place, self.offset])
        return base64.urlsafe_b64encode(said.encode()).decode().rstrip("=")

    @classmethod
    def read(cls, cursor: str, *, about: str) -> "Bookmark":
        """Rejected where it is none of ours, or of another question."""
        try:
            digest, as_of, place, offset = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
            found = cls(_moment(as_of), SearchPosition(_moment(place[0]), _number(place[1]), _number(place[2])) if place else None, _number(offset))
        except (ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
            raise Rejected("the cursor is not one of ours; ask for the first page again") from error
        if digest != _digest(about):
            raise Rejected("the cursor belongs to another question; ask for the first page again")
        return found


@dataclass(slots=True)
class ResultGroup:
    """A post, and those after it that say the same."""

    stored: StoredPost
    sketch: Sketch
    copies: list[PostId] = field(default_factory=list)


async def grouped(posts: Iterable[StoredPost]) -> list[ResultGroup]:
    """In the order of the first of each. Long texts are compared by how they begin and how long they are."""
    groups: list[ResultGroup] = []
    by_bucket: dict[bytes, list[ResultGroup]] = {}
    key = secrets.token_bytes()
    for stored in posts:
        sketch = sketch_of(stored.post.text[:COMPARED_CHARACTERS], key)
        await asyncio.sleep(0)  # each takes up to a millisecond or two, a hundred would be noticed
        alike = by_bucket.setdefault(sketch.bucket, [])
        same = next((one for one in alike if stored.post.text and is_copy(one.sketch, sketch) and _are_as_long(one.stored, stored)), None)
        if same is not None:
            same.copies.append(stored.post.id)
            continue
        group = ResultGroup(stored, sketch)
        alike.append(group)
        groups.append(group)
    return groups


def _are_as_long(one: StoredPost, other: StoredPost) -> bool:
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
