"""Writes what each stage does per minute, and measures what waits in PostgreSQL. Runs in every worker."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from telegram_assistant.errors import Busy
from telegram_assistant.stores.postgres.pipeline.backlog import Backlog
from telegram_assistant.stores.postgres.pipeline.stage_minutes import StageMinute, StageMinutes
from telegram_assistant.supervision import sleep_unless
from telegram_assistant.telemetry.metrics import BACKLOG, STAGE_FAILED, STAGE_LAG, STAGE_PROCESSED
from telegram_assistant.telemetry.outages import OutageLog
from telegram_assistant.telemetry.scraping import Metrics, Sample

EVERY_SECONDS = 5.0


class CountedMinutes:
    """The work of this process's stages in each minute, by their counters.

    One per process: it outlives a crash of its loop.
    """

    def __init__(self, stages: Sequence[str]) -> None:
        self._stages = stages
        self._before = _counters(stages, _stage_metrics())
        self._minutes: dict[tuple[datetime, str], StageMinute] = {}

    def count(self, now: datetime) -> tuple[StageMinute, ...]:
        """Reads the counters. Returns the minutes that are not known to be saved."""
        metrics, minute = _stage_metrics(), _minute(now)
        counters = _counters(self._stages, metrics)
        for stage in self._stages:
            stage_minute = self._minutes.get((minute, stage)) or StageMinute(minute, stage, 0, 0, 0)
            (processed_count, failed_count), (processed_before, failed_before) = (
                counters[stage],
                self._before[stage],
            )
            lag = int(metrics.total("stage_lag_entries", stage=stage) or 0)
            self._minutes[minute, stage] = replace(
                stage_minute,
                processed=stage_minute.processed + processed_count - processed_before,
                failed=stage_minute.failed + failed_count - failed_before,
                lag=max(stage_minute.lag, lag),
            )
        self._before = counters
        return tuple(self._minutes.values())

    def forget_saved(self, now: datetime) -> None:
        """Forgets all but the current minute, which goes on."""
        self._minutes = {
            key: minute for key, minute in self._minutes.items() if minute.minute == _minute(now)
        }


async def keep_throughput(
    stopping: asyncio.Event,
    *,
    counted_minutes: CountedMinutes,
    minutes: StageMinutes,
    backlog: Backlog,
    instance: str,
    every_seconds: float = EVERY_SECONDS,
) -> None:
    """Runs until `stopping` is set, and then saves once more."""
    outage = OutageLog("throughput")
    while True:
        is_last, now = stopping.is_set(), datetime.now(UTC)
        unsaved_minutes = counted_minutes.count(now)
        try:
            await minutes.save(unsaved_minutes, instance=instance)
            counted_minutes.forget_saved(now)
            await measure_backlog(backlog)
            outage.log_recovery()
        except Busy as busy:
            outage.log_failure(busy)  # it stays in memory, and is saved next time
        if is_last:
            return
        await sleep_unless(stopping, every_seconds)


async def measure_backlog(backlog: Backlog) -> None:
    """Sets the metric of waiting entries. A queue that is empty now gets a zero."""
    waiting_counts = {(entry.queue.value, entry.kind): entry.entries for entry in await backlog.entries()}
    exported_labels = {
        (sample.labels["queue"], sample.labels["kind"])
        for family in BACKLOG.collect()
        for sample in family.samples
    }
    for labels in exported_labels | waiting_counts.keys():
        BACKLOG.labels(*labels).set(waiting_counts.get(labels, 0))


def _stage_metrics() -> Metrics:
    samples = (
        sample
        for metric in (STAGE_PROCESSED, STAGE_FAILED, STAGE_LAG)
        for family in metric.collect()
        for sample in family.samples
    )
    return Metrics(tuple(Sample(sample.name, sample.labels, sample.value) for sample in samples))


def _counters(stages: Sequence[str], metrics: Metrics) -> dict[str, tuple[int, int]]:
    """The entries that each stage has finished, and its failed attempts."""
    return {
        stage: (_total(metrics, "stage_processed_total", stage), _total(metrics, "stage_failed_total", stage))
        for stage in stages
    }


def _total(metrics: Metrics, counter: str, stage: str) -> int:
    return int(metrics.total(counter, stage=stage) or 0)


def _minute(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)
