from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest
from redis.asyncio import Redis

from telegram_assistant.domain.diagnosis import Severity
from telegram_assistant.errors import CannotStart
from telegram_assistant.settings import read_settings
from telegram_assistant.stores.redis.client import open_redis
from telegram_assistant.stores.redis.examination import examine
from testkit.engines import Engine, running_engine


@pytest.mark.turns("REDIS_URL")
async def test_the_client_speaks_to_the_database_of_its_url(environ: dict[str, str]) -> None:
    for number in (3, 7):
        settings = read_settings({**environ, "REDIS_URL": urlunsplit(urlsplit(environ["REDIS_URL"])._replace(path=f"/{number}"))}).redis
        async with open_redis(settings) as redis:
            assert int((await redis.client_info())["db"]) == number


async def test_a_server_that_is_not_there_is_said_in_words(environ: dict[str, str]) -> None:
    settings = read_settings({**environ, "REDIS_URL": "redis://:geheim@127.0.0.1:1/0"}).redis
    with pytest.raises(CannotStart, match="REDIS_URL") as told:
        async with open_redis(settings):
            pass
    assert "geheim" not in str(told.value)


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[Engine]:
    with running_engine("redis", tmp_path / "redis") as engine:
        yield engine


@pytest.mark.parametrize(
    ("name", "value", "subject"),
    [("appendonly", "no", "redis persistence"), ("maxmemory", "0", "redis memory"), ("maxmemory-policy", "allkeys-lru", "redis eviction")],
)
async def test_a_server_that_would_lose_events_is_found(environ: dict[str, str], own_redis: Engine, name: str, value: str, subject: str) -> None:
    settings = read_settings({**environ, "REDIS_URL": own_redis.url}).redis
    assert [finding.verdict for finding in await examine(settings, {})] == [Severity.OK]
    async with Redis.from_url(own_redis.url) as redis:
        await redis.config_set(name, value)
    found = await examine(settings, {})
    assert [(finding.subject, finding.verdict) for finding in found] == [("redis", Severity.OK), (subject, Severity.BAD)]
    assert name in str(found[1].remedy)
