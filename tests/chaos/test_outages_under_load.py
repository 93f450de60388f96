"""PostgreSQL or the store of files dies while posts come in and people ask: nothing is lost,
and whoever asks is told when to come back.
"""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import asyncpg
import httpx
import pytest

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.errors import Busy
from telegram_assistant.settings import Settings, read_settings
from telegram_assistant.stores.postgres.media.files import MediaJob
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.supervision import keep_running
from telegram_assistant.telemetry.health import Health
from telegram_assistant.worker_role import loops
from testkit.api_clients import create_key_header, open_app_and_client, problem_of
from testkit.factories import fresh_number, make_channel, make_page, make_post, make_subscription, make_tenant
from testkit.servers import OwnServers, own_servers
from tests.stages.looking import draw_picture

PER_SECOND, PICTURE_EVERY = 20, 15
QUESTIONS = ("/feed", "/search?q=снег")
SETTLED_SECONDS = 120.0
LACKING = """
SELECT (SELECT count(*) FROM outbox) AS on_their_way,
       (SELECT count(*) FROM posts p LEFT JOIN post_search s USING (channel_id, message_id)
           WHERE s.channel_id IS NULL) AS without_words,
       (SELECT count(*) FROM post_media m WHERE NOT EXISTS (
            SELECT 1 FROM post_enrichment e WHERE (e.channel_id, e.message_id) = (m.channel_id, m.message_id)
                AND e.kind = 'vision'
        )) AS not_looked_at,
       (SELECT count(*) FROM dead_letters) AS dead_letters
"""


@dataclass
class Load:
    """Posts that land steadily, some with a picture, and somebody who asks all the time."""

    app: App
    channel_id: ChannelId
    folder: Path
    posts: int = 0
    pictures: dict[bytes, MediaJob] = field(default_factory=dict)
    answers: list[httpx.Response] = field(default_factory=list)
    ending: asyncio.Event = field(default_factory=asyncio.Event)

    async def land(self) -> None:
        """Until `ending`.

        The post in hand is finished: one that was landed without its picture would wait for the picture for
        ever.
        """
        while not self.ending.is_set():
            await asyncio.gather(self._land(self.posts + 1), asyncio.sleep(1 / PER_SECOND))
            self.posts += 1

    async def _land(self, number: int) -> None:
        """As ingest does it: what could not be stored is tried again."""
        data = draw_picture(f"Picture {number}", size=(200, 160)) if number % PICTURE_EVERY == 0 else b""
        media_id = fresh_number()
        facts = (
            {"media": {"kind": "photo", "id": media_id, "size_bytes": len(data), "dc_id": 2}} if data else {}
        )
        post = make_post(
            channel_id=self.channel_id,
            message_id=number,
            text=f"Снег, сообщение {number}",
            posted_at=datetime.now(UTC),
            facts=facts,
        )
        await again(
            lambda: self.app.system.landing.land(
                make_page(post, read_at=datetime.now(UTC)), Claim(self.channel_id, 0)
            )
        )
        if data:
            sha256, file, files = hashlib.sha256(data).digest(), self.folder / str(number), self.app.files
            assert files is not None
            file.write_bytes(data)
            await again(lambda: self.app.system.media.reserve(sha256, len(data), None))
            await again(lambda: files.put(sha256, file))
            self.pictures[sha256] = MediaJob(
                channel_id=self.channel_id,
                message_id=post.message_id,
                ordinal=0,
                media_id=media_id,
                is_photo=True,
                size_bytes=len(data),
                mime=None,
                attempts=0,
                access_hash=0,
            )

    async def settle_pictures(self) -> None:
        """Whenever the pipeline has asked for one that was fetched already, it gets it."""
        while True:
            for sha256, job in list(self.pictures.items()):
                await again(partial(self.app.system.media.mark_stored, job, sha256, job.size_bytes or 0))
            await asyncio.sleep(0.5)

    async def ask(self, client: httpx.AsyncClient, key: dict[str, str]) -> None:
        while True:
            for question in QUESTIONS:
                self.answers.append(await client.get(f"/api/v1{question}", headers=key))
            await asyncio.sleep(0.2)


async def again[T](step: Callable[[], Awaitable[T]]) -> T:
    while True:
        try:
            return await step()
        except Busy:
            await asyncio.sleep(0.1)


@asynccontextmanager
async def going_on(*works: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Until the block ends; what fails before fails the test."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work) for work in works]
        yield
        for task in tasks:
            task.cancel()


async def until_nothing_lacks(settings: Settings) -> None:
    deadline = time.monotonic() + SETTLED_SECONDS
    admin = await asyncpg.connect(
        settings.database.admin_url.get_secret_value() if settings.database.admin_url else ""
    )
    try:
        while any((lacking := dict(await admin.fetchrow(LACKING) or {})).values()):
            assert time.monotonic() < deadline, lacking
            await asyncio.sleep(0.5)
    finally:
        await admin.close()


def is_told_to_come_back(answer: httpx.Response) -> bool:
    return problem_of(answer)[0] == 503 and int(answer.headers["retry-after"]) >= 1


@pytest.fixture(scope="module")
def servers() -> Iterator[OwnServers]:
    with own_servers("postgres", "redis", "s3") as running:
        yield running


@pytest.mark.serial
@pytest.mark.parametrize("name", ["postgres", "s3"])
async def test_a_server_dies_under_load_and_nothing_is_lost(
    name: str, servers: OwnServers, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    seconds = 60.0 if request.config.getoption("--full") else 10.0
    settings = read_settings({**servers.environ(), "CRAWL_ENABLED": "false"})
    async with open_app_and_client(settings, timeout_seconds=3.0) as (app, client):
        load = await observe(app, client, servers, name, seconds, tmp_path)
    statuses = {answer.status_code for answer in load.answers}
    assert statuses == ({200, 503} if name == "postgres" else {200})
    assert all(answer.status_code == 200 or is_told_to_come_back(answer) for answer in load.answers)


async def observe(
    app: App, client: httpx.AsyncClient, servers: OwnServers, name: str, seconds: float, folder: Path
) -> Load:
    tenant_id, channel_id = await make_tenant(app.system), await make_channel(app.system)
    await app.system.channels.subscribe(tenant_id, make_subscription(channel_id))
    load, key = Load(app, channel_id, folder), await create_key_header(app, tenant_id)
    async with at_work(app), going_on(load.settle_pictures(), load.ask(client, key)):
        async with asyncio.TaskGroup() as group:
            group.create_task(load.land())
            await asyncio.sleep(3)
            servers.kill(name)
            await asyncio.sleep(seconds)
            await asyncio.to_thread(servers.run, "up", name)
            await asyncio.sleep(3)
            load.ending.set()
        await until_nothing_lacks(app.settings)
    newest = (await client.get("/api/v1/feed?limit=1", headers=key)).json()
    assert newest["items"][0]["message_id"] == load.posts
    return load


@asynccontextmanager
async def at_work(app: App) -> AsyncIterator[None]:
    """The worker role."""
    ending, health = asyncio.Event(), Health(probes={})
    working = [
        asyncio.create_task(keep_running(loop, stopping=ending, health=health)) for loop in loops(app, health)
    ]
    try:
        yield
    finally:
        ending.set()
        await asyncio.gather(*working)
