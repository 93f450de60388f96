"""How far updates were seen outlives the process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import SecretStr
from telethon import events
from telethon.sessions import StringSession

from telegram_assistant.domain.ids import AccountId
from telegram_assistant.domain.updates import ACCOUNT_ITSELF, SeenUpdates
from telegram_assistant.settings import TelegramSettings
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.telegram.client import make_client
from telegram_assistant.telegram.session import KeptSession, session_of
from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.tiny import CITY
from tests.conftest import Admin
from tests.simulator.conftest import PHONE
from tests.streams.conftest import until


@asynccontextmanager
async def listening(session: Any, account: TelegramSettings) -> AsyncIterator[list[int]]:
    """The ids of new posts, as they come."""
    heard: list[int] = []
    client = make_client(session, account, receive_updates=True, catch_up=True)

    async def hear(event: Any) -> None:
        heard.append(event.message.id)

    client.add_event_handler(hear, events.NewMessage())
    await client.connect()
    try:
        yield heard
    finally:
        await client.disconnect()


async def heard_all(heard: list[int], count: int) -> bool:
    return len(heard) >= count


@pytest.fixture
def kept(account: TelegramSettings, account_id: AccountId, system: SystemStores) -> Any:
    return lambda: session_of(account.session_string.get_secret_value(), account_id=account_id, states=system.push_states)


def forgetful(account: TelegramSettings) -> Any:
    return lambda: StringSession(account.session_string.get_secret_value())


@pytest.mark.parametrize(("keeps", "delivered"), [(True, 30), (False, 0)], ids=["ours", "Telethon's own"])
async def test_a_restart_delivers_what_was_missed(account: TelegramSettings, kept: Any, control: Control, keeps: bool, delivered: int) -> None:
    make_session = kept if keeps else forgetful(account)
    async with listening(make_session(), account) as heard:
        control.post(CITY, "Первая новость.")
        await until(lambda: heard_all(heard, 1))
    missed = [control.post(CITY, f"Новость {number}.").message_id for number in range(30)]
    async with listening(make_session(), account) as heard:
        if delivered:
            await until(lambda: heard_all(heard, delivered))
        else:
            await asyncio.sleep(0.3)
    assert heard == missed[:delivered]


async def test_what_is_kept_is_the_accounts_own_state_and_one_number_per_channel(
    account: TelegramSettings, kept: Any, control: Control, system: SystemStores, account_id: AccountId, sim: Simulator
) -> None:
    async with listening(kept(), account) as heard:
        control.post(CITY, "Первая новость.")
        await until(lambda: heard_all(heard, 1))
    states = {one.channel_id: one for one in await system.push_states.of(account_id)}
    channel = sim.world.channel(CITY)
    assert channel is not None
    assert states[CITY] == SeenUpdates(CITY, channel.pts)
    itself = states[ACCOUNT_ITSELF]
    assert itself.pts == sim.world.account(PHONE).pts
    assert itself.moment is not None
    assert abs(itself.moment - datetime.now(UTC)) < timedelta(minutes=1)


async def test_access_hashes_come_from_what_the_account_has_opened(kept: Any, system: SystemStores, account_id: AccountId, admin: Admin) -> None:
    session: KeptSession = kept()
    await system.push_states.save(account_id, [SeenUpdates(7, 1), SeenUpdates(8, 1)])
    await admin.execute("INSERT INTO account_channels (account_id, channel_id, access_hash) VALUES ($1, 7, 70), ($1, 9, 90)", account_id)
    await session.get_update_states()
    assert session.get_input_entity(7).access_hash == 70
    for unknown in (8, 9, "gorod_news"):
        with pytest.raises(ValueError, match="not kept"):
            session.get_input_entity(unknown)


async def test_nothing_is_written_for_who_was_never_logged_in(system: SystemStores, account_id: AccountId, sim: Simulator) -> None:
    session = session_of("", account_id=account_id, states=system.push_states)
    session.set_dc(2, sim.host, sim.ports[2])
    client = make_client(session, TelegramSettings(api_id=1, api_hash=SecretStr("any")))
    await client.connect()
    await client.disconnect()
    assert await system.push_states.of(account_id) == ()
    assert session.login.startswith("1")
