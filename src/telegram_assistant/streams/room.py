"""Whether there is room for more entries: streams that are short enough, and memory for them."""

from collections.abc import Sequence
from typing import Any, Final

from redis.asyncio import Redis

from telegram_assistant.streams.keys import stream_keys
from telegram_assistant.streams.monitoring import measure_stages
from telegram_assistant.streams.redis_memory import is_on_this_machine, redis_memory_of
from telegram_assistant.streams.stage import AnyStage

PAUSE_SHARE: Final = 0.85
"""Announcing pauses when Redis has used this share of its memory.

The rest is for what is under way: stages publish more before it is trimmed.
"""
RESUME_SHARE: Final = 0.8
"""It goes on below this share, so that it does not pause and go on with every batch."""


class StreamRoom:
    """Tells a relay when to pause. Meanwhile posts wait in PostgreSQL, where they are safe."""

    def __init__(
        self, redis: Redis, stages: Sequence[AnyStage], *, partitions: int, max_entries: int
    ) -> None:
        self._redis = redis
        self._stages = stages
        self._partitions = partitions
        self._max_entries = max_entries
        events = {event for stage in stages for event in stage.consumes}
        self._keys = tuple(key for event in events for _, _, key in stream_keys(event, partitions))
        self._lacks_memory = False

    async def reason_to_pause(self) -> str | None:
        """Return why announcing must pause, or None. Costs one round trip while there is room."""
        pipeline: Any = self._redis.pipeline(transaction=False)
        pipeline.info("memory")
        for key in self._keys:
            pipeline.execute_command("XLEN", key)
        info, *lengths = await pipeline.execute()
        fullness = redis_memory_of(info, is_here=is_on_this_machine(self._redis)).fullness
        self._lacks_memory = fullness.share >= (RESUME_SHARE if self._lacks_memory else PAUSE_SHARE)
        if self._lacks_memory:
            return (
                f"paused: Redis has used {fullness.share:.0%} of its memory; "
                f"posts wait in PostgreSQL until it is below {RESUME_SHARE:.0%}"
            )
        longest = max(lengths, default=0)
        return await self._name_slowest(longest) if longest >= self._max_entries else None

    async def _name_slowest(self, longest: int) -> str:
        states = await measure_stages(self._redis, self._stages, self._partitions)
        slowest = max(states, key=lambda state: state.lag + state.pending)
        waits = f"{slowest.lag + slowest.pending} entries wait for it" + (
            f", it is stopped: {slowest.stopped}" if slowest.stopped else ""
        )
        return f"paused: a stream holds {longest} entries; the stage {slowest.stage} is behind ({waits})"
