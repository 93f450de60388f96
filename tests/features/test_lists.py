"""Lists of posts and stories with notes."""

from datetime import UTC, datetime, timedelta

import pytest

from telegram_assistant.domain.ids import MessageId, PostId, TenantId
from telegram_assistant.domain.lists import MAX_LISTS, MAX_NOTE, ItemKind
from telegram_assistant.errors import Conflicting, Missing, Rejected
from telegram_assistant.features import lists
from telegram_assistant.stores.postgres.stores import TenantStores
from testkit.factories import World
from testkit.stories import store_story
from tests.conftest import Admin


async def add(stores: TenantStores, list_name: str, *posts: PostId) -> lists.ListPage:
    shared_list = await lists.create_list(list_name, stores=stores, created_by="anna")
    for post in posts:
        await lists.add_item(shared_list.list_id, ItemKind.POST, post, stores=stores, by="anna")
    return await lists.read_list(shared_list.list_id, stores=stores, limit=50)


def posts_on(page: lists.ListPage) -> list[PostId]:
    return [read_item.item.post_id for read_item in page.items]


async def test_items_stand_in_the_order_that_people_give_them(world: World) -> None:
    stores = world.stores_a
    first, second, third = (PostId(world.only_a[0], MessageId(number)) for number in (1, 2, 3))
    page = await add(stores, "The bridge", first, second, third)
    list_id = page.shared_list.list_id
    assert posts_on(page) == [first, second, third]
    for position, order in (
        (1, [third, first, second]),
        (2, [first, third, second]),
        (9, [first, second, third]),
    ):
        await lists.change_item(
            list_id, page.items[2].item.item_id, position=position, stores=stores, by="anna"
        )
        assert posts_on(await lists.read_list(list_id, stores=stores, limit=50)) == order


async def test_a_long_list_is_read_page_by_page(world: World) -> None:
    posts = [PostId(world.only_a[0], MessageId(number)) for number in (1, 2, 3)]
    page = await add(world.stores_a, "The bridge", *posts)
    list_id = page.shared_list.list_id
    begin = await lists.read_list(list_id, stores=world.stores_a, limit=2)
    assert (posts_on(begin), begin.next) == (posts[:2], 2)
    rest = await lists.read_list(list_id, stores=world.stores_a, limit=2, after=2)
    assert (posts_on(rest), rest.next) == (posts[2:], None)


async def test_a_removed_item_comes_back_to_its_place_with_its_note_and_who_added_it(world: World) -> None:
    stores = world.stores_a
    first, second = (PostId(world.only_a[0], MessageId(number)) for number in (1, 2))
    page = await add(stores, "The bridge", first, second)
    list_id, item = page.shared_list.list_id, page.items[0].item
    await lists.change_item(list_id, item.item_id, note=" ask them ", stores=stores, by="boris")
    await lists.remove_item(list_id, item.item_id, stores=stores)
    assert posts_on(await lists.read_list(list_id, stores=stores, limit=50)) == [second]
    with pytest.raises(Missing):
        await lists.change_item(list_id, item.item_id, note="?", stores=stores, by="boris")
    await lists.restore_item(list_id, item.item_id, stores=stores)
    restored = (await lists.read_list(list_id, stores=stores, limit=50)).items[0].item
    assert (restored.note, restored.noted_by, restored.added_by) == ("ask them", "boris", "anna")


async def test_a_removed_item_is_forgotten_after_a_day(world: World, admin: Admin) -> None:
    stores = world.stores_a
    page = await add(stores, "The bridge", *(PostId(world.only_a[0], MessageId(number)) for number in (1, 2)))
    list_id, (first, second) = page.shared_list.list_id, page.items
    await lists.remove_item(list_id, first.item.item_id, stores=stores)
    await admin.execute(
        "UPDATE list_items SET removed_at = $2 WHERE item_id = $1",
        first.item.item_id,
        datetime.now(UTC) - timedelta(hours=25),
    )
    await lists.remove_item(list_id, second.item.item_id, stores=stores)
    with pytest.raises(Missing):
        await lists.restore_item(list_id, first.item.item_id, stores=stores)


