"""Lists of posts and stories with notes."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Path
from pydantic import ConfigDict, Field, TypeAdapter

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import (
    CursorText,
    Id,
    Limit,
    PageResponse,
    RequestModel,
    ResponseModel,
    Storable,
    read_cursor,
    write_cursor,
)
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.lists import MAX_ITEMS, MAX_LIST_NAME, MAX_NOTE, ItemKind, SharedList
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features import lists

area = Area("Lists", "Lists of posts and stories with notes, in order, shared by the people of the tenant.")

LIST_EXAMPLE = {
    "list_id": "0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f13",
    "name": "The bridge",
    "created_by": "anna",
    "created_at": "2026-11-15T08:00:00Z",
    "changed_at": "2026-11-15T09:00:00Z",
    "item_count": 1,
}
ITEM_ID = "0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f14"
ITEM_EXAMPLE = {
    "item_id": ITEM_ID,
    "kind": "post",
    "post_id": "1234567890/42",
    "position": 1,
    "note": "Ask the ministry.",
    "noted_by": "anna",
    "noted_at": "2026-11-15T09:00:00Z",
    "added_by": "anna",
    "added_at": "2026-11-15T08:30:00Z",
    "is_visible": True,
    "headline": "The bridge is open again",
    "channel": "City news",
    "channels": 0,
    "posted_at": "2026-11-15T08:00:00Z",
    "deleted_at": None,
    "link": "https://t.me/citynews/42",
}
ListId = Annotated[
    UUID, Path(description="`list_id` of the list.", examples=["0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f13"])
]
ItemId = Annotated[UUID, Path(description="`item_id` of the item.", examples=[ITEM_ID])]
CURSOR = TypeAdapter(tuple[Annotated[int, Field(ge=0, le=MAX_ITEMS)]])
NoteText = Annotated[Storable, Field(max_length=MAX_NOTE)]


class ListRequest(RequestModel):
    """The name of a list."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "The bridge"}]})

    name: Annotated[Storable, Field(min_length=1, max_length=MAX_LIST_NAME)]


class ListItemRequest(RequestModel):
    """A post, or the story that the post belongs to."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"kind": "story", "channel_id": 1234567890, "message_id": 42}]}
    )

    kind: ItemKind = ItemKind.POST
    channel_id: Id
    message_id: Id
    note: NoteText = ""


class ListItemChange(RequestModel):
    """A new note, a new position from 1, or both. An empty note takes the note away."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"note": "Ask the ministry.", "position": 1}]})

    note: NoteText | None = None
    position: Annotated[int, Field(ge=1, le=MAX_ITEMS)] | None = None


class ListResponse(ResponseModel):
    """A list; `item_count` counts the items on it."""

    list_id: UUID
    name: str
    created_by: str
    created_at: datetime
    changed_at: datetime
    item_count: int


class ListsResponse(ResponseModel):
    """All lists of the tenant, by name."""

    items: list[ListResponse]


class ListItemResponse(ResponseModel):
    """A post or a story on a list.

    If the tenant no longer sees the post, `is_visible` is false, and nothing of the post is told.
    """

    item_id: UUID
    kind: ItemKind
    post_id: str
    position: int
    note: str
    noted_by: str | None
    noted_at: datetime | None
    added_by: str
    added_at: datetime
    is_visible: bool
    headline: str
    channel: str
    channels: int = Field(description="How many channels tell the story; 0 for a post.")
    posted_at: datetime | None
    deleted_at: datetime | None
    link: str


class ListPageResponse(PageResponse):
    """A list with its items in order."""

    shared_list: ListResponse
    items: list[ListItemResponse]


class AddedItemResponse(ResponseModel):
    """The item that was added, or was on the list already."""

    item_id: UUID


@area.get("/lists", scope=KeyScope.READ, example={"items": [LIST_EXAMPLE]})
async def list_lists(context: Context) -> ListsResponse:
    """List all lists of your tenant, by name."""
    return ListsResponse(
        items=[list_response(shared_list) for shared_list in await lists.list_lists(stores=context.stores)]
    )


@area.post("/lists", scope=KeyScope.WRITE, example=LIST_EXAMPLE, status=201, also=(409,))
async def create_list(context: Context, body: ListRequest) -> ListResponse:
    """Begin an empty list. Everybody in the tenant sees it."""
    context.note(name=body.name)
    return list_response(
        await lists.create_list(body.name, stores=context.stores, created_by=context.caller.actor)
    )


