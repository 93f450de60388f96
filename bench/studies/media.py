"""Media: files of all sizes from a simulator to a real S3, while connections drop, references expire and S3
goes away.

Ours is the program's own way: polls, post_persistence, the account's fetcher with its spool, S3 behind a
proxy that can be closed. A fifth of the files is in another data centre, one in twenty is shown by a second
post. All must arrive with the bytes that the world has, asked for hardly more than once. Budgets are not
waited for.
"""

import asyncio
import os
import random
import secrets
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import httpx
from pydantic import SecretStr

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.accounts.account import AccountState, Lease
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId
from telegram_assistant.events import PostParsed
from telegram_assistant.ingest.polling.account_loop import AccountLoop
from telegram_assistant.ingest_role import OwnedAccount, build_account_dependencies, build_fetcher
from telegram_assistant.settings import Settings, TelegramSettings
from telegram_assistant.stages.post_persistence import post_persistence
from telegram_assistant.stores.files import Files
from telegram_assistant.stores.postgres.channels.channels import EVERYTHING_DAYS, Subscription
from telegram_assistant.streams.stage import bind
from telegram_assistant.telegram.account_client import AccountClient
from telegram_assistant.telegram.client import open_account_client
from telegram_assistant.telegram.reader import ChannelReader
from telegram_assistant.telemetry.health import Health
from telegram_simulator.control.client import ControlClient
from testkit.harness import Versions, arguments, at_most, finish, own_cpu_seconds, own_database
from testkit.simulators import simulator
from testkit.toxiproxy import ToxiProxy
from testkit.waits import Skipping

PHONE = "79990000001"
CHANNELS = 5
SMALLEST, LARGEST = 20_000, 3_000_000
KINDS = ("image/jpeg", "video/mp4", "application/pdf")
SECOND_DC = 4
DROPS_PER_100, EXPIRIES_PER_100 = 4, 2
LATENCY_SECONDS = 0.005
"""The latency of each answer: connections drop while a piece of a file is on its way."""
PATIENCE_SECONDS = 900
LIMITS = (*at_most(0, "lacking", "orphans", "double_use"), *at_most(1.1, "copies"))


