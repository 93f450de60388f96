"""Following what is behind a link to a folder, and the folders of an account with what becomes of them."""

import asyncio

import pytest

from telegram_assistant.domain.channels.channel_requests import RequestKind, RequestState
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.errors import Busy
from telegram_assistant.features.channels.channel_lists import ListedChannel
from telegram_assistant.features.channels.channels import follow
from telegram_assistant.ingest.folders import GONE
from telegram_assistant.stores.postgres.channels.channel_requests import ChannelRequest
from telegram_assistant.stores.postgres.channels.channels import NOT_KNOWN_YET, Subscription
from telegram_simulator.control.operations import Control
from telegram_simulator.control.other_apps import OtherApps
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.tiny import CLUB
from tests.conftest import Admin
from tests.ingest.office import PHONE, Office, simulate_channel
from tests.streams.conftest import until

WANTED = Subscription(channel_id=NOT_KNOWN_YET, folder="Новости")
SLUG = "AbCdEf_123-xyz"


@pytest.fixture(autouse=True)
async def nothing_known(admin: Admin) -> None:
    await admin.execute("DELETE FROM channel_requests")
    await admin.execute("DELETE FROM followed_folders")


@pytest.fixture
def other_apps(sim: Simulator) -> OtherApps:
    return OtherApps(sim)


async def serve_request(office: Office, kind: RequestKind, reference: str) -> ChannelRequest:
    return await office.serve_request(await office.request(kind, reference, WANTED))


async def load_followed(office: Office) -> set[int]:
    return {
        channel.channel_id
        for channel in await office.app.tenant(office.tenant_id).followed.channels()
        if channel.active
    }


async def check_due(office: Office, admin: Admin) -> int:
    """An hour later."""
    await admin.execute("UPDATE followed_folders SET next_look_at = now()")
    return await office.resolver.folders.check_due()


async def test_a_link_to_a_folder_is_followed_without_joining(
    office: Office, control: Control, other_apps: OtherApps, sim: Simulator
) -> None:
    first, second = simulate_channel(control, posts=2), simulate_channel(control, posts=1)
    group = control.add_channel("Соседи", "sosedi_chat", group=True)
    link = other_apps.share_folder(
        SLUG, "Новости", [first.channel_id, group.channel_id, CLUB, second.channel_id]
    )
    stores, before = office.app.tenant(office.tenant_id), set(sim.world.account(PHONE).joined)
    (requested,) = await follow([ListedChannel(link)], WANTED, stores=stores)
    assert str(requested.written) == "https://t.me/addlist/AbCd…"
    assert requested.request_id is not None
    answer = await office.serve_request(requested.request_id)
    assert (answer.state, str(answer.outcome)) == (
        RequestState.DONE,
        "2 channels; left out: 1 group, 1 private channel that the account has not joined",
    )
    assert await load_followed(office) == {first.channel_id, second.channel_id}
    assert sim.world.account(PHONE).joined == before
    assert office.calls("contacts.resolveUsername") == 0
    await office.poll(first.channel_id)
    assert len(await office.load_texts(first.channel_id)) == 2


async def test_a_link_that_has_expired_is_told_in_words(office: Office) -> None:
    answer = await serve_request(office, RequestKind.LIST, SLUG)
    assert (answer.state, str(answer.outcome)) == (
        RequestState.FAILED,
        "the link to the folder is no longer valid",
    )


