"""Schedulers whose time is moved by hand, and what is seen of them."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from telegram_assistant.ingest.scheduler import Scheduler, scheduler_status
from telegram_assistant.settings import ParserSettings
from telegram_assistant.stores.redis.marks import Marks
from telegram_assistant.stores.redis.scheduler import SchedulerLock
from telegram_assistant.telemetry.health import Health
from telegram_assistant.telemetry.metrics import SCHEDULER_LOCK
from tests.ingest.office import Office


class Hands:
    """A clock that somebody moves, on the grid of the scheduler's intervals."""

    def __init__(self, interval_seconds: int = 300) -> None:
        self.now = datetime.fromtimestamp(time.time() // interval_seconds * interval_seconds, UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def planner(office: Office, owner: str, clock: Callable[[], datetime], **parser: Any) -> Scheduler:
    return Scheduler(
        settings=ParserSettings(**parser),
        lock=SchedulerLock(office.app.redis, owner),
        planning=office.app.system.planning,
        marks=Marks(office.app.redis),
        health=Health(probes={}),
        clock=clock,
    )


def lock_attempts(status: str) -> float:
    return float(SCHEDULER_LOCK.labels(status)._value.get())  # noqa: SLF001 -- no public way to read one


async def scheduler_health(office: Office, *, now: datetime | None = None, **parser: Any) -> dict[str, Any]:
    settings = ParserSettings(**parser)
    lock = SchedulerLock(office.app.redis, "me#0001")
    status = await scheduler_status(
        lock=lock, planning=office.app.system.planning, settings=settings, now=now or datetime.now(UTC)
    )
    return dict(status.as_json(settings.interval_seconds))
