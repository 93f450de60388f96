"""Periodic work as a queue: many digests due in one minute, with one, two and four workers.

Tenants of ten people each follow most channels of the measuring world; every hundredth person has a digest of
the past that cannot be read, so no new one can be made. Each run begins without digests and ends when all the
others have theirs. `stall_s` is the longest time in which nobody got one. CPU is that of the workers and of
PostgreSQL, from a worker's start to its last digest; planning the digests and refusing the unreadable ones is
part of it. Then the same digests while workers are killed with SIGKILL: each is made and sent once. And
claims of work that does nothing, by themselves. Run one again with `--seed SEED`.
"""

import asyncio
import os
import random
import signal
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg

from bench.chaos.due_worker import CLAIMED
from bench.studies.stories import BATCH, connect
from bench.workloads.story_world import LabelledPost, land, world
from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.digests.interests import MAX_WEIGHT
from telegram_assistant.stores.postgres.channels.channels import EVERYTHING_DAYS, Subscription
from testkit.harness import (
    Versions,
    arguments,
    at_least,
    at_most,
    cpu_seconds,
    find_postmaster,
    finish,
    own_database,
    postgres_cpu,
)

PEOPLE = 10
"""Of a tenant."""
POISONED = 100
"""Every one of so many."""
DAYS = 3
TOPICS = ("мост", "пожар", "суд", "выборы", "bridge", "fire", "метро", "больница")
LONGEST_RUN_SECONDS = 3600.0
WORKERS = (1, 2, 4)
PEOPLE_SQL = """
WITH tenant AS (
    INSERT INTO tenants (name) SELECT 'tenant ' || gen_random_uuid() FROM generate_series(1, $1::int)
    RETURNING tenant_id
),
person AS (
    INSERT INTO users (name) SELECT 'person ' || gen_random_uuid()
    FROM generate_series(1, $1::int * $2::int) RETURNING user_id
),
member AS (
    INSERT INTO memberships (tenant_id, user_id, role)
    SELECT t.tenant_id, p.user_id, 'viewer'
    FROM (SELECT tenant_id, row_number() OVER () - 1 AS n FROM tenant) t
    JOIN (SELECT user_id, (row_number() OVER () - 1) / $2::int AS n FROM person) p USING (n)
    RETURNING tenant_id, user_id
),
receiver AS (
    INSERT INTO receivers (tenant_id, kind, name, address, language, created_by, confirmed_at)
    SELECT tenant_id, 'email', 'mail', 'reader@desk.example', 'ru', 'bench', now() FROM tenant
    RETURNING tenant_id, receiver_id
)
INSERT INTO digest_plans (tenant_id, user_id, times, weekdays, length, zone, receivers)
SELECT m.tenant_id, m.user_id, '{08:00}', '{1,2,3,4,5,6,7}', 'normal', 'UTC', ARRAY[r.receiver_id]
FROM member m JOIN receiver r USING (tenant_id)
"""
INTERESTS = """
INSERT INTO interests (tenant_id, user_id, topic, weight, source, why)
SELECT p.tenant_id, p.user_id, t.topic, $2, 'own', ''
FROM digest_plans p CROSS JOIN unnest($1::text[]) WITH ORDINALITY AS t(topic, n)
WHERE (p.user_id + t.n) % 3 = 0
"""
UNREADABLE = """
INSERT INTO digests (tenant_id, user_id, digest_id, since, until, content, made_at)
SELECT tenant_id, user_id, gen_random_uuid(), now() - interval '3 days', now() - interval '2 days', '{}',
    now() - interval '2 days'
FROM (SELECT *, row_number() OVER (ORDER BY tenant_id, user_id) AS n FROM digest_plans) p
WHERE n % $1 = 7 % $1
"""
PLAN = "UPDATE digest_plans SET times = ARRAY[$1::time], changed_at = now() - interval '12 hours'"
MADE = """
SELECT tenant_id, user_id, digest_id, made_at FROM digests WHERE content <> '{}' AND until > $1
"""
LIMITS = (
    *at_most(0, "missing", "twice", "sent_twice", "unsent", "early", "kills_missing", "kills_twice"),
    *at_most(0, "kills_sent_twice", "kills_unsent", "claims_left"),
    *at_least(0.85, "cpu_ratio"),
    *at_most(100, "cpu_ms_per_digest"),
    *at_most(15, "stall_s"),
    *at_least(1, "poisoned", "failed"),
)


