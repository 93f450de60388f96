"""The demo as a person meets it: how soon its world answers, what it holds, and how long the whole ingest
role needs for its two weeks.

The world runs in a process of its own and the ingest role in another. A tenant subscribes to every channel
with all of its history; the bench waits until every post of the truth is stored with the text it has now,
albums item by item. An account may ask for a page every 1.25 seconds and no setting raises that, so a high
budget means several accounts: each has joined every channel. Files are not asked for; bench.media measures
those.
"""

import asyncio
import os
import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg

from bench.workloads.joined_channels import add_joined, assistant, telegram_at
from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.ingest.accounts import FIRST_TENANT
from telegram_assistant.settings import read_settings
from telegram_simulator.control.client import ControlClient
from telegram_simulator.world.demo.demo import DAYS, channel_id_of
from telegram_simulator.world.demo.packs import packs
from testkit.engines import free_port, running_engine
from testkit.harness import arguments, at_most, cpu_seconds, finish, memory_bytes, own_database
from testkit.simulators import Running, simulator

PATIENCE_S = 600.0
TICK_SECONDS = 5

STORED = "SELECT channel_id, message_id, text FROM posts WHERE kind <> 'service'"
LIMITS = (
    *at_most(3.0, "start_cpu_s"),
    *at_most(180.0, "ingest_s"),
    *at_most(300.0, "memory_mb"),
    *at_most(0, "missing", "wrong", "punished", "double_use"),
)
"""The start is judged by its CPU: a busy machine makes every start late."""


type PostKey = tuple[int, int]
type Database = "asyncpg.Connection[asyncpg.Record]"


@dataclass(frozen=True)
class Read:
    """The result of waiting until all posts are stored."""

    seconds: float
    half_seconds: float
    missing: int
    wrong: int
    """Stored with another text than the post has."""


def busiest(channels: int) -> list[int]:
    manners = sorted(packs().channels, key=lambda manner: -manner.per_day)[:channels]
    return [channel_id_of(manner) for manner in manners]


async def furnish(app: App, control: ControlClient, channels: list[int], accounts: int) -> TenantId:
    tenant_id = (await app.system.tenants.ensure(FIRST_TENANT, is_operator=True)).tenant_id
    sessions = [control.session(f"7999000{number:04}", joined=channels) for number in range(accounts)]
    await asyncio.gather(
        *(add_joined(app, tenant_id, session, history_days=DAYS["demo"] + 1) for session in sessions)
    )
    return tenant_id


def load_expected(control: ControlClient, channels: list[int]) -> dict[PostKey, str]:
    """The texts of all posts that must be stored: all that can be read now, without service messages."""
    rows = (row for channel_id in channels for row in control.truth(channel_id))
    return {
        (row["channel_id"], row["message_id"]): row["text"]
        for row in rows
        if row["service"] is None and row["deleted_at"] is None
    }


async def all_stored(admin: Database, wanted: dict[PostKey, str], began: float) -> Read:
    half = 0.0
    while True:
        stored = {(row["channel_id"], row["message_id"]): row["text"] for row in await admin.fetch(STORED)}
        missing, passed = len(wanted.keys() - stored.keys()), time.monotonic() - began
        half = passed if not half and missing <= len(wanted) / 2 else half
        if not missing or passed > PATIENCE_S:
            wrong = sum(stored[key] != text for key, text in wanted.items() if key in stored)
            return Read(passed, half, missing, wrong)
        await asyncio.sleep(0.5)


async def run(channels: list[int], accounts: int) -> dict[str, object]:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        present = datetime.now(UTC).replace(microsecond=0).isoformat()
        running = stack.enter_context(simulator("demo", "--now", present, limits="telegram"))
        start = {
            "start_s": round(running.started_s, 2),
            "start_cpu_s": round(cpu_seconds(running.process.pid), 2),
        }
        control = stack.enter_context(running.control())
        wanted = await asyncio.to_thread(load_expected, control, channels)
        engine = stack.enter_context(running_engine("redis", folder / "redis"))
        database = (await stack.enter_async_context(own_database("tga_bench_demo"))).database
        servers = {
            "DATABASE_URL": database.url.get_secret_value(),
            "REDIS_URL": engine.url,
            "PARSER_SCHEDULER_INTERVAL_SEC": str(TICK_SECONDS),
        }
        environ = {**os.environ, **telegram_at(running, None), **servers, "INGEST_PORT": str(free_port())}
        async with assemble(read_settings(environ), with_accounts=True) as app:
            await furnish(app, control, channels, accounts)
        admin = await asyncpg.connect((database.admin_url or database.url).get_secret_value())
        stack.push_async_callback(admin.close)
        began = time.monotonic()
        async with assistant(environ, folder / "ingest.log", roles="ingest") as process:
            read = await all_stored(admin, wanted, began)
            spent, held = cpu_seconds(process.pid), memory_bytes(process.pid) / 1e6
        return {
            "bench": "demo",
            **start,
            **figures(running, control.state(), read),
            **summarize_ingest(read, wanted, spent, held),
            "channels": len(channels),
        }


def figures(running: Running, state: dict[str, Any], read: Read) -> dict[str, object]:
    """The simulator, once everything was read from it."""
    pages = sum(methods.get("messages.getHistory", 0) for methods in state["calls"].values())
    return {
        "memory_mb": round(running.memory_mb),
        "history_requests": pages,
        "history_requests_per_s": round(pages / read.seconds, 2),
        "accounts": len(state["calls"]),
        "punished": state["punished"],
        "double_use": state["double_use"],
        "errors": state["errors"],
    }


def summarize_ingest(read: Read, wanted: dict[PostKey, str], spent: float, held: float) -> dict[str, object]:
    return {
        "ingest_s": round(read.seconds, 1),
        "half_ingested_s": round(read.half_seconds, 1),
        "posts": len(wanted),
        "missing": read.missing,
        "wrong": read.wrong,
        "ingest_cpu_s": round(spent, 1),
        "ingest_rss_mb": round(held),
        "cores": os.cpu_count(),
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument(
        "--channels", type=int, default=len(packs().channels), help="so many of them, the busiest first"
    )
    parser.add_argument("--accounts", type=int, default=4)
    options = parser.parse_args()
    result = asyncio.run(run(busiest(options.channels), options.accounts))
    finish(result, options, *LIMITS)


if __name__ == "__main__":
    main()
