"""Periodic jobs under kill -9: three replicas, one of them killed every few seconds; each period is completed
exactly once.

One of the jobs makes digests, and the replicas deliver them: a webhook that drops known ids sees each
delivery once, a mail server at least once. Completions are counted by a trigger in PostgreSQL, not by the
program. Run one again with `--seed SEED`.
"""

import asyncio
import os
import random
import signal
import sys
import time
from datetime import UTC, datetime
from typing import Any

import asyncpg

from bench.chaos.digest_readers import DigestReaders, digest_readers
from bench.chaos.job_replica import EVERY, JOBS, LEASE
from telegram_assistant.clock import period_start
from testkit.harness import arguments, at_least, at_most, finish, own_database

REPLICAS = 3
CALM_SECONDS = 3 * LEASE.total_seconds()
COUNTED = """
CREATE TABLE chaos_completions (job text, period_start timestamptz);
GRANT ALL ON chaos_completions TO PUBLIC;
CREATE FUNCTION count_completion() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO chaos_completions VALUES (new.job, new.period_start);
    RETURN new;
END $$;
CREATE TRIGGER count_completion AFTER UPDATE ON job_runs FOR EACH ROW
WHEN (old.finished_at IS DISTINCT FROM new.finished_at) EXECUTE FUNCTION count_completion();
"""
LIMITS = (
    *at_most(0, "missing", "twice", "unfinished", "failed"),
    *at_most(0, "digests_without_delivery", "deliveries_missed", "deliveries_seen_twice", "mails_missed"),
    *at_least(1, "taken_over", "digests", "requests", "mails"),
)


async def start_replica(environ: dict[str, str]) -> asyncio.subprocess.Process:
    command = (sys.executable, "-m", "bench.chaos.job_replica")
    replica = await asyncio.create_subprocess_exec(
        *command, env=environ, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    assert replica.stdout is not None
    while (line := await replica.stdout.readline()) != b"ready\n":
        if not line:
            sys.exit("a replica did not start")
    return replica


async def trouble(
    environ: dict[str, str], readers: DigestReaders, *, seconds: float, seed: int
) -> tuple[datetime, datetime, int]:
    """Kill one replica after the other.

    Return the first and the last whole period, and the number of kills.
    """
    draw, kills = random.Random(seed), 0
    replicas = list(await asyncio.gather(*(start_replica(environ) for _ in range(REPLICAS))))
    first, end = period_start(datetime.now(UTC), EVERY) + EVERY, time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            await asyncio.sleep(draw.uniform(0.5, 4))
            place = draw.randrange(REPLICAS)
            replicas[place].send_signal(signal.SIGKILL)
            await replicas[place].wait()
            kills += 1
            replicas[place] = await start_replica(environ)
        last = period_start(datetime.now(UTC), EVERY)
        await asyncio.sleep(CALM_SECONDS)
        await readers.end()
    finally:
        for replica in replicas:
            replica.send_signal(signal.SIGTERM)
        await asyncio.gather(*(replica.wait() for replica in replicas))
    return first, last, kills


async def measure(*, seconds: float, seed: int) -> dict[str, Any]:
    async with own_database("tga_chaos_jobs") as settings:
        assert settings.database.admin_url is not None
        admin_url = settings.database.admin_url.get_secret_value()
        admin = await asyncpg.connect(admin_url)
        await admin.execute(COUNTED)
        urls = {
            "DATABASE_URL": settings.database.url.get_secret_value(),
            "DATABASE_ADMIN_URL": admin_url,
            "NEO4J_URI": "",
        }
        async with digest_readers(settings, admin) as readers:
            first, last, kills = await trouble(
                {**os.environ, **urls, **readers.environ}, readers, seconds=seconds, seed=seed
            )
            delivered = await readers.count_arrivals()
        periods = int((last - first) / EVERY) + 1
        within = "period_start BETWEEN $1 AND $2"
        completed = await admin.fetch(
            f"SELECT job, period_start, count(*) AS times FROM chaos_completions WHERE {within} "
            "GROUP BY 1, 2",
            first,
            last,
        )
        runs = await admin.fetch(
            f"SELECT finished_at, error, started_at - period_start > $3 AS late FROM job_runs WHERE {within}",
            first,
            last,
            LEASE,
        )
        await admin.close()
    return {
        "seconds": seconds,
        "seed": seed,
        "replicas": REPLICAS,
        "jobs": len(JOBS),
        "kills": kills,
        "periods": periods * len(JOBS),
        "completed": len(completed),
        "missing": periods * len(JOBS) - len(completed),
        "twice": sum(row["times"] > 1 for row in completed),
        "unfinished": sum(row["finished_at"] is None for row in runs),
        "failed": sum(row["error"] is not None for row in runs),
        "taken_over": sum(row["late"] for row in runs),
        **delivered,
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="one minute")
    options = parser.parse_args()
    finish(
        asyncio.run(measure(seconds=60.0 if options.quick else options.seconds, seed=options.seed)),
        options,
        *LIMITS,
    )


if __name__ == "__main__":
    main()
