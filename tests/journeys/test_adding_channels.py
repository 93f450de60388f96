"""A person adds channels on the pages in every way there is,
and sees what the account at the simulator made of it.
"""

from typing import Any

import pytest

from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.features.channels.joined_channels import LIST_AGAIN_AFTER, list_joined
from telegram_simulator.control.operations import Control
from telegram_simulator.control.other_apps import OtherApps
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.tiny import CLUB, CLUB_INVITE
from testkit.factories import make_tenant
from testkit.web_clients import Browser, member_browser
from tests.conftest import Admin
from tests.ingest.office import PHONE, Office, simulate_channel

DIALOGS = "messages.getDialogs"


@pytest.fixture(autouse=True)
async def nothing_known(admin: Admin) -> None:
    await admin.execute("DELETE FROM channel_requests")
    await admin.execute("DELETE FROM followed_folders")
    await admin.execute("DELETE FROM joined_channels")
    await admin.execute("UPDATE channels SET is_active = false")


async def serve_all(office: Office) -> None:
    while await office.resolver.turn():
        pass


async def load_followed(office: Office) -> set[int]:
    return {
        channel.channel_id
        for channel in await office.app.tenant(office.tenant_id).followed.channels()
        if channel.active
    }


async def send(browser: Browser, path: str, **fields: Any) -> None:
    await browser.open("./channels/add")
    answer = await browser.submit(path, **fields)
    assert answer.status_code == 303, answer.text


async def test_names_links_invitations_shared_folders_and_pasted_lists_are_followed_with_their_options(
    office: Office, control: Control, sim: Simulator
) -> None:
    by_name, by_link, in_list = (simulate_channel(control, posts=1) for _ in range(3))
    shared = OtherApps(sim).share_folder(
        "AbCdEf_adding", "Новости", [simulate_channel(control, posts=1).channel_id]
    )
    lines = (
        f"@{by_name.username}, https://t.me/{by_link.username}\nhttps://t.me/+{CLUB_INVITE}\n{shared}\n"
        f"{in_list.username}  # a remark\n"
    )
    async with member_browser(office.app, office.tenant_id) as browser:
        await send(browser, "./channels/add", text=lines, folder="Город", priority="high", history_days="30")
        assert "waiting 5" in (await browser.open("./channels/requests")).text
        await serve_all(office)
        page = (await browser.open("./channels/requests")).text
    assert "followed 5" in page
    assert 'id="reload"' not in page
    own = await office.app.tenant(office.tenant_id).followed.channels()
    assert {by_name.channel_id, by_link.channel_id, in_list.channel_id, CLUB} < {
        channel.channel_id for channel in own
    }
    assert {(channel.folder, channel.priority, channel.history_days) for channel in own} == {
        ("Город", Priority.HIGH, 30)
    }


@pytest.mark.parametrize("name", ["list.txt", "list.csv", "list.opml"])
async def test_a_file_is_followed_with_its_folders(office: Office, control: Control, name: str) -> None:
    channel = simulate_channel(control, posts=1)
    content = {
        "list.txt": f"\ufeff# channels\nhttps://t.me/{channel.username}\n",
        "list.csv": f"Title;Channel;Folder\nx;@{channel.username};Город\n",
        "list.opml": (
            '<opml><body><outline text="Город"><outline text="x" '
            f'htmlUrl="https://t.me/{channel.username}"/></outline></body></opml>'
        ),
    }[name]
    async with member_browser(office.app, office.tenant_id) as browser:
        await browser.open("./channels/add")
        answer = await browser.upload("./channels/add", name, content.encode())
        assert answer.status_code == 303, answer.text
        await serve_all(office)
    (followed_channel,) = await office.app.tenant(office.tenant_id).followed.channels()
    assert (followed_channel.channel_id, followed_channel.folder) == (
        channel.channel_id,
        None if name == "list.txt" else "Город",
    )


async def test_a_folder_of_the_account_is_followed_by_its_title(
    office: Office, control: Control, sim: Simulator
) -> None:
    channel = simulate_channel(control, posts=1)
    OtherApps(sim).put_into_folder(PHONE, "Новости", [channel.channel_id])
    async with member_browser(office.app, office.tenant_id) as browser:
        await send(browser, "./channels/add/folder", title="Новости")
        await send(browser, "./channels/add/folder", title="Нет такой")
        await serve_all(office)
        page = (await browser.open("./channels/requests")).text
    assert await load_followed(office) == {channel.channel_id}
    assert "followed 1" in page
    assert "has no folder" in page


