"""A database of Redis that the program takes for itself."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr
from redis.asyncio import Redis

from telegram_assistant.errors import CannotStart
from telegram_assistant.settings import RedisSettings
from telegram_assistant.stores.redis.own_database import answers, claim_database, clear_database
from testkit.engines import Engine, free_port, running_engine


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with running_engine("redis", tmp_path / "redis") as running:
        yield running


async def put(engine: Engine, number: int) -> None:
    async with Redis(port=engine.port, db=number) as client:
        await client.set("mine", 1)


async def test_an_empty_database_is_claimed_and_found_again_and_others_are_left_alone(engine: Engine) -> None:
    given = RedisSettings(url=SecretStr(engine.url))
    await put(engine, 15)
    first, second = await claim_database(given, "one"), await claim_database(given, "two")
    assert [claimed.url.get_secret_value() for claimed in (first, second)] == [
        engine.url.removesuffix("/0") + f"/{number}" for number in (14, 13)
    ]
    assert await claim_database(given, "one") == first
    await clear_database(given, "one")
    await clear_database(given, "nobody")
    async with Redis(port=engine.port) as client:
        assert set(await client.info("keyspace")) == {"db13", "db15"}


async def test_a_server_without_an_empty_database_is_refused(engine: Engine) -> None:
    for number in range(1, 16):
        await put(engine, number)
    with pytest.raises(CannotStart, match="no empty database"):
        await claim_database(RedisSettings(url=SecretStr(engine.url)), "one")


async def test_a_server_that_is_away_does_not_answer() -> None:
    assert not await answers(RedisSettings(url=SecretStr(f"redis://127.0.0.1:{free_port()}/0")))
