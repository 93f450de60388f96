"""The scheduler's lock and shared facts: one instance plans,
and every instance can report the state of planning.
"""

from pydantic import AwareDatetime, BaseModel, ConfigDict, NonNegativeInt, ValidationError
from redis.exceptions import ResponseError

from telegram_assistant.errors import Busy
from telegram_assistant.stores.redis.client import EVEN_IF_FULL, FREE, Redis, await_reply, text_of
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import MARKS_UNREADABLE

log = get_logger()

LOCK = "scheduler:lock"
FACTS = "scheduler:facts"
LOCK_SECONDS = 30
RENEW_SECONDS = 10.0

TAKE = f"""{EVEN_IF_FULL}
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return 1
"""
TELL = f"{EVEN_IF_FULL} redis.call('SET', KEYS[1], ARGV[1])"
RENEW = (
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('EXPIRE', KEYS[1], ARGV[2]) end return 0"
)


class TickFacts(BaseModel):
    """The facts of the last tick."""

    model_config = ConfigDict(frozen=True)

    planned_ts: AwareDatetime
    """When the last tick ran."""
    last_tick_ts: AwareDatetime | None
    """Time of the last tick that followed a successful run, or no failed one."""
    last_success_ts: AwareDatetime | None
    channels_active: NonNegativeInt
    channels_failing: NonNegativeInt
    channels_parked: NonNegativeInt
    channels_suspended: NonNegativeInt


class SchedulerLock:
    """`scheduler:lock`, held by the planning instance as long as it runs.

    Methods raise Busy if Redis does not answer.
    """

    def __init__(self, redis: Redis, owner: str) -> None:
        self._redis = redis
        self._owner = owner
        self._take = redis.register_script(TAKE)
        self._renew = redis.register_script(RENEW)
        self._tell = redis.register_script(TELL)
        self._free = redis.register_script(FREE)

    async def acquire(self) -> bool:
        """Returns True if the lock is ours, newly or already."""
        return bool(await await_reply(self._take(keys=[LOCK], args=[self._owner, LOCK_SECONDS])))

    async def renew(self) -> bool:
        """Returns False if the lock is not ours."""
        return bool(await await_reply(self._renew(keys=[LOCK], args=[self._owner, LOCK_SECONDS])))

    async def release(self) -> None:
        """Releases the lock if it is ours."""
        await await_reply(self._free(keys=[LOCK], args=[self._owner]))

    async def owner(self) -> str | None:
        holder = await await_reply(self._redis.get(LOCK))
        return text_of(holder) if holder else None

    async def tell(self, facts: TickFacts) -> None:
        await await_reply(self._tell(keys=[FACTS], args=[facts.model_dump_json()]))

    async def facts(self) -> TickFacts | None:
        """The stored facts; None if this version cannot read them. The next tick writes them again."""
        try:
            stored_facts = await await_reply(self._redis.get(FACTS))
            return TickFacts.model_validate_json(stored_facts) if stored_facts else None
        except ValidationError as error:
            _unreadable(f"{len(error.errors())} fields are missing or wrong")
        except Busy as busy:
            if not isinstance(busy.__cause__, ResponseError):
                raise
            _unreadable("it is not a string")
        return None

    async def clear(self) -> bool:
        """Deletes lock and facts, even if another instance holds the lock. Returns True if one did."""
        had_lock = bool(await await_reply(self._redis.delete(LOCK)))
        await await_reply(self._redis.delete(FACTS))
        return had_lock


def _unreadable(why: str) -> None:
    MARKS_UNREADABLE.inc()
    log.warning(
        "mark_unreadable",
        what=FACTS,
        why=why,
        what_to_do="nothing: it is ignored, and the next tick writes it anew",
    )
