"""Log lines of different stages about one post carry one trace id, the one of its events."""

import asyncio
import json
import signal

import asyncpg

from telegram_assistant.assembly import assemble
from telegram_assistant.domain.ids import MessageId, PostId
from telegram_assistant.events.envelope import trace_of
from telegram_assistant.settings import read_settings
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.telemetry.trace_ids import trace_id_of
from testkit.factories import make_channel, make_page, make_post, make_subscription, make_tenant
from testkit.running_program import program

BROKEN = ("post_terms", "post_search", "post_media")
"""Tables without which stages fail, and say so."""


async def test_all_lines_about_a_post_carry_its_trace_id(migrated_database: dict[str, str]) -> None:
    admin = await asyncpg.connect(migrated_database["DATABASE_ADMIN_URL"])
    async with (
        assemble(read_settings(migrated_database)) as app,
        program(migrated_database, "--roles", "worker") as running,
    ):
        tenant_id, channel_id = await make_tenant(app.system), await make_channel(app.system)
        await app.system.channels.subscribe(tenant_id, make_subscription(channel_id))
        await running.until_ready("worker")
        for table in BROKEN:
            await admin.execute(f"ALTER TABLE {table} RENAME TO {table}_away")
        post = make_post(channel_id=channel_id, message_id=1, text="Снег в Самаре: https://example.com/snow")
        await app.system.landing.land(make_page(post), Claim(channel_id, 0))
        lines = await lines_about_post(running.process, str(PostId(channel_id, MessageId(1))), stages=2)
        running.process.send_signal(signal.SIGTERM)
    await admin.close()
    assert {line["trace_id"] for line in lines} == {
        trace_id_of(trace_of(PostId(channel_id, MessageId(1)), 1))
    }


async def lines_about_post(
    process: asyncio.subprocess.Process, post_id: str, *, stages: int
) -> list[dict[str, str]]:
    """Reads the log until so many stages have written about the post."""
    assert process.stderr is not None
    lines: list[dict[str, str]] = []
    async with asyncio.timeout(60):
        while len({line["stage"] for line in lines}) < stages:
            line = json.loads(await process.stderr.readline())
            lines += [line] if line.get("post_id") == post_id and "stage" in line else []
    return lines
