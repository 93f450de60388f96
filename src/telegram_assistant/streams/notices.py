"""Publishes notices: events that were written to PostgreSQL in the transaction of what they describe."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from redis.asyncio import Redis
from redis.exceptions import RedisError

from telegram_assistant.domain.lane import Lane
from telegram_assistant.errors import Busy
from telegram_assistant.events import Event
from telegram_assistant.streams.entries import PAYLOAD
from telegram_assistant.streams.keys import stream_of_channel
from telegram_assistant.streams.room import StreamRoom
from telegram_assistant.streams.stage import AnyStage
from telegram_assistant.supervision import Loop, sleep_unless
from telegram_assistant.telemetry.health import Health, State
from telegram_assistant.telemetry.outages import OutageLog

PART = "notices"
POLL_SECONDS = 0.5
BATCH = 200


@dataclass(frozen=True, slots=True)
class Notice:
    """An event as it was written, and the stream it goes to."""

    event: type[Event]
    lane: Lane
    channel_id: int
    payload: str


class PublishNotices(Protocol):
    """Publishes notices on their streams."""

    async def __call__(self, notices: Sequence[Notice]) -> None: ...


class Notices(Protocol):
    """The queue of notices in PostgreSQL."""

    async def announce(self, lane: Lane, publish: PublishNotices, *, limit: int) -> int:
        """Lock some unannounced notices, publish them and mark them. Returns their number."""
        ...


class NoticeRelay:
    """Publishes notices.

    One per worker; several run safely side by side. The outbox relay repeats what Redis has lost, for both.
    """

    def __init__(
        self,
        notices: Notices,
        stages: Sequence[AnyStage],
        *,
        redis: Redis,
        health: Health,
        partitions: int,
        max_entries: int,
    ) -> None:
        self._notices = notices
        self._redis = redis
        self._health = health
        self._partitions = partitions
        self._room = StreamRoom(redis, stages, partitions=partitions, max_entries=max_entries)
        self._outage = OutageLog(PART)
        self._pause = OutageLog(PART)

    def loop(self) -> Loop:
        return Loop(PART, self.run)

    async def run(self, stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            try:
                announced = await self.step()
                self._outage.log_recovery()
            except (Busy, RedisError) as error:
                self._outage.log_failure(f"{type(error).__name__}: {error}")
                self._health.report(PART, State.FAILING, f"waits: {type(error).__name__}")
                announced = 0
            if not announced:
                await sleep_unless(stopping, POLL_SECONDS)

    async def step(self) -> int:
        """Announce waiting notices, live before history, and return their number.

        While Redis has no room, they wait in PostgreSQL.
        """
        if (full := await self._room.reason_to_pause()) is not None:
            self._health.report(PART, State.FAILING, full)
            self._pause.log_failure(full)
            return 0
        self._pause.log_recovery()
        self._health.report(PART, State.OK)
        return sum(
            [
                await self._notices.announce(lane, self._publish, limit=BATCH)
                for lane in (Lane.LIVE, Lane.BULK)
            ]
        )

    async def _publish(self, notices: Sequence[Notice]) -> None:
        pipeline: Any = self._redis.pipeline(transaction=False)
        for notice in notices:
            key = stream_of_channel(notice.event, notice.lane, notice.channel_id, self._partitions)
            pipeline.execute_command("XADD", key, "*", PAYLOAD, notice.payload)
        await pipeline.execute()
