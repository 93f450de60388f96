"""Walking over the channels of one account."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.ingest.walk import walk
from telegram_assistant.settings import TelegramSettings
from telegram_assistant.stores.postgres.channels import Channel, Subscription
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.telemetry.health import Health
from telegram_simulator.control.operations import Control
from telegram_simulator.world.tiny import CITY, TECH
from tests.conftest import Admin
from tests.factories import make_tenant
from tests.streams.conftest import until
from tests.telegram.conftest import reading


@asynccontextmanager
async def walking(account: TelegramSettings, system: SystemStores, health: Health) -> AsyncIterator[None]:
    stopping = asyncio.Event()

    async def run() -> None:
        async with reading(account) as reader:
            await walk(reader, channels=system.channels, landing=system.landing, health=health, stopping=stopping)

    task = asyncio.create_task(run())
    try:
        yield
    finally:
        stopping.set()
        await asyncio.wait_for(task, 20)


@pytest.fixture
async def subscribed(system: SystemStores, admin: Admin) -> AsyncIterator[None]:
    """Somebody follows the city, and nobody the other channel."""
    tenant_id = await make_tenant(system)
    for channel_id in (CITY, TECH):
        await system.channels.register(Channel(channel_id=ChannelId(channel_id), title="x"))
    await system.channels.subscribe(tenant_id, Subscription(channel_id=ChannelId(CITY)))
    yield
    for table in ("subscriptions", "posts", "post_versions", "coverage", "outbox", "poll_schedule", "channels"):
        await admin.execute(f"DELETE FROM {table} WHERE channel_id = ANY($1::bigint[])", [CITY, TECH])


@pytest.mark.usefixtures("subscribed")
async def test_what_somebody_follows_is_landed_and_nothing_else(
    account: TelegramSettings, control: Control, system: SystemStores, admin: Admin
) -> None:
    health = Health(probes={})
    async with walking(account, system, health):
        await until(lambda: _stored(admin, CITY, 40), seconds=20)
        control.post(CITY, "Свежая новость.")
        await until(lambda: _stored(admin, CITY, 41), seconds=20)
    assert await admin.fetchval("SELECT count(*) FROM posts WHERE channel_id = $1", TECH) == 0
    assert await admin.fetchval("SELECT verified::text FROM coverage WHERE channel_id = $1", CITY) == "{[1,42)}"
    assert health.parts()["channels"]["detail"] == "follows 2"


@pytest.mark.usefixtures("subscribed")
async def test_a_wait_that_telegram_asks_for_is_shown_and_kept(
    account: TelegramSettings, control: Control, system: SystemStores, admin: Admin
) -> None:
    health = Health(probes={})
    control.fail("messages.getHistory", code=420, message="FLOOD_WAIT_1")
    async with walking(account, system, health):
        await until(lambda: _says(health, "Telegram asks to wait 1 s"), seconds=20)
        await until(lambda: _stored(admin, CITY, 40), seconds=20)


async def _stored(admin: Admin, channel_id: int, count: int) -> bool:
    return bool(await admin.fetchval("SELECT count(*) = $2 FROM posts WHERE channel_id = $1", channel_id, count))


async def _says(health: Health, words: str) -> bool:
    return words in str(health.parts().get("channels", {}).get("detail"))
