"""Names in Redis. Operators have habits built on them."""

from collections.abc import Iterator

from telegram_assistant.domain.lane import Lane
from telegram_assistant.events import Event

EPOCH_KEY = "stream:epoch"
"""Tells whether Redis still is the one that was filled: a value that PostgreSQL knows too."""


def stream_key(event: type[Event], lane: Lane, partition: int = 0, partitions: int = 1) -> str:
    """`stream:posts:parsed`, `…:bulk`, and `…:{n}` where streams are partitioned: the braces keep a partition's keys in one slot."""
    key = f"stream:{event.NAME.replace('.', ':')}"
    if lane is Lane.BULK:
        key += ":bulk"
    return _in_partition(key, partition, partitions)


def stream_of_channel(event: type[Event], lane: Lane, channel_id: int, partitions: int) -> str:
    """The stream on which an event about this channel travels."""
    return stream_key(event, lane, channel_id % partitions, partitions)


def stream_keys(event: type[Event], partitions: int = 1) -> Iterator[tuple[Lane, int, str]]:
    """All streams of an event, in both lanes, with their partitions."""
    for lane in Lane:
        for partition in range(partitions):
            yield lane, partition, stream_key(event, lane, partition, partitions)


def repartitioned(key: str, channel_id: int, partitions: int) -> str:
    """The key of the same stream under another number of partitions."""
    return _in_partition(key.partition(":{")[0], channel_id % partitions, partitions)


def dead_key(stage: str, partition: int = 0, partitions: int = 1) -> str:
    return _in_partition(f"stream:dead:{stage}", partition, partitions)


def _in_partition(key: str, partition: int, partitions: int) -> str:
    return key if partitions == 1 else f"{key}:{{{partition}}}"


def stopped_key(stage: str) -> str:
    """Set while a stage is stopped because it buried one entry after the other; its value says why."""
    return f"stage:stopped:{stage}"


def text_of(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