async def test_a_folder_is_followed_with_what_is_put_in_and_taken_out_later(
    office: Office, control: Control, other_apps: OtherApps, admin: Admin
) -> None:
    stays, goes, comes = (simulate_channel(control, posts=1) for _ in range(3))
    group = control.add_channel("Соседи", "sosedi_folder", group=True)
    number = other_apps.put_into_folder(
        PHONE, "Новости", [stays.channel_id, goes.channel_id, group.channel_id]
    )
    answer = await serve_request(office, RequestKind.FOLDER, "новости")
    assert (answer.state, str(answer.outcome)) == (RequestState.DONE, "2 channels; left out: 1 group")
    assert await load_followed(office) == {stays.channel_id, goes.channel_id}

    other_apps.put_into_folder(
        PHONE, "News", [stays.channel_id, group.channel_id, comes.channel_id], number=number
    )
    assert await office.resolver.folders.check_due() == 0  # not due yet
    assert await check_due(office, admin) == 1
    assert await load_followed(office) == {stays.channel_id, comes.channel_id}
    (status,) = await office.app.system.folders.list_for_tenant(office.tenant_id)
    assert (status.title, status.chats, status.followed, status.trouble) == ("News", 3, 2, None)
    await office.poll(comes.channel_id)
    assert len(await office.load_texts(comes.channel_id)) == 1


async def test_what_has_not_changed_costs_one_request(
    office: Office, control: Control, other_apps: OtherApps, admin: Admin
) -> None:
    other_apps.put_into_folder(PHONE, "Новости", [simulate_channel(control, posts=1).channel_id])
    await serve_request(office, RequestKind.FOLDER, "Новости")
    before = office.sim.counters.calls.total()
    await check_due(office, admin)
    assert office.sim.counters.calls.total() - before == 1


async def test_a_channel_that_was_left_by_hand_is_not_followed_again(
    office: Office, control: Control, other_apps: OtherApps, admin: Admin
) -> None:
    left, remaining = simulate_channel(control, posts=1), simulate_channel(control, posts=1)
    other_apps.put_into_folder(PHONE, "Новости", [left.channel_id, remaining.channel_id])
    await serve_request(office, RequestKind.FOLDER, "Новости")
    await office.app.tenant(office.tenant_id).followed.leave(ChannelId(left.channel_id))
    await check_due(office, admin)
    assert await load_followed(office) == {remaining.channel_id}


async def test_a_channel_that_was_followed_by_hand_stays_when_it_is_taken_out(
    office: Office, control: Control, other_apps: OtherApps, admin: Admin
) -> None:
    before, after, brought = (simulate_channel(control, posts=1) for _ in range(3))
    await office.follow(before)
    other_apps.put_into_folder(PHONE, "Новости", [channel.channel_id for channel in (before, after, brought)])
    await serve_request(office, RequestKind.FOLDER, "Новости")
    await office.follow(after)  # somebody asks for it although it is there
    other_apps.put_into_folder(PHONE, "Новости", [])
    await check_due(office, admin)
    assert await load_followed(office) == {before.channel_id, after.channel_id}


async def test_a_channel_in_two_folders_is_followed_until_it_is_in_none(
    office: Office, control: Control, other_apps: OtherApps, admin: Admin
) -> None:
    channel = simulate_channel(control, posts=1)
    for title in ("Новости", "Город"):
        other_apps.put_into_folder(PHONE, title, [channel.channel_id])
        await serve_request(office, RequestKind.FOLDER, title)
    other_apps.put_into_folder(PHONE, "Новости", [])
    await check_due(office, admin)
    assert await load_followed(office) == {channel.channel_id}
    other_apps.put_into_folder(PHONE, "Город", [])
    await check_due(office, admin)
    assert await load_followed(office) == set()


async def test_a_folder_of_all_channels_has_what_was_joined_but_what_was_taken_out(
    office: Office, control: Control, other_apps: OtherApps, admin: Admin
) -> None:
    first, second, third = (simulate_channel(control, posts=1, newest_age=number) for number in range(3))
    control.account(PHONE, joined=[first.channel_id, second.channel_id])
    other_apps.put_into_folder(PHONE, "Каналы", [], all_channels=True, without=[second.channel_id])
    await serve_request(office, RequestKind.FOLDER, "Каналы")
    assert await load_followed(office) == {first.channel_id}
    control.account(PHONE, joined=[first.channel_id, second.channel_id, third.channel_id])
    office.skipping.waits.append(60)
    await check_due(office, admin)
    assert await load_followed(office) == {first.channel_id, third.channel_id}


