"""Heartbeats: every process reports its health, and the numbers that the operator sees, every few seconds."""

import asyncio
import math
from collections.abc import Mapping

from telegram_assistant import __version__
from telegram_assistant.errors import Busy
from telegram_assistant.stores.postgres.operations.processes import Processes, ProcessReport
from telegram_assistant.supervision import sleep_unless
from telegram_assistant.telemetry.health import Health
from telegram_assistant.telemetry.metrics import (
    DISK_FREE,
    DISK_SIZE,
    MEDIA_PAUSED,
    OUTBOX_ANNOUNCED,
    POSTS_LANDED,
    REDIS_MEMORY,
    STAGE_DEAD_LETTERED,
    STAGE_FAILED,
    STAGE_LAG,
    STAGE_OLDEST,
    STAGE_PENDING,
    STAGE_PROCESSED,
    STAGE_RETRIED,
)
from telegram_assistant.telemetry.outages import OutageLog
from telegram_assistant.telemetry.scraping import Metrics, Sample

HEARTBEAT_SECONDS = 3.0
SUMMARY_SECONDS = 30.0
"""Sections of health ask servers and count channels: they are examined less often."""
AWAY_AFTER_SECONDS = 9.0
"""A process that has not reported for so long counts as away: it has missed three heartbeats."""
REPORTED = (
    STAGE_PROCESSED,
    STAGE_FAILED,
    STAGE_RETRIED,
    STAGE_DEAD_LETTERED,
    STAGE_LAG,
    STAGE_PENDING,
    STAGE_OLDEST,
    OUTBOX_ANNOUNCED,
    POSTS_LANDED,
    DISK_SIZE,
    DISK_FREE,
    REDIS_MEMORY,
    MEDIA_PAUSED,
)
"""Metrics in every heartbeat: what the operator sees is what /metrics says."""


async def send_heartbeats(
    stopping: asyncio.Event, *, processes: Processes, instance: str, roles: Mapping[str, Health]
) -> None:
    """Reports until `stopping` is set, and then once more that the process has stopped."""
    clock, summarized_at, outage = asyncio.get_running_loop().time, -math.inf, OutageLog("heartbeats")
    while not stopping.is_set():
        if clock() - summarized_at >= SUMMARY_SECONDS:
            summarized_at = clock()
            await asyncio.gather(*(health.summarize() for health in roles.values()))
        if await _report(processes, instance, roles):
            outage.log_recovery()
        else:
            outage.log_failure("PostgreSQL does not take the report; other processes count this one as away")
        await sleep_unless(stopping, HEARTBEAT_SECONDS)
    await _report(processes, instance, roles, is_last=True)


def collect_metrics() -> Metrics:
    """The metrics of this process that heartbeats carry."""
    samples = (sample for metric in REPORTED for family in metric.collect() for sample in family.samples)
    return Metrics(
        tuple(
            Sample(sample.name, sample.labels, sample.value)
            for sample in samples
            if not sample.name.endswith("_created")
        )
    )


async def _report(
    processes: Processes, instance: str, roles: Mapping[str, Health], *, is_last: bool = False
) -> bool:
    """Returns whether PostgreSQL has taken the report.

    A heartbeat that was not taken is not repeated: the next one says more.
    """
    report = ProcessReport(
        instance=instance,
        roles=tuple(roles),
        version=__version__,
        parts={role: health.parts() for role, health in roles.items()},
        metrics=collect_metrics(),
        servers_away=await next(iter(roles.values())).unavailable_servers(),
    )
    try:
        async with asyncio.timeout(HEARTBEAT_SECONDS):
            await processes.report(report, is_last=is_last)
    except (Busy, TimeoutError):
        return False
    return True
