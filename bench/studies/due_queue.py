"""The due-queue with a million channels: what it carries, and what it costs PostgreSQL.

Every worker claims a batch of 30 for one of 500 accounts. 92 % of the polls find nothing and are completed
together; 8 % land three posts each, and are completed by their landing. Commits wait for the disk. Bare is
the same queue in plain SQL without joins, landing and fences; both take turns, and the bloat is looked at
after the whole run.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import asyncpg

from telegram_assistant.domain.channels.rhythm import after_posts, new_rhythm
from telegram_assistant.domain.ids import AccountId, ChannelId
from telegram_assistant.stores.postgres.channels.schedule import DueChannel, Empty
from telegram_assistant.stores.postgres.database import Pool, open_pool
from telegram_assistant.stores.postgres.pipeline.wakeup import Wakeup
from telegram_assistant.stores.postgres.posts.landing import Claim, RunEnds
from telegram_assistant.stores.postgres.stores import SystemStores, system_stores
from testkit.harness import (
    Versions,
    arguments,
    at_least,
    at_most,
    find_postmaster,
    finish,
    median,
    own_cpu_seconds,
    own_database,
    percentile,
    postgres_cpu,
)
from testkit.rows import Writer, make_writer, page_of, posts_of

BATCH, WORKERS, ACCOUNTS = 30, 4, 500
EMPTY_SHARE, POSTS = 0.92, 3
TURN_SECONDS = 20.0

FILL = """
INSERT INTO tenants (name) VALUES ('bench');
INSERT INTO telegram_accounts (tenant_id, state) SELECT tenant_id, 'active'
FROM tenants, generate_series(1, {accounts});
INSERT INTO channels (channel_id, title) SELECT n, 'channel ' || n FROM generate_series(1, {channels}) AS n;
INSERT INTO poll_schedule (channel_id, account_id, next_poll_at, last_polled_at, observed_since, level,
    level_at, burst, burst_at)
SELECT n, n % {accounts} + 1, now() - random() * interval '1 hour', now() - interval '1 hour',
    now() - interval '30 days', 20, now(), 0, now()
FROM generate_series(1, {channels}) AS n;
INSERT INTO account_channels (account_id, channel_id, access_hash, read_at)
SELECT n % {accounts} + 1, n, n, now() FROM generate_series(1, {channels}) AS n;
INSERT INTO coverage (channel_id, floor_id, verified, verified_at)
SELECT n, 1, int8multirange(int8range(1, 1000)), now() FROM generate_series(1, {channels}) AS n;
UPDATE channels SET newest_message_id = 999, newest_posted_at = now() - interval '1 day',
    last_parsed_at = now() - interval '1 day';
CREATE TABLE bare_queue (channel_id bigint PRIMARY KEY, account_id bigint, next_poll_at timestamptz,
    lease_epoch bigint) WITH (fillfactor = 70);
INSERT INTO bare_queue SELECT channel_id, account_id, next_poll_at, 0 FROM poll_schedule;
CREATE INDEX bare_due ON bare_queue (account_id, next_poll_at);
GRANT SELECT, UPDATE ON bare_queue TO tga_system;
"""
BARE_CLAIM = """
WITH due AS (
    SELECT channel_id FROM bare_queue WHERE account_id = $1 AND next_poll_at <= now()
    ORDER BY next_poll_at LIMIT 30 FOR UPDATE SKIP LOCKED)
