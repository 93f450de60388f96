"""The outbox relay: publishes what PostgreSQL has committed on the streams, soon and at least once.

It publishes again only for a reason: Redis was restarted (recent announcements may be lost), Redis was
replaced or is empty (everything may be lost), or a post has not got through for an hour and nothing explains
it.
"""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from redis.asyncio import Redis
from redis.exceptions import RedisError

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.errors import Busy
from telegram_assistant.events import PostParsed
from telegram_assistant.events.envelope import trace_of
from telegram_assistant.streams.entries import PAYLOAD
from telegram_assistant.streams.keys import EPOCH_KEY, stream_of_channel, text_of
from telegram_assistant.streams.monitoring import StageState, measure_stages
from telegram_assistant.streams.room import StreamRoom
from telegram_assistant.streams.stage import AnyStage
from telegram_assistant.supervision import Loop, sleep_unless
from telegram_assistant.telemetry.health import Health, State
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import OUTBOX_AGAIN, OUTBOX_ANNOUNCED, OUTBOX_PAUSED
from telegram_assistant.telemetry.outages import OutageLog

log = get_logger()

PART = "outbox relay"
BULK_PART = "outbox relay of history"
POLL_SECONDS = 1.0
BULK_POLL_SECONDS = 0.2
CHECK_SECONDS = 10.0
BATCH = 500
BULK_BATCH = 50
MAX_BULK_UNFINISHED = 2000
BACKLOG_EXPLAINS = 1000
"""A lag above this explains why a post is late."""


@dataclass(frozen=True, slots=True)
class Announcement:
    """One row of the outbox: a revision of a post that must be published."""

    post_id: PostId
    revision: int
    created_at: datetime


class Publish(Protocol):
    """Publishes announcements on a stream."""

    async def __call__(self, announcements: Sequence[Announcement]) -> None: ...


class Outbox(Protocol):
    """The queue in PostgreSQL."""

    async def announce(self, lane: Lane, publish: Publish, *, limit: int) -> int:
        """Lock some unannounced rows, publish them and mark them. Returns their number."""
        ...

    async def count_unfinished_bulk(self) -> int: ...
    async def load_known_epoch(self) -> tuple[str | None, str | None]:
        """Return the epoch and the run id of both servers that the streams were last filled under."""
        ...

    async def load_server_start(self) -> str:
        """Return a value that changes with every start of PostgreSQL."""
        ...

    async def remember_epoch(self, epoch: str, run_id: str) -> None: ...
    async def reannounce_all(self) -> int: ...
    async def reannounce_recent(self) -> int: ...
    async def reannounce_late(self) -> int: ...
    async def wait_for_rows(self, seconds: float) -> None:
        """Wait until new rows are committed, at most so long."""
        ...


