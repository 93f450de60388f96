"""The demo understood, end to end: every post of some channels passes all stages, with a provider (`--ai
provider`) or without any key.

World, ingest and worker are processes of their own; files are fetched; the provider is an HTTP server that
speaks GigaChat's protocol. The bench waits until nothing is on its way any more, and then looks for what is
lacking.
"""

import asyncio
import os
import tempfile
import time
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg
from redis.asyncio import Redis

from bench.demo import TICK_SECONDS, all_stored, busiest, furnish, load_expected
from bench.workloads.joined_channels import assistant, telegram_at
from telegram_assistant.assembly import assemble
from telegram_assistant.domain.lane import Lane
from telegram_assistant.events import PostIndexed
from telegram_assistant.events.envelope import trace_of
from telegram_assistant.pipeline import PIPELINE
from telegram_assistant.settings import read_settings
from telegram_assistant.streams.entries import PAYLOAD
from telegram_assistant.streams.keys import stream_key
from telegram_assistant.streams.monitoring import measure_stages
from testkit.engines import free_port, running_engine
from testkit.harness import arguments, at_most, finish, own_database
from testkit.provider_server import fake_server, saying
from testkit.simulators import simulator

ACCOUNTS = 4
PATIENCE_S = 900.0
QUIET_LOOKS = 5
"""Nothing on its way so often in a row, two seconds apart: it has come to an end."""

UNDER_WAY = """
SELECT EXISTS (SELECT 1 FROM outbox) OR EXISTS (SELECT 1 FROM media_groups WHERE closed_at IS NULL)
    OR EXISTS (SELECT 1 FROM provider_wanted)
    OR EXISTS (SELECT 1 FROM post_media m JOIN posts p USING (channel_id, message_id)
        WHERE m.state = 'wanted' AND p.deleted_at IS NULL)
"""
LACKING = """
SELECT (SELECT count(*) FROM posts p WHERE deleted_at IS NULL AND NOT EXISTS (
            SELECT 1 FROM post_enrichment e WHERE (e.channel_id, e.message_id) = (p.channel_id, p.message_id)
                AND kind = 'tags' AND tier = 'local'
        )) AS without_tags,
       (SELECT count(*) FROM posts p WHERE deleted_at IS NULL AND EXISTS (
            SELECT 1 FROM post_media m WHERE (m.channel_id, m.message_id) = (p.channel_id, p.message_id)
        ) AND NOT EXISTS (
            SELECT 1 FROM post_enrichment e WHERE (e.channel_id, e.message_id) = (p.channel_id, p.message_id)
                AND kind = 'vision'
        )) AS not_looked_at,
       (SELECT count(*) FROM media_groups) - (SELECT count(DISTINCT (channel_id, message_id))
           FROM post_enrichment WHERE kind = 'album')
            AS albums_not_assembled,
       (SELECT count(*) FROM dead_letters) AS dead_letters,
       (SELECT count(*) FROM media_groups) AS albums,
       (SELECT count(*) FROM post_enrichment WHERE kind = 'tags' AND tier = 'provider') AS by_provider,
       (SELECT count(DISTINCT (channel_id, message_id)) FROM post_enrichment
           WHERE kind = 'vision') AS with_pictures
"""
LIMITS = at_most(
    0,
    "unfinished",
    "missing",
    "without_tags",
    "not_looked_at",
    "albums_not_assembled",
    "dead_letters",
    "strange_traces",
)


type Database = "asyncpg.Connection[asyncpg.Record]"


async def at_rest(admin: Database, redis: Redis) -> bool:
    """Whether everything came to its end in time."""
    deadline, quiet = time.monotonic() + PATIENCE_S, 0
    while quiet < QUIET_LOOKS and time.monotonic() < deadline:
        busy = await admin.fetchval(UNDER_WAY) or any(
            state.lag or state.pending for state in await measure_stages(redis, PIPELINE, 1)
        )
        quiet = 0 if busy else quiet + 1
        await asyncio.sleep(2)
    return quiet >= QUIET_LOOKS


