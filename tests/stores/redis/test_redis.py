import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest
from redis.asyncio import Redis

from telegram_assistant.domain.operations.diagnosis import Severity
from telegram_assistant.errors import CannotStart
from telegram_assistant.settings import read_settings
from telegram_assistant.stores.redis.client import open_redis
from telegram_assistant.stores.redis.examination import examine
from testkit.engines import Engine, running_engine


@pytest.mark.turns("REDIS_URL")
async def test_the_client_speaks_to_the_database_of_its_url(environ: dict[str, str]) -> None:
    for number in (3, 7):
        settings = read_settings(
            {**environ, "REDIS_URL": urlunsplit(urlsplit(environ["REDIS_URL"])._replace(path=f"/{number}"))}
        ).redis
        async with open_redis(settings) as redis:
            assert int((await redis.client_info())["db"]) == number


async def test_a_server_that_is_not_there_is_said_in_words(environ: dict[str, str]) -> None:
    settings = read_settings({**environ, "REDIS_URL": "redis://:geheim@127.0.0.1:1/0"}).redis
    with pytest.raises(CannotStart, match="REDIS_URL") as refusal:
        async with open_redis(settings):
            pass
    assert "geheim" not in str(refusal.value)


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[Engine]:
    with running_engine("redis", tmp_path / "redis") as engine:
        yield engine


@pytest.mark.parametrize(
    ("name", "value", "subject"),
    [
        ("appendonly", "no", "redis persistence"),
        ("maxmemory", "0", "redis memory"),
        ("maxmemory-policy", "allkeys-lru", "redis eviction"),
    ],
)
async def test_a_server_that_would_lose_events_is_found(
    environ: dict[str, str], own_redis: Engine, name: str, value: str, subject: str
) -> None:
    settings = read_settings({**environ, "REDIS_URL": own_redis.url}).redis
    assert [finding.verdict for finding in await examine(settings, {})] == [Severity.OK, Severity.OK]
    async with Redis.from_url(own_redis.url) as redis:
        await redis.config_set(name, value)
    findings = await examine(settings, {})
    wrong = [finding for finding in findings if finding.verdict is Severity.BAD]
    assert [finding.subject for finding in wrong] == [subject]
    assert name in str(wrong[0].remedy)


@pytest.mark.parametrize(
    ("share", "verdict"),
    [(0.5, Severity.OK), (0.72, Severity.WARNING), (0.92, Severity.BAD), (2.0, Severity.BAD)],
)
async def test_memory_is_yellow_at_70_and_red_at_90_percent(
    environ: dict[str, str], own_redis: Engine, share: float, verdict: Severity
) -> None:
    settings = read_settings({**environ, "REDIS_URL": own_redis.url}).redis
    async with Redis.from_url(own_redis.url) as redis:
        await redis.setrange("ballast", 8 * 1024 * 1024, "x")
        await redis.config_set("maxmemory", int((await redis.info("memory"))["used_memory"] / share))
    finding = next(finding for finding in await examine(settings, {}) if finding.subject == "redis memory")
    assert finding.verdict is verdict
    assert (finding.remedy is None) == (verdict is Severity.OK)


async def test_memory_without_a_limit_is_compared_with_the_machine(
    environ: dict[str, str], own_redis: Engine
) -> None:
    async with Redis.from_url(own_redis.url) as redis:
        await redis.config_set("maxmemory", 0)
    findings = await examine(read_settings({**environ, "REDIS_URL": own_redis.url}).redis, {})
    sentence = next(str(finding.what) for finding in findings if finding.subject == "redis memory")
    assert re.search(r"has no memory limit .* it uses \d+ MB of [\d.,]+ GB \(\d+%\)", sentence)