async def test_a_private_channel_of_the_account_is_followed_and_one_that_is_shut_is_left_out(
    office: Office, control: Control, other_apps: OtherApps
) -> None:
    shut, open_one = simulate_channel(control, posts=1), simulate_channel(control, posts=1)
    control.change_channel(shut.channel_id, ban=PHONE)
    control.account(PHONE, joined=[CLUB])
    other_apps.put_into_folder(PHONE, "Клубы", [CLUB, shut.channel_id, open_one.channel_id])
    answer = await serve_request(office, RequestKind.FOLDER, "Клубы")
    assert str(answer.outcome) == "2 channels; left out: 1 private channel that the account has not joined"
    assert await load_followed(office) == {CLUB, open_one.channel_id}


async def test_a_folder_that_is_gone_or_never_was_is_told_of_and_takes_nothing_away(
    office: Office, control: Control, other_apps: OtherApps, admin: Admin
) -> None:
    channel = simulate_channel(control, posts=1)
    number = other_apps.put_into_folder(PHONE, "Новости", [channel.channel_id])
    none = await serve_request(office, RequestKind.FOLDER, "Работа")
    assert (
        str(none.outcome)
        == f"account {office.mine.account_id} has no folder 'Работа' in Telegram; it has: Новости"
    )
    await serve_request(office, RequestKind.FOLDER, "Новости")
    other_apps.drop_folder(PHONE, number)
    await check_due(office, admin)
    assert await load_followed(office) == {channel.channel_id}
    (status,) = await office.app.system.folders.list_for_tenant(office.tenant_id)
    assert status.trouble == GONE


async def test_a_look_that_telegram_puts_off_comes_back_soon(
    office: Office, control: Control, other_apps: OtherApps, admin: Admin
) -> None:
    channel = simulate_channel(control, posts=1)
    other_apps.put_into_folder(PHONE, "Новости", [])
    await serve_request(office, RequestKind.FOLDER, "Новости")
    other_apps.put_into_folder(PHONE, "Новости", [channel.channel_id])
    control.fail("messages.getDialogFilters", code=420, message="FLOOD_WAIT_600")
    with pytest.raises(Busy):
        await check_due(office, admin)
    due_in = await admin.fetchval("SELECT extract(epoch FROM next_look_at - now()) FROM followed_folders")
    assert 240 < due_in <= 300
    office.skipping.waits.append(1000)
    await check_due(office, admin)
    assert await load_followed(office) == {channel.channel_id}


async def test_an_account_at_work_looks_by_itself(
    office: Office, control: Control, other_apps: OtherApps, admin: Admin
) -> None:
    channel = simulate_channel(control, posts=1)
    other_apps.put_into_folder(PHONE, "Новости", [])
    await serve_request(office, RequestKind.FOLDER, "Новости")
    other_apps.put_into_folder(PHONE, "Новости", [channel.channel_id])
    await admin.execute("UPDATE followed_folders SET next_look_at = now()")
    working = asyncio.create_task(office.resolver.run(office.stopping))

    async def is_followed() -> bool:
        return await load_followed(office) == {channel.channel_id}

    await until(is_followed)
    office.stopping.set()
    await asyncio.wait_for(working, 60)


@pytest.mark.parametrize("with_channels", [True, False])
async def test_a_folder_that_is_left_leaves_its_channels_or_takes_them_along(
    office: Office, control: Control, other_apps: OtherApps, admin: Admin, *, with_channels: bool
) -> None:
    by_hand, brought = simulate_channel(control, posts=1), simulate_channel(control, posts=1)
    await office.follow(by_hand)
    other_apps.put_into_folder(PHONE, "Новости", [by_hand.channel_id, brought.channel_id])
    await serve_request(office, RequestKind.FOLDER, "Новости")
    (status,) = await office.app.system.folders.list_for_tenant(office.tenant_id)
    assert (
        await office.app.system.folders.leave(office.tenant_id, status.folder_id, with_channels=with_channels)
        == with_channels
    )
    assert await load_followed(office) == (
        {by_hand.channel_id} if with_channels else {by_hand.channel_id, brought.channel_id}
    )
    assert await check_due(office, admin) == 0
