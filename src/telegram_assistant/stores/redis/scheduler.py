"""The scheduler's lock, and the shared facts beside it: one instance plans, every instance can say how planning goes."""

from pydantic import AwareDatetime, BaseModel, ConfigDict, NonNegativeInt, ValidationError
from redis.exceptions import ResponseError

from telegram_assistant.errors import Busy
from telegram_assistant.stores.redis.client import FREE, Redis, answered, text_of
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import MARKS_UNREADABLE

log = get_logger()

LOCK = "scheduler:lock"
FACTS = "scheduler:facts"
LOCK_SECONDS = 30
RENEW_SECONDS = 10.0

TAKE = """
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return 1
"""
RENEW = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('EXPIRE', KEYS[1], ARGV[2]) end return 0"


class TickFacts(BaseModel):
    """What the last tick saw."""

    model_config = ConfigDict(frozen=True)

    planned_ts: AwareDatetime
    """When the last tick ran."""
    last_tick_ts: AwareDatetime | None
    """When the last tick ran before which some run had succeeded, or none had failed."""
    last_success_ts: AwareDatetime | None
    channels_active: NonNegativeInt
    channels_failing: NonNegativeInt
    channels_parked: NonNegativeInt
    channels_suspended: NonNegativeInt


class SchedulerLock:
    """`scheduler:lock`, held by the instance that plans for as long as it runs. Busy when Redis is away."""

    def __init__(self, redis: Redis, owner: str) -> None:
        self._redis = redis
        self._owner = owner
        self._take = redis.register_script(TAKE)
        self._renew = redis.register_script(RENEW)
        self._free = redis.register_script(FREE)

    async def acquire(self) -> bool:
        """True when it is ours, since now or before."""
        return bool(await answered(self._take(keys=[LOCK], args=[self._owner, LOCK_SECONDS])))

    async def renew(self) -> bool:
        """False when it is not ours."""
        return bool(await answered(self._renew(keys=[LOCK], args=[self._owner, LOCK_SECONDS])))

    async def release(self) -> None:
        """Only if it is ours."""
        await answered(self._free(keys=[LOCK], args=[self._owner]))

    async def owner(self) -> str | None:
        found = await answered(self._redis.get(LOCK))
        return text_of(found) if found else None

    async def tell(self, facts: TickFacts) -> None:
        await answered(self._redis.set(FACTS, facts.model_dump_json()))

    async def facts(self) -> TickFacts | None:
        """None where there are none that this version understands: the next tick writes them anew."""
        try:
            stored = await answered(self._redis.get(FACTS))
            return TickFacts.model_validate_json(stored) if stored else None
        except ValidationError as error:
            _unreadable(f"{len(error.errors())} fields are missing or wrong")
        except Busy as busy:
            if not isinstance(busy.__cause__, ResponseError):
                raise
            _unreadable("it is not a string")
        return None

    async def clear(self) -> bool:
        """Deletes lock and facts, whoever holds the lock. True when somebody did."""
        had_lock = bool(await answered(self._redis.delete(LOCK)))
        await answered(self._redis.delete(FACTS))
        return had_lock


def _unreadable(why: str) -> None:
    MARKS_UNREADABLE.inc()
    log.warning("mark_unreadable", what=FACTS, why=why, what_to_do="nothing: it is ignored, and the next tick writes it anew")