@area.get(
    "/lists/{list_id}",
    scope=KeyScope.READ,
    example={"shared_list": LIST_EXAMPLE, "items": [ITEM_EXAMPLE], "next": None},
)
async def get_list(
    context: Context, list_id: ListId, limit: Limit = 50, cursor: CursorText = None
) -> ListPageResponse:
    """Return a list with its items in order. A story has the headline that it has now."""
    position = read_cursor(cursor, CURSOR)
    page = await lists.read_list(
        list_id, stores=context.stores, limit=limit, after=position[0] if position else 0
    )
    return ListPageResponse(
        shared_list=list_response(page.shared_list),
        items=[_item_response(item) for item in page.items],
        next=None if page.next is None else write_cursor(page.next),
    )


@area.put("/lists/{list_id}", scope=KeyScope.WRITE, example=LIST_EXAMPLE, also=(409,))
async def rename_list(context: Context, list_id: ListId, body: ListRequest) -> ListResponse:
    """Rename a list."""
    context.note(name=body.name)
    return list_response(await lists.rename_list(list_id, body.name, stores=context.stores))


@area.delete("/lists/{list_id}", scope=KeyScope.WRITE)
async def delete_list(context: Context, list_id: ListId) -> None:
    """Delete a list with its notes, for everybody in the tenant."""
    await lists.delete_list(list_id, stores=context.stores)


@area.post(
    "/lists/{list_id}/items", scope=KeyScope.WRITE, example={"item_id": ITEM_ID}, status=201, also=(409,)
)
async def add_list_item(context: Context, list_id: ListId, body: ListItemRequest) -> AddedItemResponse:
    """Put a post, or the story of a post, at the end of a list.

    A post that is on the list already stays at its place, and gets the note if there is one.
    """
    post_id = PostId(ChannelId(body.channel_id), MessageId(body.message_id))
    context.note(kind=body.kind.value, post=str(post_id))
    item_id = await lists.add_item(
        list_id, body.kind, post_id, stores=context.stores, by=context.caller.actor, note=body.note
    )
    return AddedItemResponse(item_id=item_id)


@area.put("/lists/{list_id}/items/{item_id}", scope=KeyScope.WRITE, example=None, status=204)
async def change_list_item(context: Context, list_id: ListId, item_id: ItemId, body: ListItemChange) -> None:
    """Write the note of an item, or move it to a position. The other items keep their order."""
    await lists.change_item(
        list_id,
        item_id,
        note=body.note,
        position=body.position,
        stores=context.stores,
        by=context.caller.actor,
    )


@area.delete("/lists/{list_id}/items/{item_id}", scope=KeyScope.WRITE)
async def remove_list_item(context: Context, list_id: ListId, item_id: ItemId) -> None:
    """Take an item off its list. It can be restored for a day."""
    await lists.remove_item(list_id, item_id, stores=context.stores)


@area.post("/lists/{list_id}/items/{item_id}/restore", scope=KeyScope.WRITE, example=None, status=204)
async def restore_list_item(context: Context, list_id: ListId, item_id: ItemId) -> None:
    """Put an item that was taken off back to its place, with its note."""
    await lists.restore_item(list_id, item_id, stores=context.stores)


def list_response(shared_list: SharedList) -> ListResponse:
    return ListResponse(
        list_id=shared_list.list_id,
        name=shared_list.name,
        created_by=shared_list.created_by,
        created_at=shared_list.created_at,
        changed_at=shared_list.changed_at,
        item_count=shared_list.items,
    )


def _item_response(read_item: lists.ReadItem) -> ListItemResponse:
    item, post = read_item.item, read_item.item.post
    return ListItemResponse(
        item_id=item.item_id,
        kind=item.kind,
        post_id=str(item.post_id),
        position=item.position,
        note=item.note,
        noted_by=item.noted_by,
        noted_at=item.noted_at,
        added_by=item.added_by,
        added_at=item.added_at,
        is_visible=post is not None,
        headline=read_item.headline,
        channel=post.channel if post else "",
        channels=read_item.channels,
        posted_at=post.posted_at if post else None,
        deleted_at=post.deleted_at if post else None,
        link=read_item.link,
    )
