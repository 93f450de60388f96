"""Requests to follow are served by an account: looked up, followed, given to a reader."""

from uuid import UUID

import pytest

from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.domain.channels.channel_requests import RequestKind, RequestState
from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.features.channels.channel_lists import ListedChannel
from telegram_assistant.features.channels.channels import follow
from telegram_assistant.ingest.channel_resolution import LOOK_UP_SECONDS
from telegram_assistant.stores.postgres.channels.channel_requests import ChannelRequest, NewRequest
from telegram_assistant.stores.postgres.channels.channels import NOT_KNOWN_YET, Subscription
from telegram_simulator.control.operations import Control
from telegram_simulator.control.other_apps import OtherApps
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.channel import Channel as SimulatedChannel
from telegram_simulator.world.tiny import CITY, CLUB, CLUB_INVITE, TECH
from testkit.factories import make_channel, make_tenant
from tests.conftest import Admin
from tests.ingest.office import PHONE, Office, simulate_channel

WANTED = Subscription(channel_id=NOT_KNOWN_YET, folder="Город", priority=Priority.HIGH)
RESOLVE = "contacts.resolveUsername"


@pytest.fixture(autouse=True)
async def nothing_known(admin: Admin) -> None:
    await admin.execute("DELETE FROM channel_requests")
    await admin.execute(
        "UPDATE channels SET is_active = false"
    )  # what other tests follow needs nobody's access


@pytest.fixture
def other_apps(sim: Simulator) -> OtherApps:
    return OtherApps(sim)


async def store(office: Office, channel: SimulatedChannel) -> ChannelId:
    """As the account has found it for somebody who follows it no more."""
    channel_id = await office.follow(channel)
    await office.app.tenant(office.tenant_id).followed.leave(channel_id)
    return channel_id


async def ask(office: Office, reference: str, *, tenant_id: TenantId | None = None) -> UUID:
    (requested,) = await follow(
        [ListedChannel(reference)], WANTED, stores=office.app.tenant(tenant_id or office.tenant_id)
    )
    assert requested.request_id is not None
    return requested.request_id


async def fate(office: Office, tenant_id: TenantId, request_id: UUID) -> ChannelRequest:
    (request,) = await office.app.tenant(tenant_id).requests.some([request_id])
    return request


async def test_a_name_is_resolved_followed_and_given_to_the_account(
    office: Office, control: Control, admin: Admin
) -> None:
    channel = simulate_channel(control, posts=2)
    answer = await office.serve_request(await ask(office, f"@{channel.username}"))
    assert (answer.state, answer.channel_id, str(answer.outcome)) == (
        RequestState.DONE,
        channel.channel_id,
        channel.title,
    )
    row = await admin.fetchrow(
        "SELECT folder, priority FROM subscriptions WHERE channel_id = $1", channel.channel_id
    )
    assert row is not None
    assert (row["folder"], row["priority"]) == ("Город", "high")
    await office.poll(channel.channel_id)
    assert len(await office.load_texts(channel.channel_id)) == 2


async def test_a_stored_name_waits_in_the_same_queue_and_is_followed_without_a_look_up(
    office: Office, control: Control
) -> None:
    channel, tenant_id = simulate_channel(control, posts=2), await make_tenant(office.app.system)
    await office.serve_request(await ask(office, f"@{channel.username}"))
    before = office.calls(RESOLVE)
    stored = await ask(
        office, f"https://t.me/{channel.username}".replace("name", "NAME"), tenant_id=tenant_id
    )
    assert (await fate(office, tenant_id, stored)).state is RequestState.OPEN
    assert await office.app.tenant(tenant_id).followed.channels() == ()
    await office.resolver.turn()
    answer = await fate(office, tenant_id, stored)
    assert (answer.state, answer.channel_id, str(answer.outcome)) == (
        RequestState.DONE,
        channel.channel_id,
        channel.title,
    )
    assert [channel.channel_id for channel in await office.app.tenant(tenant_id).followed.channels()] == [
        channel.channel_id
    ]
    assert office.calls(RESOLVE) == before


async def test_stored_and_unknown_names_are_answered_at_the_same_pace(
    office: Office, control: Control
) -> None:
    """Six names each: a burst of four, then what an account with budget left may look up in a minute;
    none within a second.
    """
    unknown = [simulate_channel(control, posts=1) for _ in range(6)]
    stored = [simulate_channel(control, posts=1) for _ in range(6)]
    for channel in stored:
        await store(office, channel)
    took = []
    for channels in (unknown, stored):
        office.skipping.waits.append(3600)  # what was used up has come back
        begun = office.skipping.now()
        for channel in channels:
            answer = await office.serve_request(await ask(office, f"@{channel.username}"))
            assert answer.state is RequestState.DONE
        took.append(office.skipping.now() - begun)
    assert office.calls(RESOLVE) == 6
    assert took[1] == pytest.approx(took[0], abs=1.0)
    assert min(took) > 6 * LOOK_UP_SECONDS


async def test_a_request_that_no_account_can_take_waits_stored_or_not(
    office: Office, control: Control
) -> None:
    channel = simulate_channel(control, posts=1)
    await store(office, channel)
    await office.app.system.accounts.set_state(office.mine.account_id, AccountState.PAUSED)
    requests = [await ask(office, f"@{channel.username}"), await ask(office, "@not_stored_at_all")]
    for request_id in requests:
        answer = await office.serve_request(request_id)
        assert (answer.state, answer.outcome, answer.channel_id) == (RequestState.OPEN, None, None)


