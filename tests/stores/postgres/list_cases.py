"""Lists and their items, method by method: the rest of the cases in cases.py."""

from collections.abc import Awaitable, Callable
from uuid import UUID

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId
from telegram_assistant.domain.lists import ItemKind
from telegram_assistant.stores.postgres.stores import TenantStores
from testkit.factories import World
from tests.conftest import Admin

type Case = Callable[[TenantStores, World], Awaitable[set[ChannelId]]]
FIRST_POST = MessageId(1)


async def _all(stores: TenantStores, _world: World) -> set[ChannelId]:
    return {ChannelId(int(shared_list.name)) for shared_list in await stores.lists.all()}


async def _everybodys(world: World) -> list[tuple[UUID, UUID, ChannelId]]:
    """List, item and channel of both tenants."""
    return [
        (shared_list.list_id, item.item_id, item.post_id.channel_id)
        for tenant in (world.stores_a, world.stores_b)
        for shared_list in await tenant.lists.all()
        for item in await tenant.lists.items(shared_list.list_id, limit=10)
    ]


async def _find(stores: TenantStores, world: World) -> set[ChannelId]:
    return {
        channel_id for list_id, _, channel_id in await _everybodys(world) if await stores.lists.find(list_id)
    }


async def _items(stores: TenantStores, world: World) -> set[ChannelId]:
    items = [
        item
        for list_id, _, _ in await _everybodys(world)
        for item in await stores.lists.items(list_id, limit=10)
    ]
    assert all(item.post for item in items)
    return {item.post_id.channel_id for item in items}


async def _containing(stores: TenantStores, world: World) -> set[ChannelId]:
    return {
        channel_id
        for channel_id in world.channels
        if await stores.lists.containing(ItemKind.POST, PostId(channel_id, FIRST_POST))
    }


async def _stories(stores: TenantStores, world: World) -> set[ChannelId]:
    stories = await stores.lists.stories([PostId(channel_id, FIRST_POST) for channel_id in world.channels])
    return {channel_id for story in stories.values() for channel_id in story.channel_ids}


async def _create(stores: TenantStores, world: World) -> set[ChannelId]:
    """The name that another tenant's list has is no obstacle; an own one is."""
    return {
        channel_id
        for channel_id in world.channels
        if await stores.lists.create(str(channel_id), created_by="test") is None
    }


async def _rename(stores: TenantStores, world: World) -> set[ChannelId]:
    """Everybody's lists get new names, if they can be renamed."""
    everybodys = await _everybodys(world)
    before = {list_id: await _name_of(list_id, world) for list_id, _, _ in everybodys}
    for list_id, _, _ in everybodys:
        await stores.lists.rename(list_id, f"{before[list_id]} again")
    return {
        channel_id
        for list_id, _, channel_id in everybodys
        if await _name_of(list_id, world) != before[list_id]
    }


async def _name_of(list_id: UUID, world: World) -> str:
    lists = (*await world.stores_a.lists.all(), *await world.stores_b.lists.all())
    return next(shared_list.name for shared_list in lists if shared_list.list_id == list_id)


async def _delete(stores: TenantStores, world: World) -> set[ChannelId]:
    return {
        channel_id
        for list_id, _, channel_id in await _everybodys(world)
        if await stores.lists.delete(list_id)
    }


async def _add(stores: TenantStores, world: World) -> set[ChannelId]:
    """Each post to each list: the tenant's own posts go onto its own lists."""
    lists = [list_id for list_id, _, _ in await _everybodys(world)]
    return {
        channel_id
        for list_id in lists
        for channel_id in world.channels
        if await stores.lists.add(
            list_id, ItemKind.POST, PostId(channel_id, FIRST_POST), note="seen", by="test"
        )
    }


async def _write_note(stores: TenantStores, world: World) -> set[ChannelId]:
    return {
        channel_id
        for list_id, item_id, channel_id in await _everybodys(world)
        if await stores.lists.write_note(list_id, item_id, "seen", by="test")
    }


async def _move(stores: TenantStores, world: World) -> set[ChannelId]:
    return {
        channel_id
        for list_id, item_id, channel_id in await _everybodys(world)
        if await stores.lists.move(list_id, item_id, position=1)
    }


async def _remove(stores: TenantStores, world: World) -> set[ChannelId]:
    return {
        channel_id
        for list_id, item_id, channel_id in await _everybodys(world)
        if await stores.lists.remove(list_id, item_id)
    }


async def _restore(stores: TenantStores, world: World) -> set[ChannelId]:
    return {
        channel_id
        for list_id, item_id, channel_id in await _everybodys(world)
        if await stores.lists.restore(list_id, item_id)
    }


LIST_METHODS: dict[str, Case] = {
    "lists.all": _all,
    "lists.find": _find,
    "lists.containing": _containing,
    "lists.create": _create,
    "lists.rename": _rename,
    "lists.delete": _delete,
    "lists.items": _items,
    "lists.stories": _stories,
    "lists.add": _add,
    "lists.write_note": _write_note,
    "lists.move": _move,
    "lists.remove": _remove,
    "lists.restore": _restore,
}


async def list_channels(admin: Admin, tenant_id: TenantId, own: set[ChannelId]) -> None:
    """A list for each of the tenant's channels, named after it, with its first post."""
    await admin.execute(
        """
        WITH begun AS (
            INSERT INTO lists (tenant_id, name, created_by) SELECT $1, c::text, 'test'
            FROM unnest($2::bigint[]) c RETURNING list_id, name)
        INSERT INTO list_items (tenant_id, list_id, channel_id, message, added_by)
        SELECT $1, list_id, name::bigint, 1, 'test' FROM begun
        """,
        tenant_id,
        list(own),
    )
