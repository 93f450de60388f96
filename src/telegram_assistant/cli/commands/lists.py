"""`tga lists`: lists of posts and stories with notes, shared by the people of a tenant."""

from collections.abc import Awaitable, Callable
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from telegram_assistant.api.endpoints.lists import (
    ListItemResponse,
    ListPageResponse,
    ListsResponse,
    get_list,
    list_lists,
)
from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import ACTOR, record_change
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.endpoints import show_endpoint
from telegram_assistant.cli.environment import console, zone_here
from telegram_assistant.cli.output import AsJson
from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.lists import MAX_ITEMS, ItemKind
from telegram_assistant.features import lists
from telegram_assistant.stores.postgres.stores import TenantStores

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Lists of posts and stories with notes: make, show, add, note, move.",
)

TenantName = Annotated[str, typer.Option("--tenant", help="Tenant that owns the lists.")]
ListId = Annotated[UUID, typer.Argument(help="Id of the list, from `tga lists list`.")]
ItemId = Annotated[UUID, typer.Argument(help="Id of the item, from `tga lists show`.")]
ListName = Annotated[str, typer.Argument(help="Name of the list.")]
LETTERS = 200


@app.command("list")
def show_all(tenant: TenantName = "default", as_json: AsJson = False) -> None:
    """List all lists."""
    show_endpoint(list_lists, _print_lists, as_json=as_json, tenant=tenant, needs_redis=False)


def _print_lists(answer: ListsResponse) -> None:
    if not answer.items:
        console.print("There are no lists. Start with: tga lists create NAME")
        return
    table = Table("id", "name", "items", "made by", "changed", box=None)
    zone = zone_here()
    for shared_list in answer.items:
        table.add_row(
            str(shared_list.list_id),
            escape(shared_list.name),
            str(shared_list.item_count),
            escape(shared_list.created_by),
            f"{shared_list.changed_at.astimezone(zone):%Y-%m-%d %H:%M}",
        )
    console.print(table)


@app.command()
def show(
    list_id: ListId,
    tenant: TenantName = "default",
    limit: Annotated[int, typer.Option(min=1, max=MAX_ITEMS, help="Maximum number of items.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Cursor of the next page.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the items of a list in order, with their notes."""
    show_endpoint(
        lambda context: get_list(context, list_id, limit=limit, cursor=cursor),
        _print_page,
        as_json=as_json,
        tenant=tenant,
        needs_redis=False,
    )


def _print_page(page: ListPageResponse) -> None:
    console.print(Text(page.shared_list.name, style="bold"))
    if not page.items:
        console.print("The list is empty.")
    for item in page.items:
        _print_item(item)
    if page.next:
        console.print(f"More: --cursor {page.next}")


def _print_item(item: ListItemResponse) -> None:
    heading = Text(f"{item.position}. {item.kind.value}  {item.item_id}  ", style="bold")
    if item.is_visible:
        console.print(heading.append(f"{item.channel}  {item.link}", style="blue"))
        console.print(Text(item.headline[:LETTERS]))
    else:
        console.print(heading.append("no longer visible", style="yellow"))
    if item.note:
        console.print(Text(f"{item.noted_by}: {item.note}", style="italic"))


@app.command()
def create(name: ListName, tenant: TenantName = "default") -> None:
    """Begin an empty list. Everybody in the tenant sees it."""

    async def make(stores: TenantStores) -> UUID:
        return (await lists.create_list(name, stores=stores, created_by=ACTOR)).list_id

    console.print(f"List {_change(make, tenant, 'create_list', '/lists')} is empty.")


@app.command()
def rename(list_id: ListId, name: ListName, tenant: TenantName = "default") -> None:
    """Rename a list."""
    _change(
        lambda stores: lists.rename_list(list_id, name, stores=stores),
        tenant,
        "rename_list",
        f"/lists/{list_id}",
    )
    console.print("The list was renamed.")


@app.command()
def delete(list_id: ListId, tenant: TenantName = "default") -> None:
    """Delete a list with its notes, for everybody in the tenant."""
    _change(
        lambda stores: lists.delete_list(list_id, stores=stores), tenant, "delete_list", f"/lists/{list_id}"
    )
    console.print("The list is deleted.")


@app.command()
def add(
    list_id: ListId,
    post: Annotated[str, typer.Argument(help="The post, as CHANNEL_ID/MESSAGE_ID.")],
    tenant: TenantName = "default",
    story: Annotated[bool, typer.Option("--story", help="Add the story that the post belongs to.")] = False,
    note: Annotated[str, typer.Option(help="A note on it.")] = "",
) -> None:
    """Put a post or a story at the end of a list."""
    try:
        post_id = PostId.parse(post)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="post") from error
    kind = ItemKind.STORY if story else ItemKind.POST
    item_id = _change(
        lambda stores: lists.add_item(list_id, kind, post_id, stores=stores, by=ACTOR, note=note),
        tenant,
        "add_list_item",
        f"/lists/{list_id}/items",
    )
    console.print(f"Item {item_id} is on the list.")


@app.command("note")
def write_note(
    list_id: ListId,
    item_id: ItemId,
    text: Annotated[str, typer.Argument(help="The note. Empty: the note is taken away.")] = "",
    tenant: TenantName = "default",
) -> None:
    """Write or replace the note on an item."""
    _change(
        lambda stores: lists.change_item(list_id, item_id, note=text, stores=stores, by=ACTOR),
        tenant,
        "change_list_item",
        f"/lists/{list_id}/items/{item_id}",
    )
    console.print("The note is written." if text.strip() else "The note is taken away.")


@app.command()
def move(
    list_id: ListId,
    item_id: ItemId,
    position: Annotated[int, typer.Argument(help="Position, from 1.", min=1, max=MAX_ITEMS)],
    tenant: TenantName = "default",
) -> None:
    """Move an item to a position; the others keep their order."""
    _change(
        lambda stores: lists.change_item(list_id, item_id, position=position, stores=stores, by=ACTOR),
        tenant,
        "change_list_item",
        f"/lists/{list_id}/items/{item_id}",
    )
    console.print("The item is moved.")


@app.command()
def remove(list_id: ListId, item_id: ItemId, tenant: TenantName = "default") -> None:
    """Take an item off a list. It can be restored for a day."""
    _change(
        lambda stores: lists.remove_item(list_id, item_id, stores=stores),
        tenant,
        "remove_list_item",
        f"/lists/{list_id}/items/{item_id}",
    )
    console.print("The item is off the list. Put it back with: tga lists restore")


@app.command()
def restore(list_id: ListId, item_id: ItemId, tenant: TenantName = "default") -> None:
    """Put an item that was taken off back to its place."""
    _change(
        lambda stores: lists.restore_item(list_id, item_id, stores=stores),
        tenant,
        "restore_list_item",
        f"/lists/{list_id}/items/{item_id}/restore",
    )
    console.print("The item is back on the list.")


def _change[T](change: Callable[[TenantStores], Awaitable[T]], tenant: str, action: str, subject: str) -> T:
    async def perform(assembled: App) -> T:
        tenant_id = (await tenant_named(assembled, tenant)).tenant_id
        answer = await change(assembled.tenant(tenant_id))
        await record_change(assembled, tenant_id, action, subject)
        return answer

    return with_app(perform)
