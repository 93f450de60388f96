"""Reads entries: new ones, those due for a retry, and those that a dead process left behind.

Also renews the leases of held ones.
"""

import random
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from telegram_assistant.streams.acknowledging import RAW, RESTING, hand_back
from telegram_assistant.streams.entries import ONLY, PAYLOAD, Entry, StreamSource
from telegram_assistant.streams.groups import ensure_groups, is_missing_group
from telegram_assistant.streams.stage import AnyStage
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()

MAX_SCANNED = 1000
MAX_PAGES = 20
TIDY_EVERY_SECONDS = 60
FORGOTTEN_AFTER_MS = 300_000
"""Consumers that own no entry and were idle for this long are removed."""

LOST_ANSWER_MS = 5_000
"""If this process owns an entry in Redis but does not hold it after this long,
the reply that delivered it was lost.
"""

# Renews a lease only if it still is ours: another process may have taken the entry while this one was
# suspended.
RENEW = """
local mine, lost = {}, 0
for index = 3, #ARGV do
    local pending = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[index], ARGV[index], 1)
    if #pending == 1 then
        if pending[1][2] == ARGV[2] then mine[#mine + 1] = ARGV[index] else lost = lost + 1 end
    end
end
local renewed = #mine
mine[renewed + 1] = 'JUSTID'  -- after them in one list: Lua unpacks all of a list in the last place only
if renewed > 0 then redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, unpack(mine)) end
return lost
"""

# Reads one stream after the other until the limit is reached, so an empty stream uses up none of it.
READ_NOW = """
local found, room = {}, tonumber(ARGV[3])
for _, key in ipairs(KEYS) do
    if room <= 0 then break end
    local answer = redis.call('XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', room, 'STREAMS', key, '>')
    if answer then
        found[#found + 1] = answer[1]
        room = room - #answer[1][2]
    end
end
return found
"""


