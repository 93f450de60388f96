"""A provider goes away for a while under load: every post goes on in time with local tags, and has the
provider's afterwards.

Posts land at a steady pace in channels whose follower pays for a provider. The provider (an HTTP server that
speaks GigaChat's protocol, so the real SDK asks) hears everything and answers nothing for as long as the
outage lasts. The worker is the program's own: relay, all stages, and what it works off later. A post has
passed when its row has left the outbox. History that somebody has asked for waits as well when the provider
is back; all news come before the first of it.
"""

import asyncio
import os
import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg

from telegram_assistant.ai.questions import TAGGING
from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.understanding.policy import AiPolicy, PendingImprovement
from telegram_assistant.settings import read_settings
from telegram_assistant.stores.postgres.channels.channels import Subscription
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.supervision import keep_running
from telegram_assistant.telemetry.health import Health
from telegram_assistant.telemetry.metrics import REGISTRY
from telegram_assistant.worker_role import loops
from testkit.engines import running_engine
from testkit.harness import arguments, at_most, finish, own_database, percentile
from testkit.provider_server import FakeServer, fake_server, saying
from testkit.rows import Writer, make_writer, page_of, posts_of

CHANNELS, PER_SECOND, AT_ONCE = 50, 50, 5
OLD_CHANNEL, OLD_POSTS = ChannelId(CHANNELS + 1), 100
CALM_SECONDS = 5.0
"""Before the outage: the provider is there."""
PATIENCE_SECONDS = 1200.0
LOOK_SECONDS = 0.25
ABSURD_SECONDS = 60.0
LIMITS = (
    *at_most(
        0,
        "not_passed",
        "late_news",
        "without_local_tags",
        "without_provider_tags",
        "not_paid",
        "paid_twice",
        "dead_letters",
    ),
    *at_most(ABSURD_SECONDS, "slowest_s"),
)
"""How late posts were depends on the machine, and is for whoever reads it, unless it is absurd."""


type Key = tuple[int, int]
type Admin = asyncpg.Connection[asyncpg.Record]

TAGGED = "SELECT tier, count(*) AS posts FROM post_enrichment WHERE kind = 'tags' GROUP BY tier"
PAID = "SELECT count(*) AS calls, count(DISTINCT call_id) AS different FROM usage WHERE status = 'ok'"
BEFORE_HISTORY = """
SELECT count(*) FROM post_enrichment WHERE kind = 'tags' AND tier = 'provider' AND channel_id <> $1
AND made_at < (SELECT min(made_at) FROM post_enrichment
    WHERE kind = 'tags' AND tier = 'provider' AND channel_id = $1)
"""


@dataclass
class Passing:
    """When each post landed, and how long it took to pass."""

    landed: dict[Key, float] = field(default_factory=dict)
    took: dict[Key, float] = field(default_factory=dict)
    breaker_open: list[tuple[float, bool]] = field(default_factory=list)

    def slowest(self, keys: list[Key]) -> float:
        return round(max((self.took[key] for key in keys), default=0.0), 2)

    def after_it_was_open(self, until: float) -> list[Key]:
        """Those that landed while live work left the provider alone."""
        since = min((at for at, is_open in self.breaker_open if is_open), default=float("inf"))
        return [key for key, at in self.landed.items() if since < at < until]


async def furnish(app: App) -> None:
    system = app.system
    tenant_id = (await system.tenants.ensure("bench")).tenant_id
    await system.ai_policies.consent(tenant_id, given_by="bench")
    await system.spending.set_budget(tenant_id, micro=10**12, tokens=None)
    for number in (*range(1, CHANNELS + 1), OLD_CHANNEL):
        await system.channels.register(Channel(channel_id=ChannelId(number), title=f"bench {number}"))
        await system.channels.subscribe(
            tenant_id, Subscription(channel_id=ChannelId(number), ai_policy=AiPolicy.PROVIDER)
        )


async def land(app: App, writer: Writer, passing: Passing, until: float) -> None:
    """At a steady pace, five posts at a time."""
    number, began = 0, time.monotonic()
    while time.monotonic() < until:
        channel_id, first = number % CHANNELS + 1, number // CHANNELS * AT_ONCE + 1
        made = tuple(
            posts_of(
                writer,
                channel_id,
                first_id=first,
                count=AT_ONCE,
                newest=datetime.now(UTC),
                span=timedelta(minutes=1),
            )
        )
        await app.system.landing.land(page_of(made), Claim(ChannelId(channel_id), 0))
        now = time.monotonic()
        passing.landed |= {(channel_id, post.message_id): now for post in made}
        number += 1
        await asyncio.sleep(max(0.0, began + number * AT_ONCE / PER_SECOND - time.monotonic()))


async def want_history(app: App, writer: Writer) -> None:
    """As `tga retag --yes` does."""
    newest = datetime.now(UTC) - timedelta(days=3)
    made = tuple(
        posts_of(writer, OLD_CHANNEL, first_id=1, count=OLD_POSTS, newest=newest, span=timedelta(hours=1))
    )
    await app.system.landing.land(page_of(made), Claim(OLD_CHANNEL, 0))
    await app.system.provider_wanted.add(*(PendingImprovement(post.id, TAGGING) for post in made))


