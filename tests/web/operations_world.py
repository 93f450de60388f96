"""An installation with something to see on every page of Operations."""

import math
from datetime import UTC, datetime, timedelta

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.pipeline import PIPELINE
from telegram_assistant.stores.postgres.operations.processes import ProcessReport
from telegram_assistant.stores.postgres.pipeline.stage_minutes import StageMinute
from telegram_assistant.telemetry.scraping import Metrics, Sample
from testkit.factories import fresh_number
from tests.conftest import Admin

TRACEBACK = (
    'Traceback (most recent call last):\n  File "stages/tagging.py", line 42, in tagging\n'
    "ValueError: the event does not parse"
)
PAYLOAD = (
    b'{"event_id": "6c1f", "post_id": "1234567890/42", "revision": 1, "occurred_at": '
    b'"2026-11-16T08:00:00Z", "version": 1}'
)


async def build_operations(app: App, admin: Admin) -> TenantId:
    """Fills everything, and returns the operator's tenant."""
    await admin.execute("DELETE FROM processes")
    await admin.execute("DELETE FROM stage_minutes")
    await admin.execute("DELETE FROM dead_letters")
    await admin.execute(
        "DELETE FROM tenants WHERE NOT is_operator AND name LIKE 'acme%' "
        "AND tenant_id NOT IN (SELECT tenant_id FROM telegram_accounts)"
    )
    for instance, roles in (("moscow-1#ab12", ("ingest", "api")), ("moscow-2#7f00", ("worker",))):
        await app.api.processes.report(_report(instance, roles))
    await app.api.processes.report(_report("moscow-2#11aa", ("worker",)), is_last=True)
    minute = datetime.now(UTC).replace(second=0, microsecond=0)
    minutes = [
        StageMinute(
            minute - timedelta(minutes=ago),
            stage.name,
            int(40 + 30 * math.sin(ago / 5 + place)),
            0,
            int(9 * (1 + math.cos(ago / 7))),
        )
        for place, stage in enumerate(PIPELINE)
        for ago in range(1, 60)
    ]
    await app.system.stage_minutes.save(minutes, instance="moscow-2#7f00")
    add = """
        INSERT INTO dead_letters (stage, stream, entry_id, channel_id, message_id, payload, reason, traceback,
            attempts)
        VALUES ('tagging', 'stream:posts:parsed', $1, 1234567890, 42, $2,
            'ValueError: the event does not parse', $3, 5)
    """
    for _ in range(2):
        await admin.execute(add, f"{fresh_number()}-0", PAYLOAD, TRACEBACK)
    made = await app.api.tenant_operations.create(f"acme {fresh_number()}")
    assert made is not None
    await app.api.tenant_operations.set_budget(made, micro=500_000_000, tokens=90_000)
    await app.api.tenant_operations.suspend(made, why="the bill was not paid")
    return TenantId(await admin.fetchval("SELECT tenant_id FROM tenants WHERE is_operator"))


def _report(instance: str, roles: tuple[str, ...]) -> ProcessReport:
    failing = {
        "status": "failing",
        "since": "2026-11-16T08:00:00Z",
        "detail": "TimeoutError: no answer within 10 s",
    }
    samples = [
        Sample(name, {"stage": stage.name}, value)
        for stage in PIPELINE
        for name, value in (
            ("stage_processed_total", 12_345.0),
            ("stage_failed_total", 3.0),
            ("stage_lag_entries", 7.0),
            ("stage_pending_entries", 2.0),
        )
    ]
    samples += [
        Sample(name, {"disk": disk}, size_bytes)
        for disk, used_share in (("files", 0.93), ("spool", 0.93), ("temporary", 0.2))
        for name, size_bytes in (
            ("disk_size_bytes", 2e10 + (disk == "temporary")),
            ("disk_free_bytes", 2e10 * (1 - used_share)),
        )
    ]
    samples += [
        Sample("redis_memory_bytes", {"kind": kind}, value)
        for kind, value in (("used", 1.2e8), ("limit", 1.6e8), ("machine", 4e9))
    ]
    samples.append(Sample("media_paused", {}, 1.0))
    return ProcessReport(
        instance=instance,
        roles=roles,
        version="0.1.0",
        parts={"ingest": {"account 7": failing}} if "ingest" in roles else {},
        metrics=Metrics(tuple(samples) if "worker" in roles else ()),
        servers_away={},
    )