async def test_adding_twice_changes_the_note_only(world: World) -> None:
    stores = world.stores_a
    first, second = (PostId(world.only_a[0], MessageId(number)) for number in (1, 2))
    page = await add(stores, "The bridge", first, second)
    list_id = page.shared_list.list_id
    for note in ("ask them", ""):
        await lists.add_item(list_id, ItemKind.POST, first, stores=stores, by="boris", note=note)
    page = await lists.read_list(list_id, stores=stores, limit=50)
    assert posts_on(page) == [first, second]
    assert (page.items[0].item.note, page.items[0].item.added_by) == ("ask them", "anna")


async def test_a_post_that_the_tenant_no_longer_sees_is_named_without_its_text(world: World) -> None:
    stores = world.stores_a
    page = await add(stores, "The bridge", PostId(world.only_a[0], MessageId(1)))
    assert page.items[0].headline
    assert page.items[0].link
    await stores.followed.leave(world.only_a[0])
    gone = (await lists.read_list(page.shared_list.list_id, stores=stores, limit=50)).items[0]
    assert (gone.item.post, gone.headline, gone.link) == (None, "", "")


async def test_a_post_of_another_tenant_cannot_be_listed(world: World) -> None:
    page = await add(world.stores_a, "The bridge")
    for kind in ItemKind:
        with pytest.raises(Missing):
            await lists.add_item(
                page.shared_list.list_id,
                kind,
                PostId(world.only_b[0], MessageId(1)),
                stores=world.stores_a,
                by="anna",
            )


async def test_a_story_has_its_headline_and_counts_its_channels(world: World, admin: Admin) -> None:
    posts = [PostId(channel_id, MessageId(1)) for channel_id in world.only_a]
    await store_story(admin, posts, [])
    page = await add(world.stores_a, "The bridge")
    list_id = page.shared_list.list_id
    await lists.add_item(list_id, ItemKind.STORY, posts[0], stores=world.stores_a, by="anna")
    item = (await lists.read_list(list_id, stores=world.stores_a, limit=50)).items[0]
    assert item.item.kind is ItemKind.STORY
    assert item.channels >= 1
    with pytest.raises(Missing):
        await lists.add_item(
            list_id,
            ItemKind.STORY,
            PostId(world.only_a[0], MessageId(3)),
            stores=world.stores_a,
            by="anna",
        )


async def test_names_and_notes_have_limits(world: World) -> None:
    stores, page = world.stores_a, await add(world.stores_a, "The bridge")
    for name in ("", "  ", "x" * 81):
        with pytest.raises(Rejected):
            await lists.create_list(name, stores=stores, created_by="anna")
    with pytest.raises(Conflicting):
        await lists.create_list(" The  bridge ", stores=stores, created_by="anna")
    with pytest.raises(Rejected):
        await lists.add_item(
            page.shared_list.list_id,
            ItemKind.POST,
            PostId(world.only_a[0], MessageId(1)),
            stores=stores,
            by="anna",
            note="x" * (MAX_NOTE + 1),
        )
    other = await lists.create_list("The port", stores=stores, created_by="anna")
    with pytest.raises(Conflicting):
        await lists.rename_list(other.list_id, "The bridge", stores=stores)
    assert (await lists.rename_list(other.list_id, "The port", stores=stores)).name == "The port"


async def test_a_tenant_has_so_many_lists_and_no_more(world: World, admin: Admin) -> None:
    await fill_lists(admin, world.a)
    with pytest.raises(Conflicting) as refusal:
        await lists.create_list("one more", stores=world.stores_a, created_by="anna")
    assert refusal.value.reason.code == "lists_too_many"


async def fill_lists(admin: Admin, tenant_id: TenantId) -> None:
    await admin.execute(
        "INSERT INTO lists (tenant_id, name, created_by) SELECT $1, n::text, 'anna' "
        "FROM generate_series(1, $2::int) n",
        tenant_id,
        MAX_LISTS,
    )