async def watch(admin: Admin, passing: Passing) -> None:
    while True:
        landed = [key for key in passing.landed if key not in passing.took]
        waiting = {
            (row["channel_id"], row["message_id"])
            for row in await admin.fetch("SELECT channel_id, message_id FROM outbox")
        }
        now = time.monotonic()
        passing.took |= {key: now - passing.landed[key] for key in landed if key not in waiting}
        is_open = REGISTRY.get_sample_value("ai_breaker_open", {"provider": "gigachat", "lane": "live"}) == 1
        passing.breaker_open.append((now, is_open))
        await asyncio.sleep(LOOK_SECONDS)


async def wait_for_recovery(admin: Admin) -> float:
    """How long it takes until nothing is wanted of the provider any more."""
    began = time.monotonic()
    while (
        await admin.fetchval("SELECT EXISTS (SELECT 1 FROM provider_wanted)")
        and time.monotonic() - began < PATIENCE_SECONDS
    ):
        await asyncio.sleep(1)
    return round(time.monotonic() - began, 1)


async def run(seconds: float) -> dict[str, object]:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        engine = stack.enter_context(running_engine("redis", folder / "redis"))
        database = (await stack.enter_async_context(own_database("tga_bench_outage"))).database
        fake = await stack.enter_async_context(fake_server())
        fake.says = saying(tags=[], entities=[], topic="economy", kind="news")
        servers = {"DATABASE_URL": database.url.get_secret_value(), "REDIS_URL": engine.url}
        environ = {**os.environ, **servers, **fake.gigachat(GIGACHAT_STREAMS="10", CRAWL_ENABLED="false")}
        app = await stack.enter_async_context(assemble(read_settings(environ)))
        admin, looker = [
            await asyncpg.connect((database.admin_url or database.url).get_secret_value()) for _ in range(2)
        ]
        stack.push_async_callback(admin.close)
        stack.push_async_callback(looker.close)
        await furnish(app)
        return await observe(app, admin, looker, fake, seconds)


async def observe(
    app: App, admin: Admin, looker: Admin, fake: FakeServer, seconds: float
) -> dict[str, object]:
    passing, stopping, health = Passing(), asyncio.Event(), Health(probes={})
    work = [
        asyncio.create_task(keep_running(loop, stopping=stopping, health=health))
        for loop in loops(app, health)
    ]
    watching = asyncio.create_task(watch(looker, passing))
    began = time.monotonic()
    ends = began + CALM_SECONDS + seconds
    writer = make_writer(5)
    landing = asyncio.create_task(land(app, writer, passing, ends))
    await asyncio.sleep(CALM_SECONDS)
    fake.hangs = True
    await landing
    while len(passing.took) < len(passing.landed) and time.monotonic() < ends + 60:
        await asyncio.sleep(LOOK_SECONDS)
    await want_history(app, writer)
    fake.hangs = False
    recovery = await wait_for_recovery(admin)
    stopping.set()
    watching.cancel()
    await asyncio.gather(*work, watching, return_exceptions=True)
    tiers = {row["tier"]: row["posts"] for row in await admin.fetch(TAGGED)}
    paid = await admin.fetchrow(PAID)
    assert paid is not None
    shut_out = passing.after_it_was_open(ends)
    return {
        "bench": "outage",
        "posts": len(passing.landed),
        "passed": len(passing.took),
        "slowest_s": passing.slowest(list(passing.took)),
        "p95_s": round(percentile(list(passing.took.values()), 0.95), 2),
        "slowest_s_breaker_open": passing.slowest([key for key in shut_out if key in passing.took]),
        "posts_breaker_open": len(shut_out),
        "local_tags": tiers.get("local", 0),
        "provider_tags": tiers.get("provider", 0),
        "history": OLD_POSTS,
        "news_before_history": await admin.fetchval(BEFORE_HISTORY, OLD_CHANNEL),
        "paid": paid["calls"],
        "paid_twice": paid["calls"] - paid["different"],
        "recovery_s": recovery,
        "dead_letters": await admin.fetchval("SELECT count(*) FROM dead_letters"),
        "outage_s": seconds,
        "cores": os.cpu_count(),
    }


def lacking(result: dict[str, Any]) -> dict[str, int]:
    """How many posts did not get what all must get."""
    news, everything = result["posts"], result["posts"] + result["history"]
    return {
        "not_passed": news - result["passed"],
        "late_news": news - result["news_before_history"],
        "without_local_tags": everything - result["local_tags"],
        "without_provider_tags": everything - result["provider_tags"],
        "not_paid": abs(everything - result["paid"]),
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    options = parser.parse_args()
    result = asyncio.run(run(options.seconds))
    finish(result | lacking(result), options, *LIMITS)


if __name__ == "__main__":
    main()
