"""Lists on pages: beginning one, adding a post to it, notes, the order, and what viewers may do."""

import re

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.web_clients import Browser, member_browser
from tests.conftest import Admin
from tests.web.feed.test_feed import make_followed


def items_in(page: str) -> list[str]:
    return re.findall(r'id="i-([0-9a-f-]{36})"', page)


async def test_a_post_goes_to_a_new_list_and_the_list_is_ordered_noted_and_deleted(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_followed(system, admin, tenant_id, "The bridge is closed", "The bridge is open")
    page = (await owner.open(f"./post/{channel_id}/1")).text
    assert f"/lists/add?kind=post&amp;post={channel_id}/1" in page
    answer = await owner.submit("./lists/add", post=f"{channel_id}/1", name="Bridges", note="ask\nthem")
    address = answer.headers["location"].partition("?")[0]
    page = (await owner.open(address)).text
    assert "The bridge is closed" in page
    assert "ask\nthem" in page
    list_id = address.rpartition("/")[2]
    note = await owner.submit(
        "./lists/add", headers={"HX-Request": "true"}, post=f"{channel_id}/2", list=list_id
    )
    assert "Added to the list" in note.text
    assert "undo" in note.text
    first, second = items_in((await owner.open(address)).text)
    await owner.submit(f"./lists/{list_id}/items/{second}", position="1")
    assert items_in((await owner.open(address)).text) == [second, first]
    await owner.submit(f"./lists/{list_id}/items/{second}", note="see the map")
    assert "see the map" in (await owner.open(address)).text
    gone = await owner.submit(f"./lists/{list_id}/items/{second}/remove")
    page = (await owner.open(gone.headers["location"])).text
    assert items_in(page) == [first]
    assert f"/items/{second}/restore" in page
    await owner.submit(f"./lists/{list_id}/items/{second}/restore")
    assert items_in((await owner.open(address)).text) == [second, first]
    await owner.submit(f"./lists/{list_id}/rename", name="Crossings")
    assert ">Crossings</a>" in (await owner.open("./lists")).text
    assert (await owner.submit("./lists", name="Crossings")).status_code == 409
    await owner.open("./lists")
    await owner.submit(f"./lists/{list_id}/delete")
    assert "Crossings" not in (await owner.open("./lists")).text
    assert (await owner.open(address)).status_code == 404


async def test_a_viewer_reads_lists_and_is_offered_no_change(
    app: App, owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_followed(system, admin, tenant_id, "The bridge is closed")
    await owner.open("./lists")
    answer = await owner.submit("./lists/add", post=f"{channel_id}/1", name="Bridges")
    address = answer.headers["location"].partition("?")[0]
    async with member_browser(app, tenant_id, role=MemberRole.VIEWER) as viewer:
        page = (await viewer.open(address)).text
        assert "The bridge is closed" in page
        assert f"{address}/" not in page
        assert (await viewer.submit("./lists", name="mine")).status_code == 403
        assert "add to a list" not in (await viewer.open(f"./post/{channel_id}/1")).text


async def test_without_a_choice_the_form_says_what_is_missing(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_followed(system, admin, tenant_id, "The bridge is closed")
    await owner.open("./lists")
    answer = await owner.submit("./lists/add", post=f"{channel_id}/1", name=" ")
    assert answer.status_code == 422
    assert "hoose a list, or give a new one a name" in answer.text
