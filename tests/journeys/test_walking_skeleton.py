"""The way of a post, from Telegram to a person, although every process of ours is killed once on the way."""

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.errors import CannotStart
from telegram_assistant.settings import DatabaseLogin, Settings, read_settings
from telegram_assistant.stores.postgres.channels.channels import EVERYTHING_DAYS, Subscription
from telegram_assistant.stores.postgres.database import open_pool
from telegram_assistant.stores.postgres.pipeline.wakeup import Wakeup
from telegram_assistant.stores.postgres.stores import system_stores
from telegram_assistant.telegram.vault import make_key
from telegram_simulator.control.client import ControlClient
from testkit.programs import INGEST, WORKER, kill, load_texts, program, simulator, tga, until
from testkit.servers import OwnServers, own_servers

CITY, TECH = 1_500_000_001, 1_500_000_002
PHONE = "79990000001"

pytestmark = [pytest.mark.serial, pytest.mark.long]


@pytest.fixture(scope="module")
def servers() -> Iterator[OwnServers]:
    with own_servers("postgres", "redis") as running:
        yield running


@pytest.fixture
def telegram() -> Iterator[ControlClient]:
    with simulator("tiny") as control:
        yield control


async def ask(settings: Settings, query: str) -> Any:
    async with (
        open_pool(settings.database, DatabaseLogin.SYSTEM) as pool,
        pool.acquire() as connection,
        connection.transaction(),
    ):
        await connection.execute("SET LOCAL ROLE tga_system")
        return await connection.fetchval(query)


async def subscribe(settings: Settings) -> None:
    async with open_pool(settings.database, DatabaseLogin.SYSTEM) as pool:
        system = system_stores(pool, Wakeup())
        tenant = await system.tenants.ensure("A")
        await system.tenants.ensure("B")
        for channel_id, title, username in (
            (CITY, "Городские новости", "gorod_news"),
            (TECH, "Tech Daily", "tech_daily"),
        ):
            await system.channels.register(
                Channel(channel_id=ChannelId(channel_id), title=title, username=username)
            )
            await system.channels.subscribe(
                tenant.tenant_id, Subscription(channel_id=ChannelId(channel_id), history_days=EVERYTHING_DAYS)
            )


async def test_a_post_is_found_although_every_process_is_killed_once(
    servers: OwnServers, telegram: ControlClient, tmp_path: Path
) -> None:
    environ = {
        **servers.environ(),
        "TELEGRAM_API_ID": "1",
        "TELEGRAM_API_HASH": "any",
        "TELEGRAM_SESSION_STRING": telegram.session(PHONE, joined=[CITY, TECH]),
        "SESSION_ENCRYPTION_KEY": make_key(),
        "INGEST_PORT": "18611",
        "WORKER_PORT": "18612",
    }
    settings, log = read_settings(environ), tmp_path / "tga.log"
    assert tga("migrate", environ=environ, folder=tmp_path).returncode == 0
    await subscribe(settings)

    with program(*INGEST, environ=environ, log=log) as first_ingest:
        await wait_for_row(settings, "SELECT count(*) > 0 FROM posts", "the first page has landed")
        kill(first_ingest)
    with program(*WORKER, environ=environ, log=log) as first_worker:
        await wait_for_row(settings, "SELECT count(*) > 0 FROM post_search", "the first words are stored")
        kill(first_worker)
    with program(*INGEST, environ=environ, log=log), program(*WORKER, environ=environ, log=log):
        servers.kill("redis")
        telegram.post(CITY, "Пока хранилище лежало, в парке нашли редкую сойку.")
        servers.run("up", "redis")
        # nobody may use the account of a process that was killed before its lease and a margin are over
        await wait_for_row(
            settings,
            "SELECT count(*) > 0 FROM posts WHERE text LIKE '%сойку%'",
            "the new post has landed",
            seconds=120,
        )
        servers.kill("postgres")
        telegram.post(CITY, "Пока лежала база, на площади открыли фонтан с подсветкой.")
        servers.run("up", "postgres")
        until(
            lambda: (
                tga("search", "фонтаны", "--tenant", "A", environ=environ, folder=tmp_path).returncode == 0
            ),
            "the last post is found",
        )
        # A killed database forgets the last deletions from the outbox; nothing else would announce those
        # posts for an hour.
        assert tga("streams", "refill", environ=environ, folder=tmp_path).returncode == 0
        await wait_for_row(settings, "SELECT count(*) = 0 FROM outbox", "nothing is on its way any more")
        missing = (
            "SELECT count(*) = 0 FROM posts p LEFT JOIN post_search s USING (channel_id, message_id) "
            "WHERE s.channel_id IS NULL"
        )
        await wait_for_row(settings, missing, "every post has its words")

    for channel_id in (CITY, TECH):
        stored = await ask(
            settings, f"SELECT jsonb_object_agg(message_id, text) FROM posts WHERE channel_id = {channel_id}"
        )
        assert {(channel_id, int(number)): text for number, text in json.loads(stored).items()} == load_texts(
            telegram, [channel_id]
        )
    output = tga("search", "сойка", "--tenant", "A", environ=environ, folder=tmp_path).stdout
    assert "Городские новости" in output
    assert "https://t.me/gorod_news/41" in output
    assert "в парке нашли редкую сойку" in output
    assert tga("search", "сойка", "--tenant", "B", environ=environ, folder=tmp_path).returncode == 1
    assert (
        tga("dead-letters", "list", environ=environ, folder=tmp_path).stdout == "There are no dead letters.\n"
    )
    assert "Traceback" not in tga("streams", "--once", environ=environ, folder=tmp_path).stderr


async def wait_for_row(settings: Settings, query: str, what: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while True:
        with suppress(
            CannotStart, OSError, asyncpg.PostgresError
        ):  # the database is being killed; the deadline decides
            if await ask(settings, query):
                return
        assert time.monotonic() < deadline, f"it did not happen in {seconds:.0f} s: {what}"
        time.sleep(0.2)  # noqa: ASYNC251 -- nothing else runs in this loop
