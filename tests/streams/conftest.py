"""Stages on real servers.

Effects are counted in the same Redis, so that a killed process cannot lose its own count.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from redis.asyncio import Redis

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.events import Event, PostParsed
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.streams.entries import PAYLOAD
from telegram_assistant.streams.keys import stream_key
from telegram_assistant.streams.runner import Options, Runner
from telegram_assistant.streams.stage import AnyStage
from telegram_assistant.supervision import keep_running
from telegram_assistant.telemetry.health import Health, State
from testkit.engines import Engine, running_engine
from tests.conftest import Admin

FAST = Options(lease_seconds=2.0, reclaim_every_seconds=0.05, block_seconds=0.2)
KEY = stream_key(PostParsed, Lane.LIVE)


def parsed_event(number: int, *, channel_id: int = 1, revision: int = 1, **facts: Any) -> PostParsed:
    moment = datetime(2026, 11, 1, tzinfo=UTC)
    return PostParsed.about(
        PostId(ChannelId(channel_id), MessageId(number)), revision, occurred_at=moment, **facts
    )


@pytest.fixture(scope="session", params=["redis", pytest.param("valkey", marks=pytest.mark.valkey)])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with running_engine(request.param, tmp_path_factory.mktemp(request.param)) as running:
        yield running


@pytest.fixture
async def redis(engine: Engine) -> AsyncIterator[Redis]:
    client = Redis.from_url(engine.url)
    await client.flushall()
    yield client
    await client.aclose()


async def publish(redis: Redis, events: Sequence[Event], lane: Lane = Lane.LIVE) -> None:
    pipeline: Any = redis.pipeline(transaction=False)
    for event in events:
        pipeline.xadd(stream_key(type(event), lane), {PAYLOAD: event.model_dump_json()})
    await pipeline.execute()


async def until(happened: Callable[[], Awaitable[bool]], seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not await happened():
            await asyncio.sleep(0.02)


@dataclass
class Bench:
    """Runs stages in this process."""

    redis: Redis
    system: SystemStores
    health: Health

    def runner(
        self,
        stage: AnyStage,
        *,
        instance: str = "here#0001",
        options: Options = FAST,
        **collaborators: object,
    ) -> Runner:
        return Runner(
            stage,
            collaborators,
            redis=self.redis,
            dead_letters=self.system.dead_letters,
            instance=instance,
            health=self.health,
            options=options,
        )

    @asynccontextmanager
    async def working(
        self,
        stage: AnyStage,
        *,
        instance: str = "here#0001",
        options: Options = FAST,
        **collaborators: object,
    ) -> AsyncIterator[Runner]:
        runner, stopping = (
            self.runner(stage, instance=instance, options=options, **collaborators),
            asyncio.Event(),
        )
        task = asyncio.create_task(
            keep_running(runner.loop(), stopping=stopping, health=self.health, first_pause_seconds=0.05)
        )
        try:
            yield runner
        finally:
            stopping.set()
            await asyncio.wait_for(task, 60)

    async def pending(self, stage: AnyStage | str, key: str = KEY) -> int:
        name = stage if isinstance(stage, str) else stage.name
        summary: Any = await self.redis.xpending(key, name)
        return int(summary["pending"])

    async def consumers(self, stage: AnyStage, key: str = KEY) -> set[str]:
        return {consumer["name"].decode() for consumer in await self.redis.xinfo_consumers(key, stage.name)}

    async def letters(self, stage: str) -> list[str]:
        return [letter.reason for letter in await self.system.dead_letters.newest(stage)]


@pytest.fixture
async def bench(redis: Redis, system: SystemStores) -> Bench:
    for letter in await system.dead_letters.newest(limit=10_000):
        await system.dead_letters.remove(letter.dead_letter_id)
    return Bench(redis, system, Health(probes={}))


# --- what to wait for ---


async def counts(redis: Redis, name: str) -> dict[int, int]:
    return {int(key): int(value) for key, value in (await redis.hgetall(name)).items()}


async def has(items: list[Any], count: int, *, at_least: bool = False) -> bool:
    return len(items) >= count if at_least else len(items) == count


async def pending_are(bench: Bench, stage_name: str, count: int) -> bool:
    groups = [group for group in await bench.redis.xinfo_groups(KEY) if group["name"].decode() == stage_name]
    return bool(groups) and groups[0]["lag"] == 0 and groups[0]["pending"] == count


async def none_pending(bench: Bench, stage_name: str) -> bool:
    return await pending_are(bench, stage_name, 0)


async def letters_are(bench: Bench, stage_name: str, count: int) -> bool:
    return len(await bench.letters(stage_name)) == count


async def length_is(bench: Bench, key: str, count: int) -> bool:
    return bool(await bench.redis.xlen(key) == count)


async def is_stopped(bench: Bench, name: str) -> bool:
    part = bench.health.parts().get(f"stage {name}", {})
    return part.get("status") == "failing" and "resume" in str(part.get("detail"))


async def is_state(bench: Bench, name: str, state: State) -> bool:
    return bench.health.parts().get(f"stage {name}", {}).get("status") == state.value


async def says(bench: Bench, name: str, detail: str) -> bool:
    return bench.health.parts().get(f"stage {name}", {}).get("detail") == detail


async def has_begun(redis: Redis, count: int) -> bool:
    return len(await counts(redis, "begun")) >= count


async def has_done(redis: Redis, count: int) -> bool:
    return len(await counts(redis, "done")) == count


@pytest.fixture
async def empty_outbox(admin: Admin) -> AsyncIterator[None]:
    await admin.execute("DELETE FROM outbox; DELETE FROM stream_epoch; DELETE FROM dead_letters")
    yield
    await admin.execute("DELETE FROM outbox")
