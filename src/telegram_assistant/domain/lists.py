"""Lists of posts and stories with notes, which the people of a tenant share."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from telegram_assistant.domain.ids import PostId

MAX_LISTS = 100
"""Of a tenant."""
MAX_ITEMS = 500
"""On a list."""
MAX_LIST_NAME = 80
MAX_NOTE = 2000


class ItemKind(StrEnum):
    """A story is named by one of its posts."""

    POST = "post"
    STORY = "story"


@dataclass(frozen=True, slots=True)
class SharedList:
    """A list; `items` counts what is on it."""

    list_id: UUID
    name: str
    created_by: str
    created_at: datetime
    changed_at: datetime
    items: int


@dataclass(frozen=True, slots=True)
class ListedPost:
    """The post of an item, as far as the tenant sees it."""

    channel: str
    username: str | None
    posted_at: datetime
    text: str
    deleted_at: datetime | None


@dataclass(frozen=True, slots=True)
class ListItem:
    """A post or a story on a list. `post` is None if the tenant no longer sees the post."""

    item_id: UUID
    kind: ItemKind
    post_id: PostId
    position: int
    """From 1."""
    note: str
    noted_by: str | None
    noted_at: datetime | None
    added_by: str
    added_at: datetime
    post: ListedPost | None
