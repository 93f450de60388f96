"""One shard of the embedded engine. Its library holds the GIL while it works, and raises plain Exceptions."""

import asyncio
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from qdrant_edge import (
    CountRequest,
    Distance,
    EdgeConfig,
    EdgeOptimizersConfig,
    EdgeShard,
    EdgeVectorParams,
    FieldCondition,
    Filter,
    HnswIndexConfig,
    IntegerIndexParams,
    KeywordIndexParams,
    MatchAny,
    Memory,
    QuantizationSearchParams,
    Query,
    QueryRequest,
    RangeFloat,
    ScalarQuantizationConfig,
    ScalarType,
    SearchParams,
    UpdateOperation,
)
from qdrant_edge import Point as EdgePoint

from telegram_assistant.domain.ids import PostId
from telegram_assistant.errors import Busy
from telegram_assistant.reasons import Reason
from telegram_assistant.vectors.filters import AnyOf, Between, PointFilter, filter_for
from telegram_assistant.vectors.protocol import (
    FIELDS,
    OVERSAMPLING,
    FieldType,
    Hit,
    Point,
    VectorQuery,
    post_id_in,
)

RETRY_AFTER_SECONDS = 15.0
FLUSH_EVERY = 2_000
"""Number of points between flushes; until then they are in the engine's own log, which survives a crash."""
AT_ONCE = 50
SEARCH_PARAMS = SearchParams(quantization=QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING))
INDEX_ONE = """
import os, sys, qdrant_edge
os.nice(19)
shard = qdrant_edge.EdgeShard.load(sys.argv[1])
shard.optimize()
shard.flush()
shard.close()
"""


@dataclass(slots=True)
class Shard:
    """An open shard. Calls may overlap; closing waits for them."""

    engine: EdgeShard
    folder: Path
    points: int = 0
    """An estimate: a point that is written again counts again."""
    indexed: int = 0
    touched: set[PostId] | None = None
    """Points written since a copy was taken; None: there is no copy."""
    unflushed: int = 0
    users: int = 0
    idle: asyncio.Event = field(default_factory=asyncio.Event)

    @classmethod
    async def create(cls, folder: Path, dimension: int) -> "Shard":
        return cls(await _call(_create_engine, folder, dimension), folder)

    @classmethod
    async def load(cls, folder: Path) -> "Shard":
        engine = await _call(EdgeShard.load, str(folder))
        info = await _call(engine.info)
        return cls(engine, folder, info.points_count, info.indexed_vectors_count)

    async def upsert(self, points: Sequence[Point]) -> None:
        await self._update(
            [point.post_id for point in points], lambda: UpdateOperation.upsert_points(_points(points))
        )

    async def delete(self, post_ids: Sequence[PostId]) -> None:
        await self._update(
            post_ids, lambda: UpdateOperation.delete_points([post_id.uuid for post_id in post_ids])
        )

    async def search(self, query: VectorQuery) -> tuple[Hit, ...]:
        with self._hold_open():
            return await _call(_query_engine, self.engine, query)

    async def count(self) -> int:
        with self._hold_open():
            return await _call(self.engine.count, CountRequest(exact=True))

    async def flush(self) -> None:
        with self._hold_open():
            await _call(self.engine.flush)
            self.unflushed = 0

    async def carry_over(self, new_shard: "Shard") -> None:
        """Copies the current state of points written since the copy was taken, or since the last call,
        to `new`.
        """
        touched_post_ids, self.touched = self.touched or set(), set()
        with self._hold_open():
            await _call(_carry_over, self.engine, new_shard.engine, touched_post_ids)

    async def close(self) -> None:
        if self.users:
            await self.idle.wait()
        await asyncio.to_thread(self.engine.close)

    async def _update(self, post_ids: Sequence[PostId], operation: Callable[[], UpdateOperation]) -> None:
        with self._hold_open():
            await _call(lambda: self.engine.update(operation()))
        if self.touched is not None:
            self.touched.update(post_ids)
        self.points += len(post_ids)
        self.unflushed += len(post_ids)
        if self.unflushed >= FLUSH_EVERY:
            await self.flush()

    @contextmanager
    def _hold_open(self) -> Iterator[None]:
        self.users += 1
        self.idle.clear()
        try:
            yield
        finally:
            self.users -= 1
            if not self.users:
                self.idle.set()


