"""The stage runtime beside bare redis-py loops: the same events, the same server, taking turns; medians over
the rounds.

Four contestants read a backlog through a consumer group, validate every event, and acknowledge it:

    bare batch        COUNT 100, one XACK per batch
    bare concurrent   64 tasks in flight, finished ids gathered into one XACK
    ours batch        a stage with batch=100, concurrency=2
    ours each         a stage with concurrency=64

Ours with everything on: metrics, leases, timeouts, health, the watch for dead consumers. Redis without
persistence, and ours once more with its append-only file, as it must be run (`aof`).
"""

import asyncio
import gc
import platform
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from redis.asyncio import Redis

from telegram_assistant import __version__
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.events import PostVisionUploaded
from telegram_assistant.streams.entries import PAYLOAD, DeadLettered
from telegram_assistant.streams.keys import stream_key
from telegram_assistant.streams.runner import Options, Runner
from telegram_assistant.streams.stage import AnyStage, stage
from telegram_assistant.telemetry.health import Health
from testkit.engines import Engine, running_engine
from testkit.harness import arguments, at_least, at_most, cpu_seconds, finish, median, own_cpu_seconds

KEY = stream_key(PostVisionUploaded, Lane.LIVE)
BATCH, IN_FLIGHT = 100, 64
LIMITS = (*at_least(0.5, "batch_ratio", "concurrent_ratio"), *at_most(120.0, "batch_cpu_us"))


class NoDeadLetters:
    """Nothing is buried here; if something is, the bench has failed."""

    async def add(self, stage: str, letters: Iterable[DeadLettered]) -> None:
        raise AssertionError(f"{stage} has buried {list(letters)}")


@dataclass
class Side:
    """The measurements of one side, one value per round."""

    per_s: list[float] = field(default_factory=list)
    cpu_us: list[float] = field(default_factory=list)
    redis_cpu_us: list[float] = field(default_factory=list)


def make_event(number: int) -> PostVisionUploaded:
    media = tuple(f"{number:08x}{place:056x}" for place in range(12))
    trace = f"00-{number:032x}-{number:016x}-01"
    return PostVisionUploaded.about(
        PostId(ChannelId(1_234_567_890), MessageId(number)),
        1,
        occurred_at=datetime.now(UTC),
        trace_id=trace,
        media=media,
    )


async def bare_batch(redis: Redis, count: int) -> None:
    streams: Any = {KEY: ">"}
    await redis.xgroup_create(KEY, "bare_batch", id="0")
    done = 0
    while done < count:
        answer: Any = await redis.xreadgroup("bare_batch", "one", streams, count=BATCH, block=1000)
        for _, entries in answer:
            for _, fields in entries:
                PostVisionUploaded.model_validate_json(fields[PAYLOAD])
            await redis.xack(KEY, "bare_batch", *(entry_id for entry_id, _ in entries))
            done += len(entries)


async def bare_concurrent(redis: Redis, count: int) -> None:
    streams: Any = {KEY: ">"}
    await redis.xgroup_create(KEY, "bare_concurrent", id="0")
    finished: list[bytes] = []
    in_flight: set[asyncio.Task[None]] = set()
    room, wake, acknowledged = asyncio.Event(), asyncio.Event(), 0

    async def work(entry_id: bytes, fields: dict[bytes, bytes]) -> None:
        PostVisionUploaded.model_validate_json(fields[PAYLOAD])
        finished.append(entry_id)
        wake.set()

    async def acknowledge() -> None:
        nonlocal finished, acknowledged
        while acknowledged < count:
            await wake.wait()
            wake.clear()
            some, finished = finished, []
            await redis.xack(KEY, "bare_concurrent", *some)
            acknowledged += len(some)
            room.set()

    def forget_task(task: asyncio.Task[None]) -> None:
        in_flight.discard(task)
        room.set()

    acknowledging = asyncio.create_task(acknowledge())
    read = 0
    while read < count:
        while len(in_flight) >= IN_FLIGHT:
            room.clear()
            await room.wait()
        answer: Any = await redis.xreadgroup(
            "bare_concurrent", "one", streams, count=IN_FLIGHT - len(in_flight), block=1000
        )
        for _, entries in answer:
            for entry_id, fields in entries:
                task = asyncio.create_task(work(entry_id, fields))
                in_flight.add(task)
                task.add_done_callback(forget_task)
            read += len(entries)
    await acknowledging


async def ours(redis: Redis, count: int, declare: Callable[[Callable[[int], None]], AnyStage]) -> None:
    stopping, done = asyncio.Event(), 0

    def count_handled(some: int) -> None:
        nonlocal done
        done += some
        if done == count:
            stopping.set()

    declared = declare(count_handled)
    runner = Runner(
        declared,
        {},
        redis=redis,
        dead_letters=NoDeadLetters(),
        instance="bench#0001",
        health=Health(probes={}),
        options=Options(),
    )
    await runner.run(stopping)


