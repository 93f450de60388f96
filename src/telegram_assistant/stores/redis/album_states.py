"""Progress of albums: the items of each and those already analysed.

Rebuilt from PostgreSQL if Redis has lost it.
"""

from collections.abc import Awaitable, Iterable
from dataclasses import dataclass
from typing import Any, cast

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.stores.redis.client import Redis, await_reply, text_of

KEPT_SECONDS = 86_400

# The state only grows: items are added and analysed, and a newer revision replaces an older one. So the order
# of writes is irrelevant.
NOTE = """
for number = 3, #ARGV do redis.call('HSET', KEYS[1], ARGV[number], 1) end
local revision = tonumber(ARGV[2])
if revision > tonumber(redis.call('HGET', KEYS[1], 'revision') or -1) then
    redis.call('HSET', KEYS[1], 'revision', revision)
end
redis.call('EXPIRE', KEYS[1], ARGV[1])
return redis.call('HGETALL', KEYS[1])
"""


@dataclass(frozen=True, slots=True)
class AlbumState:
    """The state of an album. Revision 0: the album has not been closed yet."""

    revision: int = 0
    items: frozenset[int] = frozenset()
    looked_at: frozenset[int] = frozenset()
    assembled_revision: int = 0
    """The newest revision that has a summary."""
    is_rebuilt: bool = False
    """Whether the state includes everything that PostgreSQL knows."""

    @property
    def is_complete(self) -> bool:
        return self.revision > 0 and self.items <= self.looked_at

    @property
    def was_assembled(self) -> bool:
        """Whether the current revision has a summary.

        An overdue one lacks some items; later items are added to it.
        """
        return 0 < self.revision <= self.assembled_revision


class AlbumStates:
    """One per process. Methods raise Busy if Redis does not answer."""

    def __init__(self, redis: Redis) -> None:
        self._note = redis.register_script(NOTE)

    async def note(
        self,
        channel_id: ChannelId,
        grouped_id: int,
        *,
        revision: int = 0,
        items: Iterable[int] = (),
        looked_at: Iterable[int] = (),
        assembled_revision: int = 0,
        is_rebuilt: bool = False,
    ) -> AlbumState:
        """Adds facts; returns the whole state."""
        fields = [f"item:{item}" for item in items] + [f"looked:{item}" for item in looked_at]
        fields += [f"assembled:{assembled_revision}"] if assembled_revision else []
        fields += ["rebuilt"] if is_rebuilt else []
        reply = cast(
            "Awaitable[list[Any]]",
            self._note(keys=[_key(channel_id, grouped_id)], args=[KEPT_SECONDS, revision, *fields]),
        )
        return _state(await await_reply(reply))


def _key(channel_id: ChannelId, grouped_id: int) -> str:
    return f"album:{channel_id}:{grouped_id}"


def _state(pairs: list[Any]) -> AlbumState:
    fields = {text_of(name): text_of(value) for name, value in zip(pairs[::2], pairs[1::2], strict=True)}
    return AlbumState(
        revision=int(fields.get("revision", 0)),
        items=_numbers("item:", fields),
        looked_at=_numbers("looked:", fields),
        assembled_revision=max(_numbers("assembled:", fields), default=0),
        is_rebuilt="rebuilt" in fields,
    )


def _numbers(prefix: str, field_names: Iterable[str]) -> frozenset[int]:
    return frozenset(int(name.removeprefix(prefix)) for name in field_names if name.startswith(prefix))
