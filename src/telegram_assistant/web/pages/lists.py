"""Lists of posts and stories with notes: all of them, one of them, and adding to one."""

import asyncio
from uuid import UUID

from starlette.responses import Response

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.lists import MAX_ITEMS, MAX_LIST_NAME, MAX_NOTE, ItemKind
from telegram_assistant.errors import Missing, Rejected
from telegram_assistant.features import lists
from telegram_assistant.reasons import Reason
from telegram_assistant.web.views import (
    FORM_DAMAGED,
    PAGE_UNKNOWN,
    Content,
    TenantView,
    go,
    own_path,
    uuid_of,
)

ITEMS_PER_PAGE = 50
LIST_UNCHOSEN = Reason("list_unchosen", "choose a list, or give a new one a name")


async def show(view: TenantView) -> Content:
    return {
        "lists": await lists.list_lists(stores=view.stores),
        "done": view.query("done"),
        "max_name": MAX_LIST_NAME,
    }


async def create(view: TenantView) -> Response:
    shared_list = await lists.create_list(view.text("name"), stores=view.stores, created_by=view.person.name)
    view.note(name=shared_list.name)
    return go(view.url(f"/lists/{shared_list.list_id}"))


async def show_one(view: TenantView) -> Content:
    page = await lists.read_list(
        _list_id(view),
        stores=view.stores,
        limit=ITEMS_PER_PAGE,
        after=_position(view.query("after") or "0"),
        language=view.language.value,
    )
    return {
        "page": page,
        "shared_list": page.shared_list,
        "done": view.query("done"),
        "item": view.query("item"),
        "back": own_path(view.query("back"), ""),
        "max_name": MAX_LIST_NAME,
        "max_note": MAX_NOTE,
    }


async def show_add(view: TenantView) -> Content:
    kind, post_id = _read_target(view.query("kind"), view.query("post"))
    all_lists, containing = await asyncio.gather(
        lists.list_lists(stores=view.stores), lists.lists_containing(kind, post_id, stores=view.stores)
    )
    return {
        "lists": all_lists,
        "containing": containing,
        "latest": max(all_lists, key=lambda shared_list: shared_list.changed_at, default=None),
        "kind": kind,
        "post_id": post_id,
        "back": own_path(view.query("back"), view.url(f"/{kind.value}/{post_id}")),
        "max_name": MAX_LIST_NAME,
        "max_note": MAX_NOTE,
    }


async def add(view: TenantView) -> Content | Response:
    """Adds to a list that is chosen, or to a new one if it has a name; a script gets one line about it."""
    kind, post_id = _read_target(view.text("kind"), view.text("post"))
    name, chosen_list = view.text("name"), view.text("list")
    if not name.strip() and not chosen_list:
        raise Rejected(LIST_UNCHOSEN)
    added_item = await lists.add_to_chosen(
        None if name.strip() else uuid_of(chosen_list),
        name,
        kind,
        post_id,
        stores=view.stores,
        by=view.person.name,
        note=view.text("note"),
    )
    view.note(list=added_item.shared_list.name, kind=kind.value, post=str(post_id))
    if view.is_fragment:
        return {"added": added_item}
    back = own_path(view.text("back"), "")
    return go(
        view.url(f"/lists/{added_item.shared_list.list_id}?done=added&item={added_item.item_id}&back={back}")
    )


async def rename(view: TenantView) -> Response:
    shared_list = await lists.rename_list(_list_id(view), view.text("name"), stores=view.stores)
    view.note(name=shared_list.name)
    return _go_to_list(view, "renamed")


async def delete(view: TenantView) -> Response:
    await lists.delete_list(_list_id(view), stores=view.stores)
    return go(view.url("/lists?done=deleted"))


async def change_item(view: TenantView) -> Response:
    """The page that the note or the place was changed on, at the item."""
    position = view.text("position")
    item_id = _item_id(view)
    await lists.change_item(
        _list_id(view),
        item_id,
        note=None if position else view.text("note"),
        position=max(1, _position(position)) if position else None,
        stores=view.stores,
        by=view.person.name,
    )
    return go(own_path(view.text("back"), view.url(f"/lists/{_list_id(view)}")) + f"#i-{item_id}")


async def remove(view: TenantView) -> Content | Response:
    """The list follows, with a button that puts the item back."""
    item_id = _item_id(view)
    await lists.remove_item(_list_id(view), item_id, stores=view.stores)
    return _go_to_list(view, "removed", item_id)


async def restore(view: TenantView) -> Response:
    await lists.restore_item(_list_id(view), _item_id(view), stores=view.stores)
    return _go_to_list(view, "restored")


def _go_to_list(view: TenantView, outcome: str, item_id: UUID | None = None) -> Response:
    item = f"&item={item_id}" if item_id else ""
    return go(view.url(f"/lists/{_list_id(view)}?done={outcome}{item}"))


def _list_id(view: TenantView) -> UUID:
    return uuid_of(view.request.path_params["list"])


def _item_id(view: TenantView) -> UUID:
    return uuid_of(view.request.path_params["item"])


def _position(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) > MAX_ITEMS:
        raise Missing(PAGE_UNKNOWN)
    return int(text)


def _read_target(kind: str, post: str) -> tuple[ItemKind, PostId]:
    try:
        post_id = PostId.parse(post)
        item_kind = ItemKind(kind or ItemKind.POST)
    except ValueError as error:
        raise Rejected(FORM_DAMAGED) from error
    if post_id.channel_id >= 2**63 or post_id.message_id >= 2**63:
        raise Rejected(FORM_DAMAGED)
    return item_kind, post_id
