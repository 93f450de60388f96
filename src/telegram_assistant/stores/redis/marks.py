"""What operators look at with redis-cli: high-water marks, low watermarks, statistics, locks of backfills.

They mirror what PostgreSQL knows, and are written after the commit. Without Redis reading goes on from the ledger, so a
mark that cannot be read or written is told once in the log, and no error.
"""

import json
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from redis.exceptions import RedisError

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.parsing import Statistics
from telegram_assistant.stores.redis.client import FREE, Redis, text_of
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import MARKS_UNREADABLE

log = get_logger()

STATISTICS_SECONDS = 3600
DAY_SECONDS = 86_400
LOCK_SECONDS = 3600
JOB_STEP_SECONDS = 600

# Written alike, moments compare as text; what is no moment is overwritten.
RAISE = """
local old = redis.call('GET', KEYS[1])
if old and string.match(old, '^%d%d%d%d%-%d%d%-%d%dT') and old >= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1
"""


class Marks:
    """One per process."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._raise = redis.register_script(RAISE)
        self._free = redis.register_script(FREE)
        self._away = False

    async def high_water(self, channel_ids: Sequence[ChannelId]) -> Mapping[ChannelId, datetime]:
        """The dates below which runs that were cut off had closed their holes."""
        if not channel_ids:
            return {}
        found = await self._try(self._redis.mget([f"parse_hwm:{one}" for one in channel_ids])) or []
        marks = {one: _moment(one, text) for one, text in zip(channel_ids, found, strict=False) if text is not None}
        return {one: moment for one, moment in marks.items() if moment is not None}

    async def raise_high_water(self, channel_id: ChannelId, moment: datetime) -> None:
        """It never moves backwards."""
        await self._try(self._raise(keys=[f"parse_hwm:{channel_id}"], args=[_text(moment)]))

    async def drop_high_water(self, channel_id: ChannelId) -> None:
        await self._try(self._redis.delete(f"parse_hwm:{channel_id}"))

    async def set_low_water(self, channel_id: ChannelId, moment: datetime) -> None:
        await self._try(self._redis.set(f"low_watermark:{channel_id}", _text(moment), ex=DAY_SECONDS))

    async def statistics(self, channel_id: ChannelId) -> Statistics | None:
        text = await self._try(self._redis.get(f"interarrival_stats:{channel_id}"))
        if not text:
            return None
        try:
            values = json.loads(text)
            return Statistics(**{**values, "calculated_at": datetime.fromisoformat(values["calculated_at"])})
        except (ValueError, TypeError, KeyError):
            _unreadable("interarrival_stats", channel_id)
            return None

    async def keep_statistics(self, channel_id: ChannelId, statistics: Statistics) -> None:
        text = json.dumps({**asdict(statistics), "calculated_at": _text(statistics.calculated_at)})
        await self._try(self._redis.set(f"interarrival_stats:{channel_id}", text, ex=STATISTICS_SECONDS))

    async def drop_statistics(self, channel_id: ChannelId) -> None:
        await self._try(self._redis.delete(f"interarrival_stats:{channel_id}"))

    async def lock_backfill(self, channel_id: ChannelId, owner: str) -> None:
        """Take or renew it, for who has the job in PostgreSQL: only one can. Who else is named there has died, or lost the job."""
        await self._try(self._redis.set(f"lock:backfill:{channel_id}", owner, ex=LOCK_SECONDS))

    async def free_backfill(self, channel_id: ChannelId, owner: str) -> None:
        await self._try(self._free(keys=[f"lock:backfill:{channel_id}"], args=[owner]))

    async def was_backfilled(self, channel_id: ChannelId, window_start: datetime) -> bool:
        """Whether this window was completed within the last day."""
        return bool(await self._try(self._redis.exists(_job_key(channel_id, window_start))))

    async def note_backfilled(self, channel_id: ChannelId, window_start: datetime) -> None:
        await self._try(self._redis.set(_job_key(channel_id, window_start), "1", ex=DAY_SECONDS))

    async def _try[T](self, asked: Awaitable[T]) -> T | None:
        try:
            answer = await asked
        except (RedisError, OSError) as error:
            if not self._away:
                log.warning("marks_away", why=type(error).__name__, what_to_do="reading goes on from PostgreSQL; see to Redis")
            self._away = True
            return None
        if self._away:
            self._away = False
            log.info("marks_back")
        return answer


async def delete_all_high_water(redis: Redis) -> int:
    """Every parse_hwm:*, found by SCAN: DEL knows no patterns."""
    deleted = 0
    async for key in redis.scan_iter("parse_hwm:*", count=1000):
        deleted += await redis.delete(key)
    return deleted


def _job_key(channel_id: ChannelId, window_start: datetime) -> str:
    return f"backfill_job:{channel_id}:{int(window_start.timestamp()) // JOB_STEP_SECONDS * JOB_STEP_SECONDS}"


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def _moment(channel_id: ChannelId, text: bytes | str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text_of(text))
    except ValueError:
        _unreadable("mark", channel_id)
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _unreadable(what: str, channel_id: ChannelId) -> None:
    MARKS_UNREADABLE.inc()
    log.warning("mark_unreadable", what=what, channel_id=channel_id, what_to_do="nothing: it is ignored and written anew")
