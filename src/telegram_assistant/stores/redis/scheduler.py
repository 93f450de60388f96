"""The scheduler's lock, and the shared facts beside it: one instance plans, every instance can say how planning goes."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime

from telegram_assistant.stores.redis.client import FREE, Redis, answered, text_of

LOCK = "scheduler:lock"
FACTS = "scheduler:facts"
LOCK_SECONDS = 30
RENEW_SECONDS = 10.0

RENEW = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('EXPIRE', KEYS[1], ARGV[2]) end return 0"


@dataclass(frozen=True, slots=True)
class TickFacts:
    """What the last tick saw."""

    last_tick_at: datetime | None = None
    last_success_at: datetime | None = None
    channels_active: int = 0
    channels_failing: int = 0


class SchedulerLock:
    """`scheduler:lock`. Busy when Redis is away."""

    def __init__(self, redis: Redis, owner: str) -> None:
        self._redis = redis
        self._owner = owner
        self._renew = redis.register_script(RENEW)
        self._free = redis.register_script(FREE)

    async def acquire(self) -> bool:
        return bool(await answered(self._redis.set(LOCK, self._owner, nx=True, ex=LOCK_SECONDS)))

    async def renew(self) -> bool:
        """False when it is no longer ours."""
        return bool(await answered(self._renew(keys=[LOCK], args=[self._owner, LOCK_SECONDS])))

    async def release(self) -> None:
        """Only if it is ours."""
        await answered(self._free(keys=[LOCK], args=[self._owner]))

    async def owner(self) -> str | None:
        found = await answered(self._redis.get(LOCK))
        return text_of(found) if found else None

    async def tell(self, facts: TickFacts) -> None:
        moments = {"last_tick_ts": _text(facts.last_tick_at), "last_success_ts": _text(facts.last_success_at)}
        told = {**moments, "channels_active": facts.channels_active, "channels_failing": facts.channels_failing}
        await answered(self._redis.set(FACTS, json.dumps(told)))

    async def facts(self) -> TickFacts:
        text = await answered(self._redis.get(FACTS))
        if not text:
            return TickFacts()
        told = json.loads(text)
        return TickFacts(_moment(told["last_tick_ts"]), _moment(told["last_success_ts"]), told["channels_active"], told["channels_failing"])

    async def clear(self) -> bool:
        """Whoever holds it. True when there was one."""
        return bool(await answered(self._redis.delete(LOCK)))


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat()


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
