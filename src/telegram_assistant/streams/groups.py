"""Consumer groups: created at the beginning of a stream, and recreated if Redis has lost them."""

from collections.abc import Iterable, Iterator

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from telegram_assistant.streams.entries import StreamSource
from telegram_assistant.streams.keys import stream_keys
from telegram_assistant.streams.stage import AnyStage


def sources_of(stage: AnyStage, partitions: int) -> Iterator[StreamSource]:
    """Yield every stream that the stage reads."""
    for event in stage.consumes:
        for lane, partition, key in stream_keys(event, partitions):
            yield StreamSource(key, lane, partition, event)


async def ensure_groups(redis: Redis, stage: str, sources: Iterable[StreamSource]) -> None:
    """Create missing groups at id 0, so that a stage also gets entries published before its first start."""
    for source in sources:
        try:
            await redis.xgroup_create(source.key, stage, id="0", mkstream=True)
        except ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise


def is_missing_group(error: Exception) -> bool:
    return isinstance(error, ResponseError) and "NOGROUP" in str(error)
