"""A commit whose answer is lost on its way: made, but nobody is told."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from urllib.parse import urlsplit, urlunsplit

import pytest
from pydantic import SecretStr

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.errors import Busy
from telegram_assistant.ingest.polling.recounting import recount
from telegram_assistant.settings import DatabaseLogin, Settings
from telegram_assistant.stores.postgres.database import open_pool
from telegram_assistant.stores.postgres.pipeline.wakeup import Wakeup
from telegram_assistant.stores.postgres.posts.landing import Claim, Landing
from telegram_assistant.stores.postgres.stores import SystemStores, system_stores
from telegram_assistant.supervision import cancel_and_wait
from telegram_assistant.telemetry.metrics import REGISTRY
from testkit.factories import make_channel, make_page, make_post


class Road:
    """The way to PostgreSQL.

    It can lose what follows the next commit: the commit itself, or only the answer to it.
    """

    def __init__(self, host: str, port: int) -> None:
        self._there = host, port
        self.loses_commit = self.loses_answer = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection(*self._there)
        back = asyncio.create_task(self._carry(there_reader, writer))
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                if b"COMMIT" in data and (self.loses_commit or self.loses_answer):
                    await cancel_and_wait([back])
                    if self.loses_answer:
                        there_writer.write(data)
                        await there_reader.read(1)
                    self.loses_commit = self.loses_answer = False
                    break
                there_writer.write(data)
        await cancel_and_wait([back])
        there_writer.close()
        writer.close()

    async def _carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await source.read(65536):
                target.write(data)
        target.close()


@pytest.fixture
async def road(installation: Settings) -> AsyncIterator[tuple[Road, Landing]]:
    address = urlsplit(installation.database.url_of(DatabaseLogin.SYSTEM).get_secret_value())
    road = Road(address.hostname or "127.0.0.1", address.port or 5432)
    server = await asyncio.start_server(road.serve, "127.0.0.1", 0)
    by_road = address._replace(
        netloc=f"{address.username}:{address.password}@127.0.0.1:{server.sockets[0].getsockname()[1]}"
    )
    settings = installation.database.model_copy(update={"system_url": SecretStr(urlunsplit(by_road))})
    async with server, open_pool(settings, DatabaseLogin.SYSTEM) as pool:
        yield road, system_stores(pool, Wakeup()).landing


def count_parsed() -> float:
    return REGISTRY.get_sample_value("posts_parsed_total", {"mode": "incremental"}) or 0.0


async def land(landing: Landing, channel_id: ChannelId) -> None:
    posts = [make_post(channel_id=channel_id, message_id=number) for number in (1, 2, 3)]
    await landing.land(make_page(*posts), Claim(channel_id, 0))


async def test_posts_of_a_commit_whose_answer_was_lost_are_counted_once(
    system: SystemStores, road: tuple[Road, Landing]
) -> None:
    way, landing = road
    channel_id, before = await make_channel(system), count_parsed()
    way.loses_answer = True
    with pytest.raises(Busy):
        await land(landing, channel_id)
    assert count_parsed() == before
    await recount_once(landing)
    assert count_parsed() - before == 3
    await land(landing, channel_id)  # the run tries again, and finds them stored
    await recount_once(landing)
    assert count_parsed() - before == 3


async def test_posts_of_a_commit_that_was_lost_itself_are_counted_when_they_are_landed(
    system: SystemStores, road: tuple[Road, Landing]
) -> None:
    way, landing = road
    channel_id, before = await make_channel(system), count_parsed()
    way.loses_commit = True
    with pytest.raises(Busy):
        await land(landing, channel_id)
    await recount_once(landing)
    assert count_parsed() == before
    await land(landing, channel_id)
    assert count_parsed() - before == 3


async def recount_once(landing: Landing) -> None:
    stopping = asyncio.Event()
    stopping.set()
    await recount(stopping, landing=landing)
