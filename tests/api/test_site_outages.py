"""Servers that are away, or do not answer: the API says so and when to come back, and recovers by itself."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx
import pytest
from structlog.testing import capture_logs

from telegram_assistant.assembly import App
from telegram_assistant.settings import read_settings
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.stores.redis.limiter import REDIS_SECONDS
from telegram_assistant.web.access.login_limits import ATTEMPTS_AT_ONCE
from telegram_assistant.web.pages.people.login import announce_first_owner_code
from testkit.api_clients import create_key_header, open_app_and_client, problem_of
from testkit.factories import make_tenant
from testkit.toxiproxy import ToxiProxy, through
from testkit.web_clients import open_browser
from tests.web.people.test_people import person_with_password


@dataclass(frozen=True, slots=True)
class Site:
    """A site whose roads to its servers can be made bad."""

    app: App
    client: httpx.AsyncClient
    key: dict[str, str]
    fresh_key: dict[str, str]
    """One that this process has not seen yet."""
    postgres: ToxiProxy
    redis: ToxiProxy

    async def get(self, path: str, *, key: dict[str, str] | None = None) -> httpx.Response:
        return await self.client.get(f"/api/v1{path}", headers=key or self.key)

    async def until_answered(self, path: str) -> None:
        deadline = time.monotonic() + 60
        while (await self.get(path)).status_code != 200:
            assert time.monotonic() < deadline, "the API did not recover"
            await asyncio.sleep(0.05)


@pytest.fixture
async def site(database: dict[str, str], system: SystemStores) -> AsyncIterator[Site]:
    async with httpx.AsyncClient(base_url=os.environ["TEST_TOXIPROXY_URL"], timeout=10) as toxiproxy:
        roads = {
            name: ToxiProxy(toxiproxy, f"api-{name}", urlsplit(database[name]).netloc.rpartition("@")[2])
            for name in ("DATABASE_URL", "REDIS_URL")
        }
        for road in roads.values():
            await road.open()
        settings = read_settings(
            {**database, **{name: through(database[name], road.port) for name, road in roads.items()}}
        )
        try:
            async with open_app_and_client(settings, timeout_seconds=1.5) as (app, client):
                tenant_id = await make_tenant(system)
                keys = [await create_key_header(app, tenant_id) for _ in range(2)]
                made = Site(app, client, keys[0], keys[1], roads["DATABASE_URL"], roads["REDIS_URL"])
                assert (await made.get("/feed")).status_code == 200
                yield made
        finally:
            for road in roads.values():
                await road.close()


async def test_without_postgresql_answers_are_503_until_it_is_back(site: Site) -> None:
    await site.postgres.set_enabled(enabled=False)
    for path in ("/feed", "/channels", "/keys"):
        away = await site.get(path)
        assert problem_of(away)[0] == 503
        assert int(away.headers["retry-after"]) >= 1
    changed = await site.client.post(
        "/api/v1/channels",
        headers={**site.key, "Idempotency-Key": "outage"},
        json={"references": ["@some_channel"]},
    )
    assert problem_of(changed)[0] == 503
    unknown = await site.get("/feed", key=site.fresh_key)
    assert problem_of(unknown)[0] == 503  # and not 401: nobody knows
    await site.postgres.set_enabled(enabled=True)
    await site.until_answered("/feed")
    again = await site.client.post(
        "/api/v1/channels",
        headers={**site.key, "Idempotency-Key": "outage"},
        json={"references": ["@some_channel"]},
    )
    assert again.status_code == 202


async def test_a_postgresql_that_says_nothing_keeps_nobody_waiting(site: Site) -> None:
    await site.postgres.spoil("timeout", timeout=0)
    began = time.monotonic()
    silent = await site.get("/feed")
    assert problem_of(silent)[0] == 503
    assert time.monotonic() - began < 20
    await site.postgres.mend()
    await site.until_answered("/feed")


async def test_without_redis_people_are_answered_within_limits_of_this_process(site: Site) -> None:
    await site.redis.set_enabled(enabled=False)
    for key in (site.key, site.fresh_key):
        answer = await site.get("/feed", key=key)
        assert answer.status_code == 200
        assert "ratelimit-remaining" in answer.headers
    await site.redis.set_enabled(enabled=True)
    await site.until_answered("/feed")


async def test_a_redis_that_says_nothing_costs_one_short_wait(site: Site) -> None:
    await site.redis.spoil("timeout", timeout=0)
    assert (await site.get("/feed")).status_code == 200
    began = time.monotonic()
    for _ in range(3):
        assert (await site.get("/feed")).status_code == 200
    assert time.monotonic() - began < 3 * REDIS_SECONDS
    await site.redis.mend()
    await site.until_answered("/feed")


async def test_requests_that_all_take_too_long_are_one_line_of_the_log(site: Site) -> None:
    await site.postgres.spoil("timeout", timeout=0)
    with capture_logs() as lines:
        answers = await asyncio.gather(*(site.get("/feed") for _ in range(10)))
    assert {answer.status_code for answer in answers} == {503}
    assert [line["part"] for line in lines if line["event"] == "request_took_too_long"] == ["requests"]
    await site.postgres.mend()


async def test_passwords_cannot_be_guessed_faster_while_redis_is_away(
    site: Site, system: SystemStores
) -> None:
    name = await person_with_password(site.app, await make_tenant(system))
    await site.redis.set_enabled(enabled=False)
    async with open_browser(site.app) as browser:
        await browser.open("/login")
        tries = (
            browser.submit("/login", name=name, password=f"guess {number}")
            for number in range(ATTEMPTS_AT_ONCE + 5)
        )
        answers = await asyncio.gather(*tries)
    assert sum("Too many attempts" in answer.text for answer in answers) == 5


async def test_a_postgresql_that_is_away_does_not_end_a_process_that_has_just_started(site: Site) -> None:
    await site.postgres.set_enabled(enabled=False)
    await announce_first_owner_code(site.app)
