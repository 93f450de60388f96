"""Lists of posts and stories with notes: made, read, ordered and changed by the people of a tenant."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.lists import (
    MAX_ITEMS,
    MAX_LIST_NAME,
    MAX_LISTS,
    MAX_NOTE,
    ItemKind,
    ListItem,
    SharedList,
)
from telegram_assistant.domain.posts.links import link_to
from telegram_assistant.domain.stories.visible import VisibleStory
from telegram_assistant.errors import Conflicting, Missing, Rejected
from telegram_assistant.features.stories.telling import tell
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.stores import TenantStores

LIST_UNKNOWN = Reason("list_unknown", "there is no such list")
ITEM_UNKNOWN = Reason("list_item_unknown", "this item is no longer on the list")
POST_INVISIBLE = Reason("list_post_unknown", "there is no such post or story in your channels")
NAME_LENGTH = Reason("list_name_length", "a list needs a name of 1 to {most} characters", most=MAX_LIST_NAME)
NAME_TAKEN = Reason("list_name_taken", "another list has this name; choose a different one")
TOO_MANY_LISTS = Reason(
    "lists_too_many", "there are {most} lists already; delete one that nobody needs", most=MAX_LISTS
)
LIST_FULL = Reason(
    "list_full", "this list has {most} items already; remove some or create another list", most=MAX_ITEMS
)
NOTE_LENGTH = Reason("list_note_length", "a note has at most {most} characters", most=MAX_NOTE)


@dataclass(frozen=True, slots=True)
class ReadItem:
    """An item as people read it: `headline` is empty if its post is not visible or has no text."""

    item: ListItem
    headline: str
    channels: int
    """That tell the story; 0 for a post."""

    @property
    def link(self) -> str:
        """The t.me link of its post; empty if the post is not visible."""
        return link_to(self.item.post_id, self.item.post.username) if self.item.post else ""


@dataclass(frozen=True, slots=True)
class ListPage:
    """A list with some of its items; `next` is the position to go on behind, None at the end."""

    shared_list: SharedList
    items: tuple[ReadItem, ...]
    next: int | None


@dataclass(frozen=True, slots=True)
class AddedItem:
    """An item that was put on a list."""

    shared_list: SharedList
    item_id: UUID


async def list_lists(*, stores: TenantStores) -> tuple[SharedList, ...]:
    """All lists of the tenant, by name."""
    return await stores.lists.all()


async def find_list(list_id: UUID, *, stores: TenantStores) -> SharedList:
    shared_list = await stores.lists.find(list_id)
    if shared_list is None:
        raise Missing(LIST_UNKNOWN)
    return shared_list


async def read_list(
    list_id: UUID, *, stores: TenantStores, limit: int, after: int = 0, language: str | None = None
) -> ListPage:
    """Returns the items behind a position, stories with what they say now."""
    shared_list = await find_list(list_id, stores=stores)
    items = await stores.lists.items(list_id, limit=limit + 1, after=after)
    page = items[:limit]
    stories = await stores.lists.stories(
        [item.post_id for item in page if item.kind is ItemKind.STORY and item.post]
    )
    read_items = await asyncio.to_thread(_read_items, page, stories, language)
    return ListPage(shared_list, read_items, page[-1].position if len(items) > limit else None)


def _read_items(
    items: tuple[ListItem, ...], stories: Mapping[PostId, VisibleStory], language: str | None
) -> tuple[ReadItem, ...]:
    return tuple(_read_item(item, stories.get(item.post_id), language) for item in items)


def _read_item(item: ListItem, story: VisibleStory | None, language: str | None) -> ReadItem:
    if item.kind is ItemKind.STORY and story is not None:
        return ReadItem(item, tell(story, language=language).headline, len(story.channel_ids))
    return ReadItem(item, item.post.text if item.post else "", 0)


async def lists_containing(kind: ItemKind, post_id: PostId, *, stores: TenantStores) -> frozenset[UUID]:
    return await stores.lists.containing(kind, post_id)


async def create_list(name: str, *, stores: TenantStores, created_by: str) -> SharedList:
    """Raises Rejected if the name is too long or empty, Conflicting if it is taken."""
    tidy_name = _check_name(name)
    list_id = await stores.lists.create(tidy_name, created_by=created_by)
    if list_id is None:
        is_full = len(await stores.lists.all()) >= MAX_LISTS
        raise Conflicting(TOO_MANY_LISTS if is_full else NAME_TAKEN)
    return await find_list(list_id, stores=stores)


async def rename_list(list_id: UUID, name: str, *, stores: TenantStores) -> SharedList:
    tidy_name = _check_name(name)
    await find_list(list_id, stores=stores)
    if not await stores.lists.rename(list_id, tidy_name):
        raise Conflicting(NAME_TAKEN)
    return await find_list(list_id, stores=stores)


async def delete_list(list_id: UUID, *, stores: TenantStores) -> None:
    """Deletes the list with its notes, for everybody in the tenant."""
    if not await stores.lists.delete(list_id):
        raise Missing(LIST_UNKNOWN)


async def add_item(
    list_id: UUID, kind: ItemKind, post_id: PostId, *, stores: TenantStores, by: str, note: str = ""
) -> UUID:
    """Puts a post, or the story of a post, at the end of a list. Adding it again changes its note only."""
    tidy_note = _check_note(note)
    shared_list = await find_list(list_id, stores=stores)
    item_id = await stores.lists.add(list_id, kind, post_id, note=tidy_note, by=by)
    if item_id is None:
        if shared_list.items >= MAX_ITEMS:
            raise Conflicting(LIST_FULL)
        raise Missing(POST_INVISIBLE)
    return item_id


async def add_to_chosen(
    list_id: UUID | None,
    name: str,
    kind: ItemKind,
    post_id: PostId,
    *,
    stores: TenantStores,
    by: str,
    note: str = "",
) -> AddedItem:
    """Adds to a list, or to a new one with this name if there is no `list_id`."""
    _check_note(note)
    shared_list = (
        await create_list(name, stores=stores, created_by=by)
        if list_id is None
        else await find_list(list_id, stores=stores)
    )
    item_id = await add_item(shared_list.list_id, kind, post_id, stores=stores, by=by, note=note)
    return AddedItem(shared_list, item_id)


async def change_item(
    list_id: UUID,
    item_id: UUID,
    *,
    stores: TenantStores,
    by: str,
    note: str | None = None,
    position: int | None = None,
) -> None:
    """Replaces the note of an item, where an empty one takes it away, and moves it to a position from 1;
    the others keep their order. None leaves things as they are.
    """
    if note is not None and not await stores.lists.write_note(list_id, item_id, _check_note(note), by=by):
        raise Missing(ITEM_UNKNOWN)
    if position is not None and not await stores.lists.move(list_id, item_id, position=position):
        raise Missing(ITEM_UNKNOWN)


async def remove_item(list_id: UUID, item_id: UUID, *, stores: TenantStores) -> None:
    """Takes an item off its list. For a day it can be put back, with its note."""
    if not await stores.lists.remove(list_id, item_id):
        raise Missing(ITEM_UNKNOWN)


async def restore_item(list_id: UUID, item_id: UUID, *, stores: TenantStores) -> None:
    """Puts a removed item back to its place."""
    if not await stores.lists.restore(list_id, item_id):
        raise Missing(ITEM_UNKNOWN)


def _check_name(name: str) -> str:
    tidy_name = " ".join(name.split())
    if not 0 < len(tidy_name) <= MAX_LIST_NAME:
        raise Rejected(NAME_LENGTH)
    return tidy_name


def _check_note(note: str) -> str:
    tidy_note = note.replace("\r\n", "\n").strip()
    if len(tidy_note) > MAX_NOTE:
        raise Rejected(NOTE_LENGTH)
    return tidy_note