async def index_in(folder: Path) -> None:
    """Builds the index in a separate process at low priority:
    it takes a minute for 50,000 points and would block this process.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", INDEX_ONE, str(folder), stdin=asyncio.subprocess.DEVNULL
    )
    try:
        if await process.wait():
            raise Busy(Reason("vectors_builder_failed", "the process that builds the index failed"))
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _call[**P, T](function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Calls the engine in a thread.

    An error that begins with `Service` concerns this machine, not the input, and becomes Busy.
    """
    try:
        return await asyncio.to_thread(function, *args, **kwargs)
    except Exception as error:
        if str(error).startswith("Service"):
            raise Busy(
                Reason(
                    "vectors_unusable",
                    "the embedded vectors cannot be used ({error})",
                    error=str(error)[:160],
                ),
                retry_after_seconds=RETRY_AFTER_SECONDS,
            ) from error
        raise


def _create_engine(folder: Path, dimension: int) -> EdgeShard:
    engine = EdgeShard.create(
        str(folder),
        EdgeConfig(
            vectors=EdgeVectorParams(size=dimension, distance=Distance.Cosine, memory=Memory.Cold),
            quantization_config=ScalarQuantizationConfig(
                type=ScalarType.Int8, quantile=0.99, memory=Memory.Cached
            ),
            hnsw_config=HnswIndexConfig(
                m=16, ef_construct=100, full_scan_threshold=10_000, max_indexing_threads=1
            ),
            optimizers=EdgeOptimizersConfig(default_segment_number=2),
            payload_memory=Memory.Cold,
        ),
    )
    for name, kind in FIELDS.items():
        engine.update(UpdateOperation.create_field_index(name, _index_of(kind)))
    return engine


def _index_of(kind: FieldType) -> IntegerIndexParams | KeywordIndexParams:
    match kind:
        case FieldType.NUMBER:
            return IntegerIndexParams(lookup=True, range=False)
        case FieldType.MOMENT:
            return IntegerIndexParams(lookup=False, range=True)
        case FieldType.WORD:
            return KeywordIndexParams()


def _points(points: Sequence[Point]) -> list[EdgePoint]:
    return [EdgePoint(point.post_id.uuid, list(point.vector), dict(point.payload)) for point in points]


def _query_engine(engine: EdgeShard, query: VectorQuery) -> tuple[Hit, ...]:
    request = QueryRequest(
        limit=query.limit,
        query=Query.Nearest(list(query.vector)),
        filter=_filter(filter_for(query)),
        params=SEARCH_PARAMS,
    )
    return tuple(Hit(post_id_in(UUID(str(point.id))), point.score) for point in engine.query(request))


def _filter(conditions: PointFilter | None) -> Filter | None:
    if conditions is None:
        return None
    return Filter(
        must=[_condition(condition) for condition in conditions.must] or None,
        must_not=[_condition(condition) for condition in conditions.must_not] or None,
        should=[
            point_filter
            for alternative in conditions.either
            if (point_filter := _filter(alternative)) is not None
        ]
        or None,
    )


def _condition(condition: AnyOf | Between) -> FieldCondition:
    match condition:
        case AnyOf():
            return FieldCondition(condition.field, match=MatchAny(condition.listed))
        case Between():
            return FieldCondition(condition.field, range=RangeFloat(gte=condition.since, lt=condition.until))


def _carry_over(old: EdgeShard, new: EdgeShard, touched_post_ids: Collection[PostId]) -> None:
    ids = [post_id.uuid for post_id in touched_post_ids]
    for start in range(0, len(ids), AT_ONCE):
        some = set(ids[start : start + AT_ONCE])
        records = old.retrieve([*some], with_payload=True, with_vector=True)
        points = [
            EdgePoint(record.id, record.vector, record.payload)
            for record in records
            if record.vector is not None
        ]
        if points:
            new.update(UpdateOperation.upsert_points(points))
        if missing_ids := some - {record.id for record in records}:
            new.update(UpdateOperation.delete_points([*missing_ids]))
