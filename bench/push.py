"""Push: how soon a post is committed that Telegram tells of by itself, from the call that publishes it to the
row another connection sees.

The whole ingest role runs in a process of its own, with Telegram's limits; each account has joined its share
of the channels and has read them once. With `--lost` Telegram tells nothing at all: everything has to come by
polling, however late.
"""

import asyncio
import os
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg

from bench.workloads.joined_channels import Size, assistant, furnish, telegram_at
from telegram_assistant.assembly import assemble
from telegram_assistant.settings import read_settings
from telegram_simulator.control.client import ControlClient
from telegram_simulator.world.load import FIRST_CHANNEL
from testkit.engines import free_port, running_engine
from testkit.harness import arguments, at_most, cpu_seconds, finish, own_database, percentile
from testkit.simulators import Running, simulator

POSTS = 20
"""The number of posts in each channel before the start."""
LOOK_SECONDS = 0.02
HANDS = 4
TELLING_SECONDS = 20.0
"""How long the bench waits for posts that are still on their way after the last one is published."""

COUNT_UNREAD = "SELECT count(*) FROM poll_schedule WHERE last_polled_at IS NULL"
LANDED = """
SELECT channel_id, message_id FROM outbox WHERE announced_at IS NULL AND lane = 'live'
    AND created_at > now() - interval '5 seconds'
"""
LONGEST = "SELECT coalesce(max(longest_seconds), 0)::float8 FROM account_plans"
LIMITS = (*at_most(0, "lost"), *at_most(1.0, "p95_s"))


type PostKey = tuple[int, int]
type Database = "asyncpg.Connection[asyncpg.Record]"


@dataclass
class Race:
    """When each post was published, and when it was seen in the database."""

    published: dict[PostKey, float] = field(default_factory=dict)
    seen_at: dict[PostKey, float] = field(default_factory=dict)

    @property
    def missing(self) -> set[PostKey]:
        return self.published.keys() - self.seen_at.keys()

    @property
    def wait_seconds(self) -> list[float]:
        return [self.seen_at[key] - at for key, at in self.published.items() if key in self.seen_at]


def publish(race: Race, telegram: Running, size: Size, per_second: float, hand: int) -> None:
    """One of several threads, so that a slow answer delays no other post; they take the channels in turn."""
    began = time.time()
    with telegram.control() as control:
        for number in range(hand, round(size.seconds * per_second), HANDS):
            time.sleep(max(0.0, began + number / per_second - time.time()))
            channel_id, asked_at = FIRST_CHANNEL + number % size.channels, time.time()
            (message_id,) = control.post(
                channel_id, f"Новость номер {number}: снег и гололёд, водителей просят не торопиться."
            )
            race.published[channel_id, message_id] = asked_at


async def watch(race: Race, admin: Database, ended: asyncio.Event) -> None:
    """Records when posts reach the outbox, until told to end. No worker runs, so posts stay there."""
    while not ended.is_set():
        rows = await admin.fetch(LANDED)
        now = time.time()
        for row in rows:
            race.seen_at.setdefault((row["channel_id"], row["message_id"]), now)
        await asyncio.sleep(LOOK_SECONDS)


async def all_read(admin: Database) -> None:
    while await admin.fetchval(COUNT_UNREAD):
        await asyncio.sleep(0.5)


async def all_seen(race: Race, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while race.missing and time.monotonic() < deadline:
        await asyncio.sleep(0.05)


async def run(size: Size, per_second: float, *, lost: bool) -> dict[str, object]:
    race, ended = Race(), asyncio.Event()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        world = ("load", "--channels", str(size.channels), "--posts", str(POSTS))
        running = stack.enter_context(simulator(*world, limits="telegram"))
        control = stack.enter_context(running.control())
        engine = stack.enter_context(running_engine("redis", folder / "redis"))
        database = (await stack.enter_async_context(own_database("tga_bench_push"))).database
        servers = {"DATABASE_URL": database.url.get_secret_value(), "REDIS_URL": engine.url}
        environ = {**os.environ, **servers, **telegram_at(running, None), "INGEST_PORT": str(free_port())}
        async with assemble(read_settings(environ), with_accounts=True) as app:
            await furnish(app, control, size)
        admin = await asyncpg.connect((database.admin_url or database.url).get_secret_value())
        stack.push_async_callback(admin.close)
        async with assistant(environ, folder / "ingest.log", roles="ingest") as process:
            await all_read(admin)
            control.ask("POST", "/trouble", drop_updates=lost)
            watching = asyncio.create_task(watch(race, admin, ended))
            cpu, before = cpu_seconds(process.pid), requests(control)
            await asyncio.gather(
                *(asyncio.to_thread(publish, race, running, size, per_second, hand) for hand in range(HANDS))
            )
            cpu, calls = cpu_seconds(process.pid) - cpu, requests(control) - before
            await all_seen(race, 10 * TELLING_SECONDS if lost else TELLING_SECONDS)
            ended.set()
            await watching
            bound = float(await admin.fetchval(LONGEST))
    return figures(race, size, cpu=cpu, calls=calls, bound=bound, lost=lost)


def requests(control: ControlClient) -> Counter[str]:
    """The number of requests by method, over all accounts."""
    return sum((Counter(methods) for methods in control.state()["calls"].values()), Counter[str]())


def figures(
    race: Race, size: Size, *, cpu: float, calls: Counter[str], bound: float, lost: bool
) -> dict[str, object]:
    waited, moments = race.wait_seconds, race.published.values()
    return {
        "bench": "push",
        "p50_s": round(percentile(waited, 0.5), 3),
        "p95_s": round(percentile(waited, 0.95), 3),
        "p99_s": round(percentile(waited, 0.99), 3),
        "max_s": round(max(waited), 3),
        "policy_bound_s": round(bound, 1),
        "posts": len(race.published),
        "posts_per_second": round(len(race.published) / (max(moments) - min(moments)), 1),
        "lost": len(race.missing),
        "channels": size.channels,
        "accounts": size.accounts,
        "seconds": size.seconds,
        "requests": calls.total(),
        "requests_by_method": dict(calls),
        "cpu_us_per_post": round(cpu / len(race.published) * 1e6),
        "updates_dropped": lost,
        "cores": os.cpu_count(),
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--channels", type=int, default=50)
    parser.add_argument("--accounts", type=int, default=5)
    parser.add_argument("--posts-per-second", type=float, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument(
        "--lost", action="store_true", help="Telegram tells nothing: everything comes by polling"
    )
    options = parser.parse_args()
    size = Size(options.seconds, options.channels, options.accounts, proxy=False)
    result = asyncio.run(run(size, options.posts_per_second, lost=options.lost))
    finish(result, options, *(LIMITS[:1] if options.lost else LIMITS))


if __name__ == "__main__":
    main()
