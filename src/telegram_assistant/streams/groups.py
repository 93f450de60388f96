"""Consumer groups: created at the beginning of a stream, and recreated if Redis has lost them."""

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from telegram_assistant.reasons import Reason
from telegram_assistant.streams.entries import StreamSource
from telegram_assistant.streams.keys import stream_keys, text_of
from telegram_assistant.streams.stage import AnyStage

type Readers = Mapping[str, Collection[str]]
"""The stages that read each stream, by its key."""


@dataclass(frozen=True, slots=True)
class UnknownGroup:
    """A consumer group that belongs to none of our stages. Trimming does not wait for it."""

    stream: str
    group: str

    @property
    def what(self) -> Reason:
        return Reason(
            "unknown_group",
            "the consumer group {group!r} of {stream} belongs to no stage of this program; "
            "entries may be deleted before it has read them",
            group=self.group,
            stream=self.stream,
        )

    @property
    def remedy(self) -> Reason:
        command = shlex.join(["redis-cli", "XGROUP", "DESTROY", self.stream, self.group])
        return Reason("delete_group", "if nobody needs it: {command}", command=command)


def readers_of(stages: Iterable[AnyStage], partitions: int) -> Readers:
    readers: dict[str, list[str]] = {}
    for stage in stages:
        for source in sources_of(stage, partitions):
            readers.setdefault(source.key, []).append(stage.name)
    return readers


async def load_groups(redis: Redis, key: str) -> list[Any]:
    """Return the groups of a stream; none if it does not exist yet."""
    try:
        groups: list[Any] = await redis.xinfo_groups(key)
    except ResponseError:
        return []
    return groups


def unknown_among(key: str, groups: Sequence[Any], expected: Collection[str]) -> list[UnknownGroup]:
    names = [text_of(group["name"]) for group in groups]
    return [UnknownGroup(key, name) for name in names if name not in expected]


async def find_unknown_groups(redis: Redis, readers: Readers) -> list[UnknownGroup]:
    """Return the groups on streams of ours that belong to none of our stages."""
    own_groups = {name for names in readers.values() for name in names}
    return [
        unknown
        for key in readers
        for unknown in unknown_among(key, await load_groups(redis, key), own_groups)
    ]


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
