"""Finding the channels that people ask for."""

import pytest

from telegram_assistant.domain.priority import Priority
from telegram_assistant.errors import Busy
from telegram_assistant.features.channel_lists import Listed
from telegram_assistant.features.channels import follow
from telegram_assistant.stores.postgres.channels import NOT_KNOWN_YET, Subscription
from telegram_assistant.stores.postgres.wishes import Wish, WishKind, WishState
from telegram_simulator.control.operations import Control
from telegram_simulator.world.tiny import CITY, CLUB, CLUB_INVITE, TECH
from tests.conftest import Admin
from tests.ingest.office import PHONE, Office, simulated

WANTED = Subscription(channel_id=NOT_KNOWN_YET, folder="Город", priority=Priority.HIGH)


@pytest.fixture(autouse=True)
async def nothing_known(admin: Admin) -> None:
    await admin.execute("DELETE FROM channel_wishes")


async def ask(office: Office, *references: str) -> list[int]:
    system = office.app.system
    asked = await follow(
        [Listed(one) for one in references],
        tenant_id=office.tenant_id,
        subscription=WANTED,
        channels=system.channels,
        wishes=system.wishes,
        planning=system.planning,
    )
    return [one.wish_id for one in asked if one.wish_id is not None]


async def granted(office: Office, wish_id: int) -> Wish:
    wish = await office.app.system.wishes.claim(office.mine.account_id)
    if wish is not None:
        await office.finder.see_to(wish)
    (answer,) = await office.app.system.wishes.of([wish_id])
    return answer


async def test_a_name_is_resolved_followed_and_given_to_the_account(office: Office, control: Control, admin: Admin) -> None:
    channel = simulated(control, posts=2)
    (wish_id,) = await ask(office, f"@{channel.username}")
    answer = await granted(office, wish_id)
    assert (answer.state, answer.channel_id, answer.answer) == (WishState.DONE, channel.channel_id, channel.title)
    row = await admin.fetchrow("SELECT folder, priority FROM subscriptions WHERE channel_id = $1", channel.channel_id)
    assert row is not None
    assert (row["folder"], row["priority"]) == ("Город", "high")
    await office.poll(channel.channel_id)
    assert len(await office.stored(channel.channel_id)) == 2


async def test_a_name_is_resolved_once_ever(office: Office, control: Control) -> None:
    channel = simulated(control, posts=2)
    (wish_id,) = await ask(office, f"@{channel.username}")
    await granted(office, wish_id)
    before = office.calls("contacts.resolveUsername")
    assert await ask(office, f"https://t.me/{channel.username}") == []
    assert office.calls("contacts.resolveUsername") == before


async def test_a_name_that_does_not_exist_is_answered_in_words(office: Office) -> None:
    (wish_id,) = await ask(office, "@nobody_has_this")
    answer = await granted(office, wish_id)
    assert (answer.state, answer.answer) == (WishState.FAILED, "there is no @nobody_has_this on Telegram")


async def test_an_invitation_opens_a_private_channel_for_this_tenant_only(office: Office, admin: Admin) -> None:
    (wish_id,) = await ask(office, f"https://t.me/+{CLUB_INVITE}")
    answer = await granted(office, wish_id)
    assert (answer.state, answer.channel_id) == (WishState.DONE, CLUB)
    row = await admin.fetchrow("SELECT is_private, protected FROM channels WHERE channel_id = $1", CLUB)
    assert row is not None
    assert (row["is_private"], row["protected"]) == (True, True)
    await office.poll(CLUB)
    assert await office.stored(CLUB)
    (again,) = await ask(office, f"https://t.me/+{CLUB_INVITE}")
    assert (await granted(office, again)).state is WishState.DONE


async def test_the_channels_an_account_has_joined_are_followed_page_by_page(office: Office, control: Control) -> None:
    joined = [CITY, TECH, *(simulated(control, posts=1, newest_age=number).channel_id for number in range(230))]
    control.account(PHONE, joined=joined)
    wish_id = await office.app.system.wishes.add(office.tenant_id, WishKind.DIALOGS, "", WANTED)
    assert (await granted(office, wish_id)).answer == "232 channels"
    assert office.calls("messages.getDialogs") == 3


async def test_floodwait_on_page_n_of_dialogs_resumes_at_page_n(office: Office, control: Control, admin: Admin) -> None:
    control.account(PHONE, joined=[simulated(control, posts=1, newest_age=number).channel_id for number in range(230)])
    wish_id = await office.app.system.wishes.add(office.tenant_id, WishKind.DIALOGS, "", WANTED)
    control.set_limit("messages.getDialogs", [(2, 60, 28)])
    with pytest.raises(Busy):
        await granted(office, wish_id)
    found = await admin.fetchval("SELECT count(*) FROM account_channels WHERE account_id = $1", office.mine.account_id)
    assert found == 200
    control.set_limit("messages.getDialogs", [])
    control.forgive()
    office.skipping.waits.append(60)
    await admin.execute("UPDATE channel_wishes SET next_try_at = now()")
    calls = office.calls("messages.getDialogs")
    assert (await granted(office, wish_id)).state is WishState.DONE
    assert office.calls("messages.getDialogs") - calls == 1
    assert await admin.fetchval("SELECT count(*) FROM account_channels WHERE account_id = $1", office.mine.account_id) == 230


async def test_a_failed_chat_list_refresh_does_not_stop_capture(office: Office, control: Control) -> None:
    channel = simulated(control, posts=2)
    channel_id = await office.follow(channel)
    await office.app.system.wishes.add(office.tenant_id, WishKind.DIALOGS, "", WANTED)
    control.fail("messages.getDialogs", times=5, code=420, message="FLOOD_WAIT_3600")
    with pytest.raises(Busy):
        await granted(office, 0)
    await office.poll(channel_id)
    assert len(await office.stored(channel_id)) == 2
