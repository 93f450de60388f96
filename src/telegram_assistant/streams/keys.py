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
    return key if partitions == 1 else f"{key}:{{{partition}}}"


def stream_keys(event: type[Event], partitions: int = 1) -> Iterator[tuple[Lane, str]]:
    """All streams of an event, in both lanes."""
    for lane in Lane:
        for partition in range(partitions):
            yield lane, stream_key(event, lane, partition, partitions)


def repartitioned(key: str, partition: int, partitions: int) -> str:
    """The key of the same stream under another number of partitions."""
    whole = key.partition(":{")[0]
    return whole if partitions == 1 else f"{whole}:{{{partition}}}"


def partition_of(channel_id: int, partitions: int) -> int:
    return channel_id % partitions


def dead_key(stage: str, partition: int = 0, partitions: int = 1) -> str:
    key = f"stream:dead:{stage}"
    return key if partitions == 1 else f"{key}:{{{partition}}}"


def stopped_key(stage: str) -> str:
    """Set while a stage is stopped because it buried one entry after the other; its value says why."""
    return f"stage:stopped:{stage}"


def text_of(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
