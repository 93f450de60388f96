"""Marks that operators inspect with redis-cli: high-water marks, low watermarks, statistics, locks of
backfills.

They mirror PostgreSQL and are written after the commit. Without Redis, reading continues from the coverage
ledger, so a mark that cannot be read or written is logged once and is no error.
"""

from collections.abc import Awaitable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, Field, NonNegativeInt, ValidationError
from redis.exceptions import RedisError

from telegram_assistant.domain.channels.parsing import Statistics
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.stores.redis.client import FREE, Redis, text_of
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import HWM_AGE, MARKS_UNREADABLE
from telegram_assistant.telemetry.outages import OutageLog

log = get_logger()

MAX_AT_ONCE = 1000
LOOKED_THROUGH_AT_ONCE = 10_000
"""Keys that one SCAN looks at, for some milliseconds; a million channels have more than a million."""

STATISTICS_SECONDS = 3600
DAY_SECONDS = 86_400
LOCK_SECONDS = 3600
JOB_STEP_SECONDS = 600
WRITTEN_SECONDS = 30 * DAY_SECONDS
KINDS = ("parse_hwm", "parse_hwm_written", "low_watermark", "interarrival_stats", "lock:backfill")
"""The keys of a channel: kind:CHANNEL."""
KINDS_OF_MANY = ("backfill_job", "album")
"""Those of which a channel has several: kind:CHANNEL:NUMBER."""

# Times in one format compare as text; a value that is no time is overwritten.
RAISE = """
local old = redis.call('GET', KEYS[1])
if old and string.match(old, '^%d%d%d%d%-%d%d%-%d%dT') and old >= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('SET', KEYS[2], ARGV[2], 'EX', ARGV[3])
return 1
"""
LOCK = """
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'EX', ARGV[3]) then return false end
local holder = redis.call('GET', KEYS[1])
if holder ~= ARGV[1] and holder ~= ARGV[2] then return holder end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[3])
return false
"""


type _Seconds = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]


class _StoredStatistics(BaseModel):
    """The value of `interarrival_stats`, which operators or other versions may have written."""

    median: _Seconds
    p95: _Seconds
    ewma: _Seconds
    sample_count: NonNegativeInt
    window_days: NonNegativeInt
    calculated_at: AwareDatetime


