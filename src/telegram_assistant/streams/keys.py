"""Names of keys in Redis. Operators rely on them."""

from collections.abc import Iterator

from telegram_assistant.domain.lane import Lane
from telegram_assistant.events import Event

EPOCH_KEY = "stream:epoch"
"""Identifies the Redis that the streams were filled in. PostgreSQL stores the same value."""


def stream_key(event: type[Event], lane: Lane, partition: int = 0, partitions: int = 1) -> str:
    """Return `stream:posts:parsed`, with `:bulk` and the partition `:{n}` if any.

    The braces keep a partition's keys in one slot.
    """
    key = f"stream:{event.NAME.replace('.', ':')}"
    if lane is Lane.BULK:
        key += ":bulk"
    return _in_partition(key, partition, partitions)


def stream_of_channel(event: type[Event], lane: Lane, channel_id: int, partitions: int) -> str:
    """Return the stream for events about this channel."""
    return stream_key(event, lane, channel_id % partitions, partitions)


def stream_keys(event: type[Event], partitions: int = 1) -> Iterator[tuple[Lane, int, str]]:
    """Yield all streams of an event: both lanes, every partition."""
    for lane in Lane:
        for partition in range(partitions):
            yield lane, partition, stream_key(event, lane, partition, partitions)


def repartition_key(key: str, channel_id: int, partitions: int) -> str:
    """Return the key of the same stream under another number of partitions."""
    return _in_partition(key.partition(":{")[0], channel_id % partitions, partitions)


def dead_key(stage: str, partition: int = 0, partitions: int = 1) -> str:
    return _in_partition(f"stream:dead:{stage}", partition, partitions)


def _in_partition(key: str, partition: int, partitions: int) -> str:
    return key if partitions == 1 else f"{key}:{{{partition}}}"


def stopped_key(stage: str) -> str:
    """Return the key that is set while a stage is stopped after consecutive dead letters.

    Its value is the reason.
    """
    return f"stage:stopped:{stage}"


def text_of(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