class Relay:
    """Publishes outbox rows. One per worker; several run safely side by side."""

    def __init__(
        self,
        outbox: Outbox,
        stages: Sequence[AnyStage],
        *,
        redis: Redis,
        health: Health,
        partitions: int,
        max_entries: int,
    ) -> None:
        self._outbox = outbox
        self._stages = stages
        self._redis = redis
        self._health = health
        self._partitions = partitions
        self._room = StreamRoom(redis, stages, partitions=partitions, max_entries=max_entries)
        self._checked_at = 0.0
        self._outages = {part: OutageLog(part) for part in (PART, BULK_PART)}
        self._pauses = {part: OutageLog(part) for part in (PART, BULK_PART)}

    def loops(self) -> tuple[Loop, Loop]:
        """Return one loop for live posts and one for history, so that live posts never wait for history."""
        return Loop(PART, self.run), Loop(BULK_PART, self.run_bulk)

    async def run(self, stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            if not await self._run_step(PART, self.step):
                await self._outbox.wait_for_rows(POLL_SECONDS)

    async def run_bulk(self, stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            began = time.monotonic()
            announced = await self._run_step(BULK_PART, self.step_bulk)
            await sleep_unless(stopping, time.monotonic() - began if announced else BULK_POLL_SECONDS)

    async def _run_step(self, part: str, step: Callable[[], Awaitable[int]]) -> int:
        try:
            announced = await step()
        except (Busy, RedisError) as error:
            self._outages[part].log_failure(f"{type(error).__name__}: {error}")
            self._health.report(part, State.FAILING, f"waits: {type(error).__name__}")
            self._checked_at = 0.0
            await asyncio.sleep(POLL_SECONDS)
            return 1
        self._outages[part].log_recovery()
        return announced

    async def step(self) -> int:
        """Check that Redis is unchanged, then announce waiting live posts. Returns how many were announced.

        A full Redis is not checked: it cannot take the mark that it has been filled, and would be filled
        again and again.
        """
        if await self._should_pause(PART):
            return 0
        if time.monotonic() - self._checked_at > CHECK_SECONDS:
            await self.check()
            self._checked_at = time.monotonic()
        return await self._announce(Lane.LIVE, BATCH)

    async def step_bulk(self) -> int:
        """Announce history, as long as not too much of it is unfinished.

        Returns how many posts were announced.
        """
        free = MAX_BULK_UNFINISHED - await self._outbox.count_unfinished_bulk()
        if free <= 0 or await self._should_pause(BULK_PART):
            return 0
        return await self._announce(Lane.BULK, min(free, BULK_BATCH))

    async def _should_pause(self, part: str) -> bool:
        full = await self._room.reason_to_pause()
        OUTBOX_PAUSED.set(full is not None)
        self._health.report(part, State.OK if full is None else State.FAILING, full or "")
        if full is None:
            self._pauses[part].log_recovery()
        else:
            self._pauses[part].log_failure(full)
        return full is not None

    async def _announce(self, lane: Lane, limit: int) -> int:
        async def publish(announcements: Sequence[Announcement]) -> None:
            pipeline: Any = self._redis.pipeline(transaction=False)
            for announcement in announcements:
                key = stream_of_channel(PostParsed, lane, announcement.post_id.channel_id, self._partitions)
                pipeline.execute_command(
                    "XADD", key, "*", PAYLOAD, build_event(announcement).model_dump_json()
                )
            await pipeline.execute()

        count = await self._outbox.announce(lane, publish, limit=limit)
        if count:
            OUTBOX_ANNOUNCED.labels(lane).inc(count)
        return count

    async def check(self) -> None:
        """Check whether Redis is the one that was filled, and whether posts are late without a reason."""
        run_id = await self._run_id()
        stored_epoch = await self._redis.get(EPOCH_KEY)
        epoch, known_run = await self._outbox.load_known_epoch()
        if stored_epoch is None or epoch is None or text_of(stored_epoch) != epoch:
            await self.refill()
        elif run_id != known_run:
            self._count("restarted", await self._outbox.reannounce_recent())
            await self._outbox.remember_epoch(epoch, run_id)
        elif not self._is_delay_explained(await measure_stages(self._redis, self._stages, self._partitions)):
            self._count("late", await self._outbox.reannounce_late())

    async def refill(self) -> int:
        """Announce everything again, because this Redis has lost what was announced."""
        epoch = secrets.token_hex(8)
        await self._outbox.remember_epoch(epoch, await self._run_id())
        count = await self._outbox.reannounce_all()
        await self._redis.set(EPOCH_KEY, epoch)
        self._count("refilled", count)
        return count

    async def _run_id(self) -> str:
        """Return a value that changes with every start of either server.

        Redis may have lost the latest announcements. After a crash, PostgreSQL may have lost that posts were
        finished, and their results.
        """
        info: Any = await self._redis.info("server")
        return f"{info['run_id']} {await self._outbox.load_server_start()}"

    @staticmethod
    def _is_delay_explained(states: Sequence[StageState]) -> bool:
        return any(
            state.stopped is not None or state.lag > BACKLOG_EXPLAINS or state.resting for state in states
        )

    @staticmethod
    def _count(reason: str, count: int) -> None:
        if count:
            OUTBOX_AGAIN.labels(reason).inc(count)
            log.warning("announced_again", reason=reason, posts=count)


def build_event(announcement: Announcement) -> PostParsed:
    """Build the event of an outbox row. The trace begins here."""
    occurred_at = announcement.created_at.astimezone(UTC)
    return PostParsed.about(
        announcement.post_id,
        announcement.revision,
        occurred_at=occurred_at,
        trace_id=trace_of(announcement.post_id, announcement.revision),
    )