UPDATE bare_queue b SET next_poll_at = now() + interval '120 s', lease_epoch = 1 FROM due
WHERE b.channel_id = due.channel_id RETURNING b.channel_id
"""
BARE_COMPLETE = "UPDATE bare_queue SET next_poll_at = now() + interval '5 minutes' WHERE channel_id = ANY($1)"
LIMITS = (*at_least(0.1, "ratio"), *at_most(2.0, "bloat"))


@dataclass
class Turns:
    """The measurements of one side."""

    polls: int = 0
    seconds: float = 0.0
    server_cpu: float = 0.0
    own_cpu: float = 0.0
    claims_ms: list[float] = field(default_factory=list)
    per_s: list[float] = field(default_factory=list)


class Worker:
    """Claims, polls without Telegram, and completes."""

    def __init__(self, number: int, system: SystemStores) -> None:
        self.rng = random.Random(number)
        self.writer: Writer = make_writer(number)
        self.system = system

    async def run(self, until: float, turns: Turns) -> None:
        schedule = self.system.schedule
        while time.perf_counter() < until:
            account_id = AccountId(self.rng.randrange(1, ACCOUNTS + 1))
            began = time.perf_counter()
            batch = await schedule.claim(account_id, 1, most=BATCH)
            turns.claims_ms.append((time.perf_counter() - began) * 1e3)
            now = datetime.now(UTC)
            empties = []
            for due in batch:
                if self.rng.random() < EMPTY_SHARE:
                    empties.append(Empty(due.channel_id, now + timedelta(minutes=5)))
                else:
                    await self.land(due, now)
            if empties:
                await schedule.complete(account_id, 1, empties, polled_at=now)
            turns.polls += len(batch)

    async def land(self, due: DueChannel, now: datetime) -> None:
        first = (due.known.top.high if due.known else 0) + 1
        posts = tuple(
            posts_of(
                self.writer,
                due.channel_id,
                first_id=first,
                count=POSTS,
                newest=now,
                span=timedelta(minutes=4),
            )
        )
        moments = [post.posted_at.timestamp() for post in posts]
        rhythm = (
            after_posts(due.rhythm, moments, now.timestamp())
            if due.rhythm
            else new_rhythm(moments, now.timestamp(), since=moments[0])
        )
        ends = RunEnds(started_at=now, next_poll_at=now + timedelta(minutes=5), rhythm=rhythm)
        await self.system.landing.land(page_of(posts), Claim(ChannelId(due.channel_id), 1), ends=ends)


async def bare(number: int, pool: Pool, until: float, turns: Turns) -> None:
    rng = random.Random(number)
    while time.perf_counter() < until:
        async with pool.acquire() as connection:
            await connection.execute("SET ROLE tga_system")
            rows = await connection.fetch(BARE_CLAIM, rng.randrange(1, ACCOUNTS + 1))
            await connection.execute(BARE_COMPLETE, [row["channel_id"] for row in rows])
            await connection.execute("RESET ROLE")
        turns.polls += len(rows)


async def run(channels: int, seconds: float) -> dict[str, object]:
    async with own_database("tga_bench_due_queue") as settings, open_pool(settings.database) as pool:
        admin = await asyncpg.connect(
            (settings.database.admin_url or settings.database.url).get_secret_value(), command_timeout=1200
        )
        await admin.execute(FILL.format(channels=channels, accounts=ACCOUNTS))
        await admin.execute("VACUUM (ANALYZE) poll_schedule")
        await admin.execute("VACUUM (ANALYZE) bare_queue")
        await admin.execute("ANALYZE")
        fresh = await admin.fetchval("SELECT pg_total_relation_size('poll_schedule')")
        postmaster = await find_postmaster(admin)
        system = system_stores(pool, Wakeup())
        workers = [Worker(number, system) for number in range(WORKERS)]
        ours, plain = Turns(), Turns()
        began = time.perf_counter()
        while time.perf_counter() - began < seconds:
            await _turn(
                ours, postmaster, lambda until: [worker.run(until, ours) for worker in workers], TURN_SECONDS
            )
            await _turn(
                plain,
                postmaster,
                lambda until: [bare(number, pool, until, plain) for number in range(WORKERS)],
                2.0,
            )
        bloated = await admin.fetchval("SELECT pg_total_relation_size('poll_schedule')")
        versions = await Versions.read(admin)
        await admin.close()
    return {
        "bench": "due_queue",
        "polls_per_s": round(median(ours.per_s)),
        "pg_cpu_us_per_poll": round(ours.server_cpu / ours.polls * 1e6, 1),
        "claim_p99_ms": round(percentile(ours.claims_ms, 0.99), 2),
        "bloat": round(bloated / fresh, 2),
        "claim_p50_ms": round(percentile(ours.claims_ms, 0.5), 2),
        "own_cpu_us_per_poll": round(ours.own_cpu / ours.polls * 1e6, 1),
        "bare_per_s": round(median(plain.per_s)),
        "bare_pg_cpu_us_per_poll": round(plain.server_cpu / max(1, plain.polls) * 1e6, 1),
        "ratio": round(median(ours.per_s) / median(plain.per_s), 3),
        "channels": channels,
        "polls": ours.polls,
        "table_mb": round(bloated / 2**20),
        "seconds": round(seconds),
        **versions.as_json(),
    }


async def _turn(
    turns: Turns,
    postmaster: int,
    make: Callable[[float], Iterable[Awaitable[None]]],
    seconds: float,
) -> None:
    server, own, polls, began = postgres_cpu(postmaster), own_cpu_seconds(), turns.polls, time.perf_counter()
    await asyncio.gather(*make(began + seconds))
    took = time.perf_counter() - began
    turns.seconds += took
    turns.server_cpu += postgres_cpu(postmaster) - server
    turns.own_cpu += own_cpu_seconds() - own
    turns.per_s.append((turns.polls - polls) / took)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--channels", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=600)
    options = parser.parse_args()
    finish(asyncio.run(run(options.channels, options.seconds)), options, *LIMITS)


if __name__ == "__main__":
    main()
