"""The dead-letter streams: the mirror in Redis of what PostgreSQL keeps."""

from typing import Any

from redis.asyncio import Redis

from telegram_assistant.streams.entries import ONLY, PAYLOAD
from telegram_assistant.streams.keys import dead_key, repartitioned


async def send_again(redis: Redis, *, stage: str, stream: str, payload: bytes, channel_id: int, partitions: int) -> None:
    """Back on its stream, as streams are partitioned now, addressed to one stage: the others pass over it."""
    await redis.xadd(repartitioned(stream, channel_id, partitions), {PAYLOAD: payload, ONLY: stage})


async def forget(redis: Redis, *, stage: str, entry_id: str) -> None:
    """Take the letter about this entry off the stage's dead-letter streams, whichever partition it is in."""
    async for key in redis.scan_iter(match=f"{dead_key(stage)}*"):
        letters: Any = await redis.xrange(key)
        for letter_id, fields in letters:
            if fields.get(b"id", b"").decode() == entry_id:
                await redis.xdel(key, letter_id)