def batch_stage(handled: Callable[[int], None]) -> AnyStage:
    @stage(consumes=PostVisionUploaded, batch=BATCH, concurrency=2)
    async def ours_batch(events: list[PostVisionUploaded]) -> None:
        handled(len(events))

    return ours_batch


def each_stage(handled: Callable[[int], None]) -> AnyStage:
    @stage(consumes=PostVisionUploaded, concurrency=IN_FLIGHT)
    async def ours_each(_event: PostVisionUploaded) -> None:
        handled(1)

    return ours_each


CONTESTANTS: dict[str, Callable[[Redis, int], Awaitable[None]]] = {
    "bare_batch": bare_batch,
    "ours_batch": lambda redis, count: ours(redis, count, batch_stage),
    "bare_concurrent": bare_concurrent,
    "ours_each": lambda redis, count: ours(redis, count, each_stage),
}

DURABLE = {"ours_batch_aof": "ours_batch", "ours_each_aof": "ours_each"}


async def take_turn(side: Side, engine: Engine, redis: Redis, name: str, payloads: list[str]) -> None:
    await redis.flushall()
    for start in range(0, len(payloads), 1000):
        pipeline: Any = redis.pipeline(transaction=False)
        for payload in payloads[start : start + 1000]:
            pipeline.xadd(KEY, {PAYLOAD: payload})
        await pipeline.execute()
    gc.collect()
    server = cpu_seconds(engine.pid)
    cpu, began = own_cpu_seconds(), time.perf_counter()
    await CONTESTANTS[name](redis, len(payloads))
    took, used, server_used = (
        time.perf_counter() - began,
        own_cpu_seconds() - cpu,
        cpu_seconds(engine.pid) - server,
    )
    pending: Any = await redis.xpending(KEY, name)
    assert pending["pending"] == 0, f"{name} left {pending['pending']} pending"
    side.per_s.append(len(payloads) / took)
    side.cpu_us.append(used / len(payloads) * 1e6)
    side.redis_cpu_us.append(server_used / len(payloads) * 1e6)


async def run(rounds: int, messages: int) -> dict[str, object]:
    payloads = [make_event(number).model_dump_json() for number in range(1, messages + 1)]
    sides = {name: Side() for name in (*CONTESTANTS, *DURABLE)}
    with tempfile.TemporaryDirectory() as folder, running_engine("redis", Path(folder)) as engine:
        redis = Redis.from_url(engine.url)
        server: Any = await redis.info("server")
        for number in range(rounds):
            await redis.config_set("appendonly", "no")
            for name in CONTESTANTS if number % 2 == 0 else reversed(CONTESTANTS):
                await take_turn(sides[name], engine, redis, name, payloads)
            await redis.config_set("appendonly", "yes")
            for name, contestant in DURABLE.items():
                await take_turn(sides[name], engine, redis, contestant, payloads)
        await redis.aclose()
    return summary(sides, messages=messages, event_bytes=len(payloads[0]), redis=server["redis_version"])


def summary(sides: dict[str, Side], **facts: object) -> dict[str, object]:
    def ratio(ours: str, bare: str) -> float:
        return round(
            median(
                [mine / theirs for mine, theirs in zip(sides[ours].per_s, sides[bare].per_s, strict=True)]
            ),
            3,
        )

    return {
        "bench": "streams",
        "batch_cpu_us": round(median(sides["ours_batch"].cpu_us), 1),
        "each_cpu_us": round(median(sides["ours_each"].cpu_us), 1),
        "redis_cpu_us": round(
            max(median(sides[name].redis_cpu_us) for name in ("ours_batch", "ours_each")), 1
        ),
        "redis_cpu_aof_us": round(max(median(sides[name].redis_cpu_us) for name in DURABLE), 1),
        "batch_ratio": ratio("ours_batch", "bare_batch"),
        "concurrent_ratio": ratio("ours_each", "bare_concurrent"),
        **{f"{name}_per_s": round(median(side.per_s)) for name, side in sides.items()},
        **{
            f"{name}_cpu_us": round(median(sides[name].cpu_us), 1)
            for name in ("bare_batch", "bare_concurrent")
        },
        **{f"{name}_redis_cpu_us": round(median(side.redis_cpu_us), 1) for name, side in sides.items()},
        "rounds": len(sides["ours_batch"].per_s),
        **facts,
        "redis_py": version("redis"),
        "hiredis": version("hiredis"),
        "python": platform.python_version(),
        "tga": __version__,
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--messages", type=int, default=20_000)
    options = parser.parse_args()
    finish(asyncio.run(run(options.rounds, options.messages)), options, *LIMITS)


if __name__ == "__main__":
    main()