class Marks:
    """One per process.

    `parser_hwm_age_seconds` shows for each high-water mark that is read or written here how long ago it was
    raised.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._raise = redis.register_script(RAISE)
        self._free = redis.register_script(FREE)
        self._lock = redis.register_script(LOCK)
        self._outage = OutageLog("marks")

    async def high_water(self, channel_ids: Sequence[ChannelId]) -> Mapping[ChannelId, datetime]:
        """For each interrupted run, the time up to which it had closed its gaps."""
        marks: dict[ChannelId, datetime] = {}
        for chunk_start in range(0, len(channel_ids), MAX_AT_ONCE):
            batch_ids = channel_ids[chunk_start : chunk_start + MAX_AT_ONCE]
            texts = (
                await self._try(self._redis.mget([f"parse_hwm:{channel_id}" for channel_id in batch_ids]))
                or []
            )
            for channel_id, text in zip(batch_ids, texts, strict=False):
                moment = None if text is None else _moment(channel_id, text)
                if moment is None:
                    HWM_AGE.forget(channel_id)
                else:
                    marks[channel_id] = moment
        await self._show_ages(marks)
        return marks

    async def _show_ages(self, marks: Mapping[ChannelId, datetime]) -> None:
        """A mark whose writing is not known is as old as the moment that it names, which is never later."""
        channel_ids = list(marks)
        for chunk_start in range(0, len(channel_ids), MAX_AT_ONCE):
            batch_ids = channel_ids[chunk_start : chunk_start + MAX_AT_ONCE]
            texts = await self._try(
                self._redis.mget([f"parse_hwm_written:{channel_id}" for channel_id in batch_ids])
            ) or [None] * len(batch_ids)
            for channel_id, text in zip(batch_ids, texts, strict=True):
                written_at = None if text is None else _moment(channel_id, text)
                HWM_AGE.since(channel_id, max(marks[channel_id], written_at or marks[channel_id]).timestamp())

    async def raise_high_water(self, channel_id: ChannelId, moment: datetime, *, now: datetime) -> None:
        """Raises the mark; it never moves backwards.

        Remembers when it was raised, also for the next process that shows its age.
        """
        keys = [f"parse_hwm:{channel_id}", f"parse_hwm_written:{channel_id}"]
        is_raised = await self._try(self._raise(keys=keys, args=[_text(moment), _text(now), WRITTEN_SECONDS]))
        if is_raised != 0:
            HWM_AGE.since(channel_id, now.timestamp())

    async def drop_high_water(self, channel_id: ChannelId) -> None:
        HWM_AGE.forget(channel_id)
        await self._try(self._redis.delete(f"parse_hwm:{channel_id}", f"parse_hwm_written:{channel_id}"))

    async def forget(self, channel_ids: Sequence[ChannelId]) -> bool:
        """Deletes all marks of channels that nobody follows any more.

        Returns False if Redis does not answer.
        """
        deleted_count = await self._try(
            self._redis.delete(*(f"{kind}:{channel_id}" for kind in KINDS for channel_id in channel_ids))
        )
        return (
            deleted_count is not None
            and await self._try(self._forget_many({str(channel_id) for channel_id in channel_ids}))
            is not None
        )

    async def _forget_many(self, channel_ids: AbstractSet[str]) -> int:
        """Looks through all keys once, whatever the number of channels:
        their numbers are known to the keys only.
        """
        deleted_count = 0
        for kind in KINDS_OF_MANY:
            async for key in self._redis.scan_iter(f"{kind}:*", count=LOOKED_THROUGH_AT_ONCE):
                if text_of(key).split(":")[1] in channel_ids:
                    deleted_count += await self._redis.delete(key)
        return deleted_count

    async def set_low_water(self, channel_id: ChannelId, moment: datetime) -> None:
        await self._try(self._redis.set(f"low_watermark:{channel_id}", _text(moment), ex=DAY_SECONDS))

    async def statistics(self, channel_id: ChannelId) -> Statistics | None:
        text = await self._try(self._redis.get(f"interarrival_stats:{channel_id}"))
        if not text:
            return None
        try:
            return Statistics(**_StoredStatistics.model_validate_json(text).model_dump())
        except ValidationError:
            _unreadable("interarrival_stats", channel_id)
            return None

    async def keep_statistics(self, channel_id: ChannelId, statistics: Statistics) -> None:
        text = _StoredStatistics.model_validate(asdict(statistics)).model_dump_json()
        await self._try(self._redis.set(f"interarrival_stats:{channel_id}", text, ex=STATISTICS_SECONDS))

    async def drop_statistics(self, channel_id: ChannelId) -> None:
        await self._try(self._redis.delete(f"interarrival_stats:{channel_id}"))

    async def lock_backfill(self, channel_id: ChannelId, owner: str, *, instead_of: str | None) -> str | None:
        """Takes or renews the lock, or takes it over from `instead_of`.

        Returns another holder, or None if the lock is ours.
        """
        holder = await self._try(
            self._lock(keys=[f"lock:backfill:{channel_id}"], args=[owner, instead_of or owner, LOCK_SECONDS])
        )
        return text_of(holder) if holder else None

    async def free_backfill(self, channel_id: ChannelId, owner: str) -> None:
        await self._try(self._free(keys=[f"lock:backfill:{channel_id}"], args=[owner]))

    async def has_backfill_job(self, channel_id: ChannelId, window_start: datetime) -> bool:
        """Whether a backfill of this window began within the last day."""
        return bool(await self._try(self._redis.exists(_job_key(channel_id, window_start))))

    async def note_backfill_job(self, channel_id: ChannelId, window_start: datetime) -> None:
        await self._try(self._redis.set(_job_key(channel_id, window_start), "1", nx=True, ex=DAY_SECONDS))

    async def drop_backfill_job(self, channel_id: ChannelId, window_start: datetime) -> None:
        await self._try(self._redis.delete(_job_key(channel_id, window_start)))

    async def _try[T](self, reply: Awaitable[T]) -> T | None:
        try:
            answer = await reply
        except (RedisError, OSError) as error:
            self._outage.log_failure(
                type(error).__name__, what_to_do="reading goes on from PostgreSQL; see to Redis"
            )
            return None
        self._outage.log_recovery()
        return answer


async def delete_all_high_water(redis: Redis) -> int:
    """Deletes every parse_hwm:*, found with SCAN because DEL takes no patterns. Returns how many."""
    deleted_count = 0
    async for key in redis.scan_iter("parse_hwm:*", count=1000):
        deleted_count += await redis.delete(key)
    return deleted_count


def _job_key(channel_id: ChannelId, window_start: datetime) -> str:
    return f"backfill_job:{channel_id}:{int(window_start.timestamp()) // JOB_STEP_SECONDS * JOB_STEP_SECONDS}"


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def _moment(channel_id: ChannelId, text: bytes | str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text_of(text))
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        _unreadable("parse_hwm", channel_id)
        return None


def _unreadable(mark: str, channel_id: ChannelId) -> None:
    MARKS_UNREADABLE.inc()
    log.warning(
        "mark_unreadable",
        what=mark,
        channel_id=channel_id,
        what_to_do="nothing: it is ignored and written anew",
    )