async def test_names_without_look_ups_left_hold_back_neither_folders_nor_stored_names(
    office: Office, control: Control, other_apps: OtherApps, admin: Admin
) -> None:
    stored, listed = simulate_channel(control, posts=1), simulate_channel(control, posts=1)
    await store(office, stored)
    link = other_apps.share_folder("AbCdEf", "Новости", [listed.channel_id])
    control.fail(RESOLVE, times=100, code=420, message="FLOOD_WAIT_3600")
    names = [await ask(office, f"@unknown_name_{number}") for number in range(3)]
    others = [await ask(office, link), await ask(office, f"@{stored.username}")]
    while await office.resolver.turn():
        pass
    assert [(await fate(office, office.tenant_id, name)).state for name in names] == [RequestState.OPEN] * 3
    assert [(await fate(office, office.tenant_id, other)).state for other in others] == [
        RequestState.DONE
    ] * 2
    assert office.calls(RESOLVE) == 1  # and nobody asks again before the wait is over
    control.forgive()
    assert (
        await admin.fetchval(
            "SELECT count(*) FROM channel_requests WHERE state = 'open' AND taken_at IS NOT NULL"
        )
        == 0
    )


async def test_a_single_name_is_served_beside_thousands_of_another_tenant(
    office: Office, control: Control
) -> None:
    greedy, modest = await make_tenant(office.app.system), await make_tenant(office.app.system)
    names = [NewRequest(RequestKind.USERNAME, f"bogus_name_{number}", WANTED) for number in range(5000)]
    assert None not in await office.app.tenant(greedy).requests.add(names)
    channel = simulate_channel(control, posts=1)
    request_id = await ask(office, f"@{channel.username}", tenant_id=modest)
    for _ in range(2):
        await office.resolver.turn()
    assert (await fate(office, modest, request_id)).state is RequestState.DONE


async def test_a_name_that_does_not_exist_is_answered_in_words(office: Office) -> None:
    answer = await office.serve_request(await ask(office, "@nobody_has_this"))
    assert (answer.state, str(answer.outcome)) == (
        RequestState.FAILED,
        "there is no @nobody_has_this on Telegram",
    )


async def test_an_account_that_cannot_open_a_followed_channel_looks_it_up_and_reads_it(
    office: Office, control: Control
) -> None:
    """Others have brought the channel; asking for it now is answered as if the account had."""
    channel = simulate_channel(control, posts=2)
    channel_id = await make_channel(
        office.app.system, channel_id=channel.channel_id, username=channel.username
    )
    await office.app.system.channels.subscribe(office.tenant_id, Subscription(channel_id=channel_id))
    assert await office.app.tenant(office.tenant_id).followed.poll(channel_id, mode=None, first=False)
    assert await office.app.tenant(office.tenant_id).requests.page(None, limit=10) == ()
    assert await office.resolver.turn()
    row = await office.load_schedule(channel_id)
    assert row["account_id"] == office.mine.account_id
    await office.reading.turn()
    assert len(await office.load_texts(channel_id)) == 2


async def test_an_invitation_opens_a_private_channel_for_this_tenant_only(
    office: Office, admin: Admin
) -> None:
    answer = await office.serve_request(await ask(office, f"https://t.me/+{CLUB_INVITE}"))
    assert (answer.state, answer.channel_id) == (RequestState.DONE, CLUB)
    row = await admin.fetchrow("SELECT is_private, protected FROM channels WHERE channel_id = $1", CLUB)
    assert row is not None
    assert (row["is_private"], row["protected"]) == (True, True)
    await office.poll(CLUB)
    assert await office.load_texts(CLUB)
    assert (
        await office.serve_request(await ask(office, f"https://t.me/+{CLUB_INVITE}"))
    ).state is RequestState.DONE


async def test_the_channels_an_account_has_joined_are_followed_page_by_page(
    office: Office, control: Control
) -> None:
    joined = [
        CITY,
        TECH,
        *(simulate_channel(control, posts=1, newest_age=number).channel_id for number in range(230)),
    ]
    control.account(PHONE, joined=joined)
    answer = await office.serve_request(await office.request(RequestKind.DIALOGS, "", WANTED))
    assert str(answer.outcome) == "232 channels"
    assert office.calls("messages.getDialogs") == 3


async def test_floodwait_on_page_n_of_dialogs_resumes_at_page_n(
    office: Office, control: Control, admin: Admin
) -> None:
    control.account(
        PHONE,
        joined=[simulate_channel(control, posts=1, newest_age=number).channel_id for number in range(230)],
    )
    request_id = await office.request(RequestKind.DIALOGS, "", WANTED)
    control.set_limit("messages.getDialogs", [(2, 60, 28)])
    assert (await office.serve_request(request_id)).state is RequestState.OPEN
    dialogs = await admin.fetchval(
        "SELECT count(*) FROM account_channels WHERE account_id = $1", office.mine.account_id
    )
    assert dialogs == 200
    control.set_limit("messages.getDialogs", [])
    control.forgive()
    office.skipping.waits.append(60)
    calls = office.calls("messages.getDialogs")
    assert (await office.serve_request(request_id)).state is RequestState.DONE
    assert office.calls("messages.getDialogs") - calls == 1
    assert (
        await admin.fetchval(
            "SELECT count(*) FROM account_channels WHERE account_id = $1", office.mine.account_id
        )
        == 230
    )


async def test_a_failed_chat_list_refresh_does_not_stop_capture(office: Office, control: Control) -> None:
    channel = simulate_channel(control, posts=2)
    channel_id = await office.follow(channel)
    request_id = await office.request(RequestKind.DIALOGS, "", WANTED)
    control.fail("messages.getDialogs", times=5, code=420, message="FLOOD_WAIT_3600")
    assert (await office.serve_request(request_id)).state is RequestState.OPEN
    await office.poll(channel_id)
    assert len(await office.load_texts(channel_id)) == 2
