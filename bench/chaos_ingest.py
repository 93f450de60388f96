"""Ingest under random trouble: every post stored once with its final text, versions in order, tombstones,
albums and files; no login used twice, no budget exceeded; `posts_parsed_total` of every process is what it
has inserted; no alert lost, none told twice.

A schedule is drawn from its seed. Channels publish posts, albums and files, edit and delete while three
ingest processes follow them with six accounts: processes are killed, told to stop, and frozen for longer than
their leases; connections are cut, refused and slow; Telegram asks to wait and fails; PostgreSQL is killed,
Redis is killed and emptied. Then all is mended, every channel is verified once, and what is stored is held
against the simulator's truth. A failing schedule is printed with its seed: run it again with `--seed SEED
--schedules 1`.
"""

import asyncio
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg

from bench.chaos.counting import WITNESS
from bench.chaos.ingest import (
    CHANNELS,
    LAST_KILL_SECONDS,
    TROUBLE_SECONDS,
    Fleet,
    Scene,
    freeze,
    live,
    redis_cli,
    trouble,
)
from bench.chaos.judging import MISTAKES, Result, judge
from bench.chaos.watches import add_watches
from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.features.media.upkeep import sweep
from telegram_assistant.settings import Settings, read_settings
from telegram_assistant.stores.postgres.channels.backfills import BackfillKind
from telegram_assistant.stores.postgres.migrating import migrate
from telegram_assistant.supervision import cancel_and_wait
from telegram_assistant.telegram.vault import make_key
from telegram_simulator.control.client import ControlClient
from telegram_simulator.world.load import FIRST_CHANNEL
from testkit.harness import arguments, at_most, finish
from testkit.programs import add_account
from testkit.servers import OwnServers, own_servers
from testkit.simulators import simulator

PROCESSES, ACCOUNTS, POSTS = 3, 6, 120
LEASE_OVER_SECONDS = 80.0
CALM_SECONDS = 300.0
LAST_SCRAPE_SECONDS = 5.0
MIGRATING = asyncio.Lock()
"""Alembic does one at a time."""
LIMITS = at_most(0, "failing_seeds")