@dataclass
class Truth:
    """The files of the simulated world: hashes by post, and the size of each distinct file."""

    hashes: dict[tuple[int, int], str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        return sum(self.sizes.values())


def publish(control: ControlClient, files: int, rng: random.Random) -> list[int]:
    """Channels with so many files in all, mixed; their bytes are in no store yet."""
    mark = secrets.token_hex(4)
    channels = [
        int(control.ask("POST", "/channels", title=f"Bilder {mark} {n}", username=f"media_{n}")["channel_id"])
        for n in range(CHANNELS)
    ]
    made: list[tuple[int, int]] = []
    for number in range(files):
        channel_id = channels[number % CHANNELS]
        earlier_file = rng.choice(made) if made and rng.random() < 0.05 else None
        kind, size = rng.choice(KINDS), int(SMALLEST * (LARGEST / SMALLEST) ** rng.random())
        dc_id = SECOND_DC if rng.random() < 0.2 else 2
        more = {"same_file": earlier_file} if earlier_file else {"media": kind, "size": size, "dc_id": dc_id}
        (message_id,) = control.post(channel_id, f"файл {number}", **more)
        made += [] if earlier_file else [(channel_id, message_id)]
    return channels


def load_truth(control: ControlClient, channels: Sequence[int]) -> Truth:
    truth = Truth()
    for channel_id in channels:
        for post in control.truth(channel_id, files=True):
            if "file" in post:
                truth.hashes[channel_id, post["message_id"]] = post["file"]["sha256"]
                truth.sizes[post["file"]["sha256"]] = post["file"]["size"]
    return truth


@asynccontextmanager
async def open_line(
    app: App, control: ControlClient, mine: OwnedAccount, channels: Sequence[int]
) -> AsyncIterator[AccountClient]:
    async with open_account_client(
        app.settings.telegram,
        control.session(PHONE, joined=channels),
        mine.lease,
        account_id=mine.account_id,
        limits=app.system.limits,
        clock=Skipping().clock,
    ) as line:
        yield line


async def read_posts(app: App, mine: OwnedAccount, line: AccountClient, tenant_id: TenantId) -> None:
    """Follows the joined channels, reads all of their posts, and passes them to post_persistence."""
    reader, system, stopping = ChannelReader(line), app.system, asyncio.Event()
    joined, _ = await reader.load_joined()
    for membership in joined:
        await system.channels.open_to(
            mine.account_id,
            membership.channel,
            membership.access_hash,
            has_joined=True,
            read_at=datetime.now(UTC),
        )
        await system.channels.subscribe(
            tenant_id, Subscription(channel_id=membership.channel.channel_id, history_days=EVERYTHING_DAYS)
        )
    await system.planning.give_accounts()
    reading = AccountLoop(
        build_account_dependencies(app, mine, reader, slots=asyncio.Semaphore(4), stopping=stopping),
        stopping,
        health=Health(probes={}),
    )
    while await reading.turn():
        await system.planning.want_history()


async def persist(app: App, admin: "asyncpg.Connection[asyncpg.Record]") -> None:
    rows = await admin.fetch("SELECT channel_id, message_id FROM posts")
    now = datetime.now(UTC)
    events = [PostParsed.about(_post(row), 1, occurred_at=now) for row in rows]
    for first in range(0, len(events), 200):
        await post_persistence(events[first : first + 200], **bind(post_persistence, app.collaborators))


def _post(row: asyncpg.Record) -> PostId:
    return PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"]))


async def trouble(
    control: ControlClient, files: int, size_bytes: int, rng: random.Random, seen: dict[str, int]
) -> None:
    """Connections drop and references expire while bytes flow, spread over all of them."""
    drops, expiries = (max(1, files * per_100 // 100) for per_100 in (DROPS_PER_100, EXPIRIES_PER_100))
    plan = [("drops", "/connections/drop")] * drops + [("expiries", "/files/expire")] * expiries
    for moment, (what, path) in zip(
        sorted(rng.random() * 0.95 for _ in plan), rng.sample(plan, len(plan)), strict=True
    ):
        while (await asyncio.to_thread(control.state))["file_bytes"] < moment * size_bytes:
            await asyncio.sleep(0.02)
        await asyncio.to_thread(control.ask, "POST", path)
        seen[what] = seen.get(what, 0) + 1


async def outage(
    road: ToxiProxy, seconds: float, admin: "asyncpg.Connection[asyncpg.Record]", files: int
) -> float:
    """S3 is away for a while, once a fifth is stored."""
    if not seconds:
        return 0.0
    while await admin.fetchval("SELECT count(*) FROM post_media WHERE state = 'stored'") < files / 5:
        await asyncio.sleep(0.1)
    began = time.monotonic()
    await road.set_enabled(enabled=False)
    await asyncio.sleep(seconds)
    await road.set_enabled(enabled=True)
    return time.monotonic() - began


async def wait_until_settled(admin: "asyncpg.Connection[asyncpg.Record]") -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await admin.fetchval("SELECT count(*) FROM media_jobs"):
            await asyncio.sleep(0.1)


async def in_store(files: Files, since: datetime) -> list[bytes]:
    """The hashes of the files that were put during the run: the bucket may hold more."""
    return [
        file.sha256
        for byte in range(256)
        async for file in files.list_files(byte)
        if file.modified_at >= since
    ]


async def fetch(
    app: App, control: ControlClient, road: ToxiProxy, files: int, s3_down: float, seed: int
) -> dict[str, object]:
    rng, settings, store = random.Random(seed), app.settings.database, app.files
    assert store is not None
    admin = await asyncpg.connect((settings.admin_url or settings.url).get_secret_value())
    watcher = await asyncpg.connect((settings.admin_url or settings.url).get_secret_value())
    channels = await asyncio.to_thread(publish, control, files, rng)
    control.ask("POST", "/trouble", latency_seconds=LATENCY_SECONDS)
    truth = await asyncio.to_thread(load_truth, control, channels)
    tenant = await app.system.tenants.ensure("bench", is_operator=True)
    account_id = await app.system.accounts.add(tenant.tenant_id)
    await app.system.accounts.set_state(account_id, AccountState.ACTIVE)
    mine, stopping, seen = (
        OwnedAccount(account_id, account_id, Lease(begun_at=time.monotonic() + 7200)),
        asyncio.Event(),
        dict[str, int](),
    )
    async with open_line(app, control, mine, channels) as line:
        await read_posts(app, mine, line, tenant.tenant_id)
        await persist(app, admin)
        fetcher = build_fetcher(app, mine, line, health=Health(probes={}), stopping=stopping)
        assert fetcher is not None
        began, since, used = time.monotonic(), datetime.now(UTC) - timedelta(seconds=2), own_cpu_seconds()
        async with asyncio.TaskGroup() as running:
            running.create_task(fetcher.run())
            running.create_task(trouble(control, files, truth.size_bytes, rng, seen))
            down = running.create_task(outage(road, s3_down, watcher, files))
            await wait_until_settled(admin)
            await down
            stopping.set()
        took, cpu = time.monotonic() - began, own_cpu_seconds() - used
    state = await asyncio.to_thread(control.state)
    rows = await admin.fetch(
        "SELECT channel_id, message_id, state, encode(sha256, 'hex') AS sha256 FROM post_media"
    )
    right = sum(
        row["state"] == "stored" and truth.hashes.get((row["channel_id"], row["message_id"])) == row["sha256"]
        for row in rows
    )
    known = {bytes(row["sha256"]) for row in await admin.fetch("SELECT sha256 FROM media_objects")}
    stored = await in_store(store, since)
    await store.delete(stored)
    versions = await Versions.read(admin)
    notices = await admin.fetchval("SELECT count(*) FROM notices WHERE event = 'posts.vision.uploaded'")
    await admin.close()
    await watcher.close()
    return {
        "bench": "media",
        "files": len(truth.hashes),
        "complete": right,
        "lacking": len(truth.hashes) - right,
        "told": notices,
        "bytes_ratio": round(state["file_bytes"] / truth.size_bytes, 4),
        "mb": round(truth.size_bytes / 1e6, 1),
        "orphans": len(set(stored) - known),
        "copies": round(len(stored) / len(truth.sizes), 3),
        "drops": seen.get("drops", 0),
        "expiries": seen.get("expiries", 0),
        "double_use": state["double_use"],
        "imports": state["calls"].get(PHONE, {}).get("auth.importAuthorization", 0),
        "migrations": sum(
            count for error, count in state["errors"].items() if error.startswith("FILE_MIGRATE")
        ),
        "files_per_s": round(len(truth.hashes) / took, 1),
        "took_s": round(took, 1),
        "cpu_us_per_mb": round(cpu / truth.size_bytes * 1e12),
        "s3_down_s": round(down.result(), 1),
        **versions.as_json(),
    }


def build_settings(settings: Settings, public_key: str, s3: str, folder: str) -> Settings:
    telegram = TelegramSettings(api_id=1, api_hash=SecretStr("x"), dc_public_key=public_key)
    files = settings.files.model_copy(update={"endpoint": s3, "spool": Path(folder) / "spool"})
    return settings.model_copy(update={"telegram": telegram, "files": files})


async def run(files: int, s3_down: float, seed: int) -> dict[str, object]:
    toxiproxy, endpoint = os.environ.get("TEST_TOXIPROXY_URL"), os.environ.get("S3_ENDPOINT")
    if not (toxiproxy and endpoint):
        sys.exit('the servers are not running: scripts/servers up && eval "$(scripts/servers env)"')
    with simulator("tiny") as running, running.control() as control, tempfile.TemporaryDirectory() as folder:
        async with (
            httpx.AsyncClient(base_url=toxiproxy, timeout=10) as api,
            own_database("tga_bench_media") as settings,
        ):
            public_key = (await api.get(f"{running.where['control']}/key")).text
            road = ToxiProxy(api, "s3", urlsplit(endpoint).netloc)
            await road.open()
            try:
                async with assemble(
                    build_settings(settings, public_key, f"http://127.0.0.1:{road.port}", folder)
                ) as app:
                    return await fetch(app, control, road, files, s3_down, seed)
            finally:
                await road.close()


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--s3-down", type=float, default=0.0, help="seconds that S3 is away")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    finish(asyncio.run(run(options.files, options.s3_down, options.seed)), options, *LIMITS)


if __name__ == "__main__":
    main()