async def strange_traces(redis: Redis) -> tuple[int, int]:
    """Of the posts that were indexed last, how many carry another trace than their own;
    and how many there are.
    """
    events = []
    for lane in Lane:
        entries: Any = await redis.xrange(stream_key(PostIndexed, lane))
        events += [PostIndexed.model_validate_json(fields[PAYLOAD]) for _, fields in entries]
    strange = {event.post_id for event in events if _trace(event.trace_id) not in _traces(event)}
    return len(strange), len({event.post_id for event in events})


def _traces(event: PostIndexed) -> set[str]:
    """Of the post's revisions; an album has that of its first item, and counts for itself."""
    return {_trace(trace_of(event.post, revision)) for revision in range(1, event.revision + 1)}


def _trace(traceparent: str | None) -> str:
    return (traceparent or "--").split("-")[1]


async def run(channels: list[int], ai: str) -> dict[str, object]:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        present = datetime.now(UTC).replace(microsecond=0).isoformat()
        running = stack.enter_context(simulator("demo", "--now", present, limits="telegram"))
        control = stack.enter_context(running.control())
        wanted = await asyncio.to_thread(load_expected, control, channels)
        engine = stack.enter_context(running_engine("redis", folder / "redis"))
        database = (await stack.enter_async_context(own_database("tga_bench_understood"))).database
        fake = await stack.enter_async_context(fake_server())
        fake.says = saying(
            tags=[], entities=[], topic="economy", kind="news", description="A picture.", text=""
        )
        environ = {
            **os.environ,
            **telegram_at(running, None),
            "TELEGRAM_DC_PUBLIC_KEY": running.where["key"],
            **(fake.gigachat(GIGACHAT_STREAMS="10") if ai == "provider" else {}),
            "DATABASE_URL": database.url.get_secret_value(),
            "REDIS_URL": engine.url,
            "PARSER_SCHEDULER_INTERVAL_SEC": str(TICK_SECONDS),
            "S3_ENDPOINT": "",
            "FILES_DIR": str(folder / "files"),
            **{name: str(free_port()) for name in ("INGEST_PORT", "WORKER_PORT")},
        }
        async with assemble(read_settings(environ), with_accounts=True) as app:
            tenant_id = await furnish(app, control, channels, ACCOUNTS)
            if ai == "provider":
                await app.system.ai_policies.consent(tenant_id, given_by="bench")
                await app.system.spending.set_budget(tenant_id, micro=10**12, tokens=None)
        admin = await asyncpg.connect((database.admin_url or database.url).get_secret_value())
        stack.push_async_callback(admin.close)
        await admin.execute(
            "UPDATE subscriptions SET wants_media = true, ai_policy = $1",
            "provider" if ai == "provider" else "local",
        )
        began = time.monotonic()
        redis = Redis.from_url(engine.url)
        stack.push_async_callback(redis.aclose)
        async with assistant(environ, folder / "tga.log", roles="ingest,worker"):
            read = await all_stored(admin, wanted, began)
            ended = await at_rest(admin, redis)
            took = time.monotonic() - began
        lacking = await admin.fetchrow(LACKING)
        assert lacking is not None
        strange, indexed = await strange_traces(redis)
        return {
            "bench": "understood",
            "ai": ai,
            "posts": len(wanted),
            "missing": read.missing,
            "came_to_an_end": ended,
            **dict(lacking),
            "strange_traces": strange,
            "traces_seen": indexed,
            "calls": fake.calls,
            "seconds": round(took, 1),
            "channels": len(channels),
            "cores": os.cpu_count(),
        }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--channels", type=int, default=10, help="so many of them, the busiest first")
    parser.add_argument("--ai", choices=("provider", "none"), default="provider")
    options = parser.parse_args()
    result = asyncio.run(run(busiest(options.channels), options.ai))
    finish(result | {"unfinished": int(not result["came_to_an_end"])}, options, *LIMITS)


if __name__ == "__main__":
    main()