class StreamReader:
    """Reads new entries, up to the free capacity."""

    def __init__(self, redis: Redis, stage: AnyStage, consumer: str, *, block_seconds: float) -> None:
        self._redis = redis
        self._stage = stage
        self._consumer = consumer
        self._block_ms = int(block_seconds * 1000)
        self._read_now = redis.register_script(READ_NOW)

    async def read(self, sources: Sequence[StreamSource], limit: int) -> list[Entry]:
        """Read new entries of one lane. If there are none, wait for the first."""
        try:
            entries = await self._read_available(sources, limit) if len(sources) > 1 else []
            return entries or await self._wait_for_first(sources, max(limit // len(sources), 1))
        except ResponseError as error:
            if not is_missing_group(error):
                raise
            log.warning("groups_lost", stage=self._stage.name)
            await ensure_groups(self._redis, self._stage.name, sources)
            return []

    async def _read_available(self, sources: Sequence[StreamSource], limit: int) -> list[Entry]:
        """Read at once, in random order of streams, so that no stream waits for ever."""
        by_key = {source.key.encode(): source for source in random.sample(sources, len(sources))}
        answer: Any = await self._read_now(keys=list(by_key), args=[self._stage.name, self._consumer, limit])
        return [
            entry_of(by_key[key], entry_id, dict(zip(fields[::2], fields[1::2], strict=True)), 1)
            for key, entries in answer
            for entry_id, fields in entries
        ]

    async def _wait_for_first(self, sources: Sequence[StreamSource], each: int) -> list[Entry]:
        """Wait for entries.

        The first stream that gets some answers, so there is hardly ever more than `each`.
        """
        by_key = {source.key.encode(): source for source in sources}
        streams: Any = {source.key: ">" for source in sources}
        answer: Any = await self._redis.xreadgroup(
            self._stage.name, self._consumer, streams, count=each, block=self._block_ms
        )
        return [
            entry_of(by_key[key], entry_id, fields, 1)
            for key, entries in answer or ()
            for entry_id, fields in entries
        ]

    async def leave(self, sources: Iterable[StreamSource]) -> None:
        """Hand back entries that Redis delivered and this process never received,
        then remove this consumer.
        """
        redis: Any = self._redis
        name = self._stage.name
        for source in sources:
            while pending := await redis.xpending_range(
                source.key, name, "-", "+", MAX_SCANNED, consumername=self._consumer
            ):
                for entry in pending:
                    await redis.execute_command(
                        *hand_back(source.key, name, entry["message_id"], entry["times_delivered"]), **RAW
                    )
            await self._redis.xgroup_delconsumer(source.key, name, self._consumer)


class Alone(Enum):
    """Whether this process holds no other entry and will get none."""

    NO = "it works normally: suspects must wait"
    SOON = "it reads no new entries, so that it will be alone"
    YES = "it is alone: it may take one suspect, and nothing else"


class ReclaimedEntries(NamedTuple):
    """Entries that were taken over, and whether entries wait that must be alone in a process."""

    entries: list[Entry]
    suspects_wait: bool


class Reclaimer:
    """Takes over entries that are due for a retry, and entries whose owner has not renewed its lease."""

    def __init__(self, redis: Redis, stage: AnyStage, consumer: str, *, lease_seconds: float) -> None:
        self._redis = redis
        self._stage = stage
        self._consumer = consumer
        self._lease_ms = int(lease_seconds * 1000)
        self._tidied_at = time.monotonic()

    async def claim(
        self, source: StreamSource, limit: int, held: Mapping[tuple[str, bytes], Entry], *, alone: Alone
    ) -> ReclaimedEntries:
        """Take over due entries, at most `limit`."""
        entries: list[Entry] = []
        suspects_wait = False
        async for idle_entry in self._idle_entries(source):
            owner, entry_id, delivered = (
                idle_entry["consumer"].decode(),
                idle_entry["message_id"],
                idle_entry["times_delivered"],
            )
            is_ours = owner == self._consumer
            min_ms = self._due_after_ms(owner, entry_id, delivered)
            if idle_entry["time_since_delivered"] < min_ms or (is_ours and (source.key, entry_id) in held):
                continue
            suspect = not is_ours and owner != RESTING and self._is_suspect(delivered + 1)
            suspects_wait = suspects_wait or suspect
            may_be_taken = alone is Alone.YES if suspect else alone is Alone.NO
            if not may_be_taken or len(entries) >= limit:
                continue
            # a reply that never arrived does not count as an attempt
            entries += await self._take(source, entry_id, delivered if is_ours else delivered + 1, min_ms)
            if suspect and entries:
                break
        return ReclaimedEntries(entries, suspects_wait)

    async def _idle_entries(self, source: StreamSource) -> AsyncIterator[Mapping[str, Any]]:
        """Yield pending entries that have been idle for a while, oldest first, page by page."""
        idle_ms = int(min(self._stage.backoff_seconds * 500, self._lease_ms))
        start = "-"
        for _ in range(MAX_PAGES):
            try:
                page: list[Any] = await self._redis.xpending_range(
                    source.key, self._stage.name, start, "+", MAX_SCANNED, idle=idle_ms
                )
            except ResponseError as error:
                if is_missing_group(error):
                    return
                raise
            for entry in page:
                yield entry
            if len(page) < MAX_SCANNED:
                return
            start = f"({page[-1]['message_id'].decode()}"

    def _is_suspect(self, deliveries: int) -> bool:
        """Tell whether the entry was left behind so often that it may be what kills its processes.

        Such an entry gets its last attempts alone. Otherwise its neighbours would die with it until they are
        all dead letters.
        """
        return deliveries >= max(self._stage.attempts - 1, min(self._stage.attempts, 3))

    def _due_after_ms(self, owner: str, entry_id: bytes, delivered: int) -> int:
        if owner == RESTING:
            rest_seconds = self._stage.retry_after_seconds(max(delivered, 1))
            jitter = random.Random(entry_id).random()  # noqa: S311 -- the same in every process
            return int(rest_seconds * 1000 * (0.75 + 0.5 * jitter))
        return min(self._lease_ms, LOST_ANSWER_MS) if owner == self._consumer else self._lease_ms

    async def _take(self, source: StreamSource, entry_id: bytes, deliveries: int, min_ms: int) -> list[Entry]:
        """Claim one entry atomically: of several processes that try, one gets it."""
        claimed: Any = await self._redis.xclaim(
            source.key, self._stage.name, self._consumer, min_ms, [entry_id], retrycount=deliveries
        )
        return [
            entry_of(source, claimed_id, fields, deliveries)
            for claimed_id, fields in claimed
            if fields is not None
        ]

    async def tidy(self, sources: Iterable[StreamSource]) -> None:
        """From time to time, remove consumers of dead processes.

        A live process gets its consumer back by reading.
        """
        if time.monotonic() - self._tidied_at < TIDY_EVERY_SECONDS:
            return
        self._tidied_at = time.monotonic()
        for source in sources:
            for consumer in await self._redis.xinfo_consumers(source.key, self._stage.name):
                if (
                    consumer["pending"] == 0
                    and consumer["idle"] > FORGOTTEN_AFTER_MS
                    and consumer["name"].decode() not in {RESTING, self._consumer}
                ):
                    await self._redis.xgroup_delconsumer(source.key, self._stage.name, consumer["name"])


async def renew_leases(redis: Redis, stage: str, consumer: str, held: Iterable[tuple[str, bytes]]) -> int:
    """Renew the leases of held entries. Returns how many of them other processes have taken meanwhile."""
    by_key: dict[str, list[bytes]] = {}
    for key, entry_id in held:
        by_key.setdefault(key, []).append(entry_id)
    renew, lost = redis.register_script(RENEW), 0
    for key, ids in by_key.items():
        try:
            lost += await renew(keys=[key], args=[stage, consumer, *ids])
        except ResponseError as error:
            if not is_missing_group(error):
                raise
            lost += len(ids)
    if lost:
        log.warning("entries_lost_to_others", stage=stage, count=lost)
    return lost


def entry_of(source: StreamSource, entry_id: bytes, fields: Mapping[bytes, bytes], deliveries: int) -> Entry:
    return Entry(source, entry_id, fields.get(PAYLOAD, b""), fields.get(ONLY), deliveries)