async def test_what_the_account_has_joined_is_listed_and_only_what_is_picked_is_followed(
    office: Office, control: Control, admin: Admin
) -> None:
    picked, left, known = (simulate_channel(control, posts=1) for _ in range(3))
    control.account(PHONE, joined=[picked.channel_id, left.channel_id, known.channel_id, CLUB])
    await office.follow(known)
    before = office.calls(DIALOGS)
    async with member_browser(office.app, office.tenant_id) as browser:
        assert office.calls(DIALOGS) == before
        await send(browser, "./channels/joined")
        assert "The account is loading the list" in (await browser.open("./channels/add")).text
        await serve_all(office)
        page = (await browser.open("./channels/add")).text
        assert all(channel.title in page for channel in (picked, left, known))
        assert f'value="{picked.channel_id}"' in page
        assert f'value="{known.channel_id}"' not in page
        assert await load_followed(office) == {known.channel_id}
        assert (
            await admin.fetchval(
                "SELECT count(*) FROM channels WHERE channel_id = ANY($1)",
                [picked.channel_id, left.channel_id],
            )
            == 0
        )
        requests = office.calls(DIALOGS)
        await send(
            browser, "./channels/joined/follow", channel=[str(picked.channel_id), str(CLUB)], folder="Выбор"
        )
        await serve_all(office)
        assert "followed 2" in (await browser.open("./channels/requests")).text
    assert await load_followed(office) == {known.channel_id, picked.channel_id, CLUB}
    assert (office.calls(DIALOGS), office.calls("contacts.resolveUsername")) == (requests, 0)
    await office.poll(picked.channel_id)
    assert len(await office.load_texts(picked.channel_id)) == 1


async def test_a_list_is_read_again_politely_and_forgets_what_the_account_has_left(
    office: Office, control: Control, admin: Admin
) -> None:
    stays, goes = simulate_channel(control, posts=1), simulate_channel(control, posts=1)
    control.account(PHONE, joined=[stays.channel_id, goes.channel_id])
    stores = office.app.tenant(office.tenant_id)
    async with member_browser(office.app, office.tenant_id) as browser:
        await send(browser, "./channels/joined")
        await browser.open("./channels/add")
        assert (await browser.submit("./channels/joined")).status_code == 409
        await serve_all(office)
        await browser.open("./channels/add")
        assert (await browser.submit("./channels/joined")).status_code == 409
        await admin.execute(
            "UPDATE channel_requests SET answered_at = answered_at - $1::interval", LIST_AGAIN_AFTER
        )
        office.sim.world.account(PHONE).joined.discard(goes.channel_id)
        office.skipping.waits.append(LIST_AGAIN_AFTER.total_seconds())
        await send(browser, "./channels/joined")
        await serve_all(office)
        await send(browser, "./channels/joined/follow", channel=str(goes.channel_id))
        page = (await browser.open("./channels/requests")).text
    assert [
        channel.channel_id for channel in (await list_joined(stores=stores, now=office.now())).channels
    ] == [stays.channel_id]
    assert "failed 1" in page
    assert "is not in the list of joined channels" in page


async def test_another_tenant_sees_neither_the_list_nor_its_requests(
    office: Office, control: Control
) -> None:
    channel = simulate_channel(control, posts=1)
    control.account(PHONE, joined=[channel.channel_id])
    async with member_browser(office.app, office.tenant_id) as browser:
        await send(browser, "./channels/joined")
        await serve_all(office)
        await send(browser, "./channels/joined/follow", channel=str(channel.channel_id))
    stranger = await make_tenant(office.app.system)
    async with member_browser(office.app, stranger) as other:
        assert channel.title not in (await other.open("./channels/add")).text
        await send(other, "./channels/joined/follow", channel=str(channel.channel_id))
        await serve_all(office)
        page = (await other.open("./channels/requests")).text
        assert "is not in the list of joined channels" in page
        assert channel.title not in page
    assert channel.channel_id in await load_followed(office)
    assert await office.app.tenant(stranger).followed.channels() == ()


async def test_a_failed_request_is_tried_again_when_the_cause_is_gone(
    office: Office, control: Control
) -> None:
    name = f"later_{office.tenant_id}"
    async with member_browser(office.app, office.tenant_id) as browser:
        await send(browser, "./channels/add", text=f"@{name}")
        await serve_all(office)
        page = (await browser.open("./channels/requests?fate=failed")).text
        assert f"There is no @{name} on Telegram." in page
        assert "Check the spelling" in page
        channel = control.add_channel("Опоздавший", name)
        await browser.submit("./channels/requests/retry")
        await serve_all(office)
        assert "followed 1" in (await browser.open("./channels/requests")).text
    assert channel.channel_id in await load_followed(office)
