"""One worker of the chaos bench: three stages that count their effects in PostgreSQL, with the real runtime
around them.

`python -m bench.chaos.worker` reads the addresses of the servers from the environment. The text of a post
says how it behaves: plain, slow, failing, rejected, or deadly (it kills the process that works on it).
"""

import asyncio
import os
import signal
from dataclasses import dataclass, fields

import asyncpg

from telegram_assistant.assembly import App, assemble
from telegram_assistant.errors import Busy, CannotStart, Rejected
from telegram_assistant.events import Event, PostEnriched, PostParsed, PostTagged
from telegram_assistant.reasons import quote
from telegram_assistant.settings import TelemetrySettings, read_settings
from telegram_assistant.stores.postgres.posts.posts import Posts
from telegram_assistant.streams.runner import Options
from telegram_assistant.streams.stage import stage
from telegram_assistant.supervision import keep_running
from telegram_assistant.telemetry.health import Health
from telegram_assistant.telemetry.logging import configure_logging
from telegram_assistant.worker_role import build_loops

OPTIONS = Options(lease_seconds=2.0, reclaim_every_seconds=0.2, block_seconds=0.5)

EFFECT = """
WITH fresh AS (
    INSERT INTO chaos_done (stage, post_id, revision)
    SELECT $1, post_id, revision FROM unnest($2::text[], $3::int[]) AS n(post_id, revision)
    ON CONFLICT DO NOTHING RETURNING 1)
UPDATE chaos_totals SET total = total + (SELECT count(*) FROM fresh) WHERE stage = $1
"""


class Effects:
    """The traces of a stage in PostgreSQL: a row per event, and a total that shows events counted twice."""

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]") -> None:
        self._pool = pool

    async def leave(self, stage_name: str, events: list[Event]) -> None:
        try:
            await self._pool.execute(
                EFFECT,
                stage_name,
                [event.post_id for event in events],
                [event.revision for event in events],
                timeout=5,
            )
        except (OSError, TimeoutError, asyncpg.PostgresConnectionError, asyncpg.InterfaceError) as error:
            raise Busy(quote(f"no database: {type(error).__name__}"), retry_after_seconds=0.2) from error


@stage(consumes=PostParsed, emits=PostTagged, concurrency=16, timeout_seconds=10, backoff_seconds=0.1)
async def chaos_tagging(event: PostParsed, *, posts: Posts, effects: Effects) -> PostTagged:
    """One by one."""
    text = (await posts.load([event.post]))[0].post.text
    if text == "deadly":
        os.kill(os.getpid(), signal.SIGKILL)
    if text == "rejected":
        raise Rejected(quote("it says so"))
    if text == "failing":
        raise RuntimeError("it says so")
    await asyncio.sleep(3.0 if text == "slow" else 0.002)
    await effects.leave("chaos_tagging", [event])
    return PostTagged.about(event.post, event.revision, occurred_at=event.occurred_at, trigger="initial")


@stage(consumes=PostTagged, emits=PostEnriched, batch=50, concurrency=2, backoff_seconds=0.1)
async def chaos_enrichment(events: list[PostTagged], *, effects: Effects) -> list[PostEnriched]:
    """In batches, and telling."""
    await effects.leave("chaos_enrichment", list(events))
    return [
        PostEnriched.about(event.post, event.revision, occurred_at=event.occurred_at, trigger="initial")
        for event in events
    ]


@stage(consumes=PostEnriched, batch=100, concurrency=2, backoff_seconds=0.1)
async def chaos_indexing(events: list[PostEnriched], *, effects: Effects) -> None:
    """The last one."""
    await effects.leave("chaos_indexing", list(events))


@dataclass(frozen=True, slots=True)
class ChaosApp(App):
    effects: Effects


STAGES = (chaos_tagging, chaos_enrichment, chaos_indexing)


async def main() -> None:
    settings = read_settings(os.environ)
    configure_logging(TelemetrySettings(), is_pretty=False)
    stopping, health = asyncio.Event(), Health(probes={})
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    pool = asyncpg.create_pool(settings.database.url.get_secret_value(), min_size=1, max_size=4, timeout=5)
    try:
        async with assemble(settings) as app, pool:
            parts = {field.name: getattr(app, field.name) for field in fields(app)}
            full = ChaosApp(**parts, effects=Effects(pool))
            loops = build_loops(STAGES, (chaos_indexing,), full, health, OPTIONS)
            tasks = [
                asyncio.create_task(
                    keep_running(loop, stopping=stopping, health=health, first_pause_seconds=0.2)
                )
                for loop in loops
            ]
            await stopping.wait()
            _, late = await asyncio.wait(tasks, timeout=4)
            for task in late:
                task.cancel()
            await asyncio.wait(tasks)
    except CannotStart:
        raise SystemExit(1) from None


if __name__ == "__main__":
    asyncio.run(main())