@dataclass(slots=True)
class Fleet:
    """The workers of a run, and the CPU that they used before they were killed."""

    environ: dict[str, str]
    workers: list[asyncio.subprocess.Process] = field(default_factory=list)

    async def start(self, count: int, mode: str) -> None:
        self.workers += await asyncio.gather(*(start_worker(self.environ, mode) for _ in range(count)))

    def cpu(self) -> float:
        return sum(cpu_seconds(worker.pid) for worker in self.workers)

    async def kill(self, place: int) -> None:
        self.workers[place].send_signal(signal.SIGKILL)
        await self.workers[place].wait()
        self.workers[place] = await start_worker(self.environ, "digests")

    async def stop(self) -> None:
        for worker in self.workers:
            worker.send_signal(signal.SIGTERM)
        await asyncio.gather(*(worker.wait() for worker in self.workers))


async def start_worker(environ: dict[str, str], mode: str) -> asyncio.subprocess.Process:
    command = (sys.executable, "-m", "bench.chaos.due_worker", mode)
    worker = await asyncio.create_subprocess_exec(
        *command, env=environ, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    assert worker.stdout is not None
    while (line := await worker.stdout.readline()) != b"ready\n":
        if not line:
            sys.exit("a worker did not start")
    return worker


@asynccontextmanager
async def fleet_of(environ: dict[str, str], count: int, mode: str = "digests") -> AsyncIterator[Fleet]:
    fleet = Fleet(environ)
    try:
        await fleet.start(count, mode)
        yield fleet
    finally:
        await fleet.stop()


@dataclass(frozen=True, slots=True)
class DueMinute:
    """The result of one run."""

    made: int
    missing: int
    twice: int
    sent_twice: int
    unsent: int
    early: int
    stall_s: float
    last_after_s: float
    failed: int
    cpu: float
    kills: int = 0


async def make_world(app: App, admin: "asyncpg.Connection[asyncpg.Record]", tenants: int) -> int:
    """Stores and groups the posts, and makes the people. Returns how many of them are poisoned."""
    posts = recent_posts()
    await land(app, posts)
    await admin.execute("UPDATE posts SET stored_at = posted_at + interval '1 minute'")
    await admin.execute(PEOPLE_SQL, tenants, PEOPLE)
    rows = await admin.fetch("SELECT tenant_id FROM tenants WHERE name LIKE 'tenant %' ORDER BY tenant_id")
    channels = sorted({post.post.channel_id for post in posts})
    for row in rows:
        rng = random.Random(row["tenant_id"])
        for channel_id in rng.sample(channels, len(channels) * 4 // 5):
            await app.system.channels.subscribe(
                row["tenant_id"], Subscription(channel_id=channel_id, history_days=EVERYTHING_DAYS)
            )
    await admin.execute("UPDATE subscriptions SET created_at = '2020-01-01', visible_from = '2020-01-01'")
    for start in range(0, len(posts), BATCH):
        batch = posts[start : start + BATCH]
        await app.story_builder.group([post.post.id for post in batch], now=batch[-1].post.posted_at)
    await admin.execute(INTERESTS, list(TOPICS), MAX_WEIGHT)
    poisoned = await admin.execute(UNREADABLE, min(POISONED, tenants * PEOPLE))
    await admin.execute("ANALYZE")
    return int(poisoned.rpartition(" ")[2])


def recent_posts() -> Sequence[LabelledPost]:
    """The posts of the world as if its last days were ours."""
    posts = [post for post in world(days=DAYS) if not post.is_private]
    later = datetime.now(UTC) - posts[-1].post.posted_at
    return [post.move(later, 0) for post in posts]


async def run_minute(
    environ: dict[str, str],
    admin: "asyncpg.Connection[asyncpg.Record]",
    *,
    workers: int,
    wanted: int,
    kills: int = 0,
    rng: random.Random | None = None,
) -> DueMinute:
    """All digests due in one minute: it ends when everybody has theirs who can have one."""
    await admin.execute("DELETE FROM deliveries")
    await admin.execute("DELETE FROM digests WHERE content <> '{}'")
    await admin.execute("DELETE FROM due_work")
    await admin.execute("DELETE FROM job_runs")
    ahead = timedelta(seconds=20 + wanted * 0.12)
    moment = (datetime.now(UTC) + ahead).replace(second=0, microsecond=0) + timedelta(minutes=1)
    await admin.execute(PLAN, moment.time())
    began_at = datetime.now(UTC)
    server = await find_postmaster(admin)
    async with fleet_of(environ, workers) as fleet:
        before = fleet.cpu() + postgres_cpu(server)
        killing = asyncio.create_task(keep_killing(fleet, kills, rng or random.Random(0)))
        stall, last = await wait_for_digests(admin, began_at, wanted, moment, kills=kills)
        if not kills:
            cpu = fleet.cpu() + postgres_cpu(server) - before
        killed = await killing
        if kills:
            cpu = 0.0
            await wait_for_digests(admin, began_at, wanted, moment, kills=kills)
    failed = await admin.fetchval("SELECT count(*) FROM due_work WHERE error IS NOT NULL")
    made = await admin.fetch(MADE, began_at)
    people = {(row["tenant_id"], row["user_id"]) for row in made}
    sent = await admin.fetch(
        "SELECT digest_id, count(*) AS times, min(due_at) AS first FROM deliveries GROUP BY digest_id"
    )
    result = DueMinute(
        made=len(made),
        missing=wanted - len(people),
        twice=len(made) - len(people),
        sent_twice=sum(row["times"] > 1 for row in sent),
        unsent=len({row["digest_id"] for row in made} - {row["digest_id"] for row in sent}),
        early=sum(row["first"] < moment for row in sent) + sum(row["made_at"] < moment for row in made),
        stall_s=round(stall, 1),
        last_after_s=round((last - moment).total_seconds(), 1),
        failed=failed,
        cpu=cpu,
        kills=killed,
    )
    print(f"{workers} workers: {result}", file=sys.stderr, flush=True)
    return result


async def keep_killing(fleet: Fleet, kills: int, rng: random.Random) -> int:
    """Kills one worker after the other."""
    for _ in range(kills):
        await asyncio.sleep(rng.uniform(0.2, 2.0))
        await fleet.kill(rng.randrange(len(fleet.workers)))
    return kills


async def wait_for_digests(
    admin: "asyncpg.Connection[asyncpg.Record]",
    began_at: datetime,
    wanted: int,
    moment: datetime,
    *,
    kills: int,
) -> tuple[float, datetime]:
    """The longest time without a new digest between the first and the last, and when the last was made."""
    ends = time.monotonic() + LONGEST_RUN_SECONDS
    count, stall, since, last = 0, 0.0, time.monotonic(), moment
    patience = 120.0 if not kills else 300.0
    while count < wanted and time.monotonic() < ends:
        await asyncio.sleep(0.5)
        now_made = await admin.fetchval(
            "SELECT count(*) FROM digests WHERE content <> '{}' AND until > $1", began_at
        )
        if now_made > count:
            if count:
                stall = max(stall, time.monotonic() - since)
            count, since, last = now_made, time.monotonic(), datetime.now(UTC)
        elif datetime.now(UTC) > moment and time.monotonic() - since > patience:
            break
    return stall, last


async def run_claims(
    environ: dict[str, str], admin: "asyncpg.Connection[asyncpg.Record]", *, workers: int, claims: int
) -> dict[str, float]:
    """Claims and completions alone, of work of many tenants."""
    await admin.execute("DELETE FROM due_work")
    server = await find_postmaster(admin)
    async with fleet_of(environ, workers, "claims") as fleet:
        before, began = fleet.cpu() + postgres_cpu(server), time.monotonic()
        await admin.execute(
            "INSERT INTO due_work (kind, urgency, tenant_id, user_id) SELECT $1, 1, p.tenant_id, p.user_id "
            "FROM digest_plans p LIMIT $2",
            CLAIMED,
            claims,
        )
        while await admin.fetchval("SELECT count(*) FROM due_work"):
            if time.monotonic() - began > LONGEST_RUN_SECONDS:
                break
            await asyncio.sleep(0.1)
        took, cpu = time.monotonic() - began, fleet.cpu() + postgres_cpu(server) - before
    left = await admin.fetchval("SELECT count(*) FROM due_work")
    return {"per_s": round(claims / took), "cpu_us": round(cpu / claims * 1e6), "left": left}


async def measure(*, people: int, claims: int, kills: int, seed: int) -> dict[str, Any]:
    async with own_database("tga_bench_due_work") as settings:
        admin = await connect(settings)
        async with assemble(settings, needs_redis=False) as app:
            poisoned = await make_world(app, admin, people // PEOPLE)
        assert settings.database.admin_url is not None
        environ = {
            **os.environ,
            "DATABASE_URL": settings.database.url.get_secret_value(),
            "DATABASE_ADMIN_URL": settings.database.admin_url.get_secret_value(),
            "NEO4J_URI": "",
        }
        wanted = people - poisoned
        minutes = {count: await run_minute(environ, admin, workers=count, wanted=wanted) for count in WORKERS}
        killed = await run_minute(
            environ, admin, workers=4, wanted=wanted, kills=kills, rng=random.Random(seed)
        )
        more_people = max(0, claims // PEOPLE - people // PEOPLE)
        if more_people:
            await admin.execute(PEOPLE_SQL, more_people, PEOPLE)
        claimed = {count: await run_claims(environ, admin, workers=count, claims=claims) for count in WORKERS}
        versions = await Versions.read(admin)
        await admin.close()
    one_worker, runs = minutes[1], list(minutes.values())
    return {
        "bench": "due_work",
        "seed": seed,
        "people": people,
        "tenants": people // PEOPLE,
        "poisoned": poisoned,
        "failed": min(run.failed for run in runs),
        **{
            name: max(getattr(run, name) for run in runs)
            for name in ("missing", "twice", "sent_twice", "unsent", "early", "stall_s")
        },
        "cpu_ms_per_digest": round(max(run.cpu / max(1, run.made) for run in runs) * 1000, 1),
        "cpu_ratio": round(
            (one_worker.cpu / max(1, one_worker.made)) / (minutes[4].cpu / max(1, minutes[4].made)), 2
        ),
        "cpu_ms_by_workers": {
            count: round(run.cpu / max(1, run.made) * 1000, 1) for count, run in minutes.items()
        },
        "last_after_s_by_workers": {count: run.last_after_s for count, run in minutes.items()},
        "kills": killed.kills,
        "kills_missing": killed.missing,
        "kills_twice": killed.twice,
        "kills_sent_twice": killed.sent_twice,
        "kills_unsent": killed.unsent,
        "claims": claims,
        "claims_left": max(run["left"] for run in claimed.values()),
        "claims_by_workers": claimed,
        **versions.as_json(),
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--people", type=int, default=2000)
    parser.add_argument("--claims", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000))
    parser.add_argument("--quick", action="store_true", help="200 people, 2,000 claims, 10 kills")
    options = parser.parse_args()
    people, claims, kills = (
        (200, 2000, 10) if options.quick else (options.people, options.claims, options.kills)
    )
    finish(
        asyncio.run(measure(people=people, claims=claims, kills=kills, seed=options.seed)), options, *LIMITS
    )


if __name__ == "__main__":
    main()
