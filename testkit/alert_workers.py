"""Workers with the stage `alerts` alone, in processes of their own: posts are announced to them, they may be
killed, and what PostgreSQL's sessions wait for is sampled.

    python -m testkit.alert_workers      one worker, until it is told to stop; it prints a line when it reads
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial

import asyncpg
from redis.asyncio import Redis

from telegram_assistant.assembly import assemble
from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.events import PostGrouped
from telegram_assistant.features.watches.fanouts import keep_fanning_out
from telegram_assistant.settings import read_settings
from telegram_assistant.stages.alerts import alerts
from telegram_assistant.streams.entries import PAYLOAD
from telegram_assistant.streams.groups import ensure_groups, sources_of
from telegram_assistant.streams.keys import stream_key
from telegram_assistant.streams.runner import Options
from telegram_assistant.supervision import Loop, keep_running
from telegram_assistant.telemetry.health import Health
from telegram_assistant.worker_role import build_runner

type Admin = asyncpg.Connection[asyncpg.Record]

KEY = stream_key(PostGrouped, Lane.LIVE)
LEASE_SECONDS = 2.0
"""A killed worker's posts go to another one after that."""
SAMPLE_SECONDS = 0.02
READY = "reading"


async def work() -> None:
    """Runs one worker until SIGTERM."""
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    async with assemble(read_settings(os.environ)) as app:
        health = Health(probes={})
        options = Options(lease_seconds=LEASE_SECONDS, reclaim_every_seconds=0.2, block_seconds=0.5)
        loops = (
            build_runner(alerts, None, app, health, options).loop(),
            Loop("alert_fanouts", partial(keep_fanning_out, matching=app.system.watch_matching)),
        )
        print(READY, flush=True)
        await asyncio.gather(*(keep_running(loop, stopping=stopping, health=health) for loop in loops))


class AlertWorkers:
    """Workers that are running."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.processes: list[asyncio.subprocess.Process] = []

    async def start(self) -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "testkit.alert_workers",
            env=self._environ,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        self.processes.append(process)
        while line := await process.stdout.readline():
            if line.decode().strip() == READY:
                return
        raise RuntimeError("a worker ended before it read")

    async def kill(self) -> None:
        """Kills one without warning."""
        process = self.processes.pop(0)
        process.kill()
        await process.wait()

    async def stop(self) -> None:
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
        await asyncio.gather(*(process.wait() for process in self.processes))
        self.processes.clear()


@asynccontextmanager
async def alert_workers(environ: Mapping[str, str], count: int) -> AsyncIterator[AlertWorkers]:
    """So many workers until the block ends."""
    workers = AlertWorkers(environ)
    try:
        await asyncio.gather(*(workers.start() for _ in range(count)))
        yield workers
    finally:
        await workers.stop()


async def ensure_group(redis: Redis) -> None:
    """So that nothing is announced before somebody reads."""
    await ensure_groups(redis, alerts.name, sources_of(alerts, 1))


async def announce(redis: Redis, posts: Iterable[PostId]) -> None:
    """Announces posts as grouped, in this order."""
    pipeline = redis.pipeline(transaction=False)
    for post in posts:
        event = PostGrouped.about(post, 1, occurred_at=datetime.now(UTC))
        pipeline.execute_command("XADD", KEY, "*", PAYLOAD, event.model_dump_json())
    await pipeline.execute()


async def are_done(redis: Redis, admin: Admin) -> bool:
    """Whether all that was announced has been matched and written."""
    groups = {group["name"].decode(): group for group in await redis.xinfo_groups(KEY)}
    group = groups[alerts.name]
    waiting = group["pending"] + (group["lag"] or 0)
    return not waiting and not await admin.fetchval("SELECT EXISTS (SELECT 1 FROM alert_fanouts)")


async def sample_waits(admin: Admin, stopping: asyncio.Event) -> Counter[str]:
    """Counts the transactions of the database that were looked at, and those of them that waited for a lock
    of another one.
    """
    waits = Counter[str]()
    while not stopping.is_set():
        for row in await admin.fetch(WAITS):
            waits["transactions"] += row["transactions"]
            waits["waiting"] += row["waiting"]
        await asyncio.sleep(SAMPLE_SECONDS)
    return waits


WAITS = """
SELECT count(*) AS transactions, count(*) FILTER (WHERE wait_event_type = 'Lock') AS waiting
FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'
    AND backend_type = 'client backend'
"""


async def load_alert_counts(admin: Admin) -> Counter[Sequence[object]]:
    """How often each watch has told of each story, or of each post that is in none."""
    rows = await admin.fetch(
        """
        SELECT a.tenant_id, a.watch_id::text, a.kind, coalesce(
            CASE WHEN s.link IS NOT NULL THEN s.story_id::text END, a.channel_id || '/' || a.message,
            a.subject)
        FROM alerts a
        LEFT JOIN story_posts s ON s.channel_id = a.channel_id AND s.message_id = a.message
        """
    )
    return Counter(tuple(row) for row in rows)


if __name__ == "__main__":
    asyncio.run(work())