async def furnish(app: App, control: ControlClient, key: str) -> None:
    """Six accounts of two tenants that share half of the channels;
    what the accounts have joined is to be followed.
    """
    channels = [FIRST_CHANNEL + number for number in range(CHANNELS)]
    joined = (channels[: CHANNELS * 3 // 4], channels[CHANNELS // 4 :])
    for number in range(ACCOUNTS):
        session = control.session(f"7999000{number:04}", joined=joined[number % 2])
        await add_account("AB"[number % 2], session, key=key, app=app)
    await add_watches(app, "A", "B")


async def calm(scene: Scene, settings: Settings) -> bool:
    """Everything is mended; every channel is verified once. False when it does not come to an end."""
    await asyncio.to_thread(
        scene.control.ask, "POST", "/trouble", latency_seconds=0.0, refuse_connections=False
    )
    await asyncio.to_thread(scene.servers.run, "up", "postgres", "redis")
    scene.fleet.revive(PROCESSES)
    await asyncio.sleep(max(0.0, LAST_KILL_SECONDS + LEASE_OVER_SECONDS - scene.at))
    channels = [ChannelId(FIRST_CHANNEL + number) for number in range(CHANNELS)]
    deadline = scene.at + CALM_SECONDS
    async with assemble(settings) as app:
        admin = await asyncpg.connect(
            (settings.database.admin_url or settings.database.url).get_secret_value()
        )
        began = await admin.fetchval("SELECT now()")
        done, waiting = 0, set(channels)
        while (done < CHANNELS or await admin.fetchval(UNDER_WAY)) and scene.at < deadline:
            await asyncio.sleep(1)
            await admin.execute(NO_WAITING)
            read = await admin.fetch("SELECT channel_id FROM poll_schedule WHERE last_polled_at > $1", began)
            for channel_id in waiting & {row["channel_id"] for row in read}:
                await app.system.backfills.open(channel_id, BackfillKind.VERIFY)
                waiting.discard(channel_id)
            done = await admin.fetchval(VERIFIED, began)
        await admin.execute(
            "UPDATE media_objects SET reserved_at = reserved_at - interval '2 hours'"
        )  # so that the sweep looks at all of it
        assert app.files is not None
        await sweep(
            files=app.files,
            upkeep=app.system.media_upkeep,
            now=datetime.now(UTC) + timedelta(hours=2),
            force=True,
        )
        await admin.close()
    return scene.at < deadline


VERIFIED = """
SELECT count(DISTINCT b.channel_id) FROM backfills b JOIN coverage v USING (channel_id)
WHERE b.kind = 'verify' AND b.state = 'done' AND b.finished_at > $1 AND v.floor_id = 1
  AND NOT EXISTS (SELECT 1 FROM backfills o WHERE o.channel_id = b.channel_id AND o.state = 'open')
"""
"""The number of channels that were read once more, down to the first message."""
UNDER_WAY = """
SELECT EXISTS (SELECT 1 FROM posts WHERE missed_at IS NOT NULL) OR EXISTS (SELECT 1 FROM outbox)
    OR EXISTS (SELECT 1 FROM media_groups WHERE closed_at IS NULL)
    OR EXISTS (SELECT 1 FROM post_media m JOIN posts p USING (channel_id, message_id)
        WHERE m.state = 'wanted' AND p.deleted_at IS NULL)
"""
NO_WAITING = """
UPDATE posts SET missed_at = missed_at - interval '10 minutes'
WHERE missed_at > now() - interval '10 minutes';
UPDATE backfills SET next_try_at = now() WHERE state = 'open' AND kind = 'recheck' AND next_try_at > now()
    + interval '1 minute';
"""
"""The ten minutes before a second look have passed."""


async def load_evidence(settings: Settings) -> list[str]:
    """The rows that keep the verification from ending, for the person who investigates."""
    admin = await asyncpg.connect((settings.database.admin_url or settings.database.url).get_secret_value())
    rows = [str(dict(row)) for query in EVIDENCE for row in await admin.fetch(query)]
    await admin.close()
    return rows


EVIDENCE = (
    """
    SELECT p.*, a.state, a.lease_owner, a.lease_until, now(), v.floor_id, r.account_id IS NOT NULL AS can_open
    FROM poll_schedule p LEFT JOIN telegram_accounts a USING (account_id) LEFT
    JOIN coverage v USING (channel_id)
    LEFT JOIN account_channels r ON r.account_id = p.account_id AND r.channel_id = p.channel_id
    WHERE v.floor_id IS NULL OR v.floor_id > 1
        OR EXISTS (SELECT 1 FROM backfills b WHERE b.channel_id = p.channel_id AND b.state = 'open')
    """,
    "SELECT * FROM backfills WHERE state <> 'done'",
    (
        "SELECT state, wait_event, xact_start, left(query, 200) AS query FROM pg_stat_activity "
        "WHERE state <> 'idle' AND datname IS NOT NULL"
    ),
    "SELECT channel_id, message_id, state, reason FROM post_media WHERE state = 'wanted' LIMIT 5",
    "SELECT channel_id, grouped_id FROM media_groups WHERE closed_at IS NULL LIMIT 5",
    "SELECT channel_id, message_id, missed_at FROM posts WHERE missed_at IS NOT NULL LIMIT 5",
    "SELECT count(*) AS outbox FROM outbox",
)


async def schedule(seed: int, servers: OwnServers, folder: Path) -> Result:
    result, key = Result(seed), make_key()
    load = ("load", "--channels", str(CHANNELS), "--posts", str(POSTS), "--seed", str(seed))
    with ExitStack() as stack:
        running = stack.enter_context(simulator(*load, limits="telegram"))
        control = stack.enter_context(running.control())
        environ = {
            **servers.environ(),
            "TELEGRAM_API_ID": "1",
            "TELEGRAM_API_HASH": "any",
            "TELEGRAM_DC_PUBLIC_KEY": running.where["key"],
            "SESSION_ENCRYPTION_KEY": key,
            "PARSER_SCHEDULER_INTERVAL_SEC": "5",
            "WORKER_PORT": "0",
            "FILES_DIR": str(folder / "files"),
            "LOG_LEVEL": "info",
        }
        settings = read_settings(environ)
        await _empty_database(settings)
        redis_cli(servers, "FLUSHALL")
        async with assemble(settings, with_accounts=True) as app:
            await furnish(app, control, key)
        fleet = Fleet(environ, folder / f"ingest-{seed}.log")
        stack.callback(fleet.stop)
        scraping = asyncio.create_task(fleet.counting.run())
        for _ in range(PROCESSES):
            fleet.start()
        fleet.start_worker()
        scene = Scene(random.Random(seed), servers, control, fleet)
        frozen = asyncio.create_task(freeze(scene))
        await asyncio.gather(live(scene, TROUBLE_SECONDS + 20), trouble(scene, result.faults))
        result.faults["freeze"] += 1
        if not await calm(scene, settings):
            result.incomplete += 1
            result.examples += ["the verification did not come to an end", *await load_evidence(settings)]
        await frozen
        await asyncio.sleep(LAST_SCRAPE_SECONDS)
        await cancel_and_wait([scraping])
        await judge(scene, settings, result)
    return result


async def _empty_database(settings: Settings) -> None:
    url = (settings.database.admin_url or settings.database.url).get_secret_value()
    admin = await asyncpg.connect(url)
    await admin.execute(
        "DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT ALL ON SCHEMA public TO PUBLIC"
    )
    await admin.close()
    async with MIGRATING:
        await migrate(settings.database, tell=lambda _: None)
    admin = await asyncpg.connect(url)
    await admin.execute(WITNESS)
    await admin.close()


async def world(seeds: Callable[[], int | None], results: list[Result], keep: Path) -> None:
    """Servers of its own, and one schedule after the other."""
    servers = own_servers("postgres", "redis")
    with servers as running:
        while (seed := seeds()) is not None:
            with tempfile.TemporaryDirectory() as folder:
                result = await schedule(seed, running, Path(folder))
                results.append(result)
                verdict = "right" if result.right else f"WRONG {result.faulty}"
                counted = (
                    f"counted {result.posts_counted} of {result.posts_inserted}, left out {result.left_out}"
                )
                print(
                    f"seed {seed}: {verdict}  posts {result.posts}  files {result.files}  alerts "
                    f"{result.alerts}  {counted}  {dict(result.faults)}",
                    flush=True,
                )
                if not result.right:
                    print("\n".join(result.examples[:30]), flush=True)
                    log = Path(folder) / f"ingest-{seed}.log"
                    (keep / log.name).write_bytes(log.read_bytes())


async def run(
    seconds: float | None, schedules: int | None, first_seed: int, parallel: int
) -> dict[str, object]:
    began, results, given = time.monotonic(), list[Result](), iter(range(first_seed, first_seed + 1_000_000))

    def next_seed() -> int | None:
        number = next(given)
        enough = (
            number - first_seed >= schedules
            if schedules is not None
            else time.monotonic() - began > (seconds or 0) - 150
        )
        return None if enough and number > first_seed else number

    keep = Path(tempfile.gettempdir())
    await asyncio.gather(*(world(next_seed, results, keep) for _ in range(parallel)))
    return {
        "bench": "chaos_ingest",
        "schedules": len(results),
        **{name: sum(getattr(result, name) for result in results) for name in MISTAKES},
        "posts": sum(result.posts for result in results),
        "files": sum(result.files for result in results),
        **{
            name: sum(getattr(result, name) for result in results)
            for name in ("posts_counted", "posts_inserted", "left_out", "alerts")
        },
        "faults": dict(sum((result.faults for result in results), Counter[str]())),
        "failing_seeds": [result.seed for result in results if not result.right],
        "seconds": round(time.monotonic() - began),
        "cores": os.cpu_count(),
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=float, default=150, help="begin no schedule that would end later")
    parser.add_argument("--schedules", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parallel", type=int, default=1, help="worlds at a time, each with its own servers")
    options = parser.parse_args()
    result = asyncio.run(run(options.seconds, options.schedules, options.seed, options.parallel))
    finish(result, options, *LIMITS)


if __name__ == "__main__":
    main()
