"""The dead-letter streams in Redis, which mirror the dead letters in PostgreSQL."""

from typing import Any

from redis.asyncio import Redis

from telegram_assistant.streams.entries import ONLY, PAYLOAD
from telegram_assistant.streams.keys import dead_key, repartition_key


async def replay_entry(
    redis: Redis, *, stage: str, stream: str, payload: bytes, channel_id: int, partitions: int
) -> None:
    """Put an entry back on its stream, under the current partitioning, addressed to one stage.

    All other stages skip it.
    """
    await redis.xadd(repartition_key(stream, channel_id, partitions), {PAYLOAD: payload, ONLY: stage})


async def delete_letter(redis: Redis, *, stage: str, entry_id: str) -> None:
    """Delete the dead letter about this entry from the stage's dead-letter streams,
    in whichever partition it is.
    """
    async for key in redis.scan_iter(match=f"{dead_key(stage)}*"):
        letters: Any = await redis.xrange(key)
        for letter_id, fields in letters:
            if fields.get(b"id", b"").decode() == entry_id:
                await redis.xdel(key, letter_id)
