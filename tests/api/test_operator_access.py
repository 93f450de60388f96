"""Access to health, health details and metrics, by key, Host, address and the headers of a proxy."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from pydantic import SecretStr

from telegram_assistant.api.operator_access import OperatorAccess
from telegram_assistant.api.rate_limiting import FAILED_KEYS_AT_ONCE, FailedKeys
from telegram_assistant.api.status import RoleEndpoints, role_sites
from telegram_assistant.settings import HttpSettings, RedisSettings, read_group
from telegram_assistant.stores.redis.client import connect_to
from telegram_assistant.stores.redis.limiter import Limiter
from telegram_assistant.stores.redis.rate_limits import RateLimits
from telegram_assistant.telemetry.health import Health

PROBES = ("/health", "/readyz", "/ready")
PAGES = ("/health/details", "/metrics")
OPERATOR_KEY = "w2L9kq7Zb1xT4vR8mN3cY6hJ5sD0fGaE"
KEY = {"Authorization": f"Bearer {OPERATOR_KEY}"}
FORWARDED = [
    {"Forwarded": "for=203.0.113.7"},
    {"Via": "1.1 proxy"},
    {"X-Forwarded-For": "203.0.113.7"},
    {"X-Forwarded-Host": "desk.example"},
    {"X-Forwarded-Proto": "https"},
    {"X-Forwarded-Anything": "1"},
    {"X-Real-IP": "203.0.113.7"},
]


@asynccontextmanager
async def asking(
    *, client: str = "127.0.0.1", server: str = "127.0.0.1", **environ: str
) -> AsyncIterator[httpx.AsyncClient]:
    nowhere = connect_to(RedisSettings(url=SecretStr("redis://127.0.0.1:1/0")))
    access = OperatorAccess(read_group(HttpSettings, environ), FailedKeys(Limiter(RateLimits(nowhere))))
    health = Health(probes={})
    health.take_traffic()
    sites = role_sites(
        role="api", instance="here#1234", health=health, access=access, endpoints=RoleEndpoints()
    )
    transport = httpx.ASGITransport(app=sites.public, client=(client, 1))
    async with httpx.AsyncClient(transport=transport, base_url=f"http://{server}:8000") as http_client:
        yield http_client
    await nowhere.aclose()


async def statuses(client: httpx.AsyncClient, paths: tuple[str, ...], **headers: str) -> set[int]:
    return {(await client.get(path, headers=headers)).status_code for path in paths}


async def test_where_a_key_is_set_details_and_metrics_need_it_from_this_machine_too() -> None:
    async with asking(OPERATOR_KEY=OPERATOR_KEY) as client:
        assert await statuses(client, PAGES) == {401}
        assert await statuses(client, PAGES, Authorization="Bearer wrong") == {401}
        assert await statuses(client, PAGES, **KEY) == {200}
        assert await statuses(client, PROBES) == {200}


async def test_without_a_key_this_machine_sees_everything_and_others_nothing() -> None:
    async with asking() as client:
        assert await statuses(client, PROBES + PAGES) == {200}
        assert await statuses(client, PROBES + PAGES, Authorization="Bearer ") == {200}
    async with asking(client="203.0.113.7", server="198.51.100.1") as client:
        assert await statuses(client, PROBES + PAGES) == {401}
        assert await statuses(client, PROBES + PAGES, Authorization="Bearer ") == {401}


@pytest.mark.parametrize("forwarded", FORWARDED, ids=lambda headers: next(iter(headers)))
async def test_what_a_proxy_on_this_machine_passes_on_is_not_from_this_machine(
    forwarded: dict[str, str],
) -> None:
    async with asking() as client:
        assert await statuses(client, PROBES + PAGES, **forwarded) == {401}
    async with asking(OPERATOR_KEY=OPERATOR_KEY) as client:
        assert await statuses(client, PROBES, **forwarded) == {401}
        assert await statuses(client, PROBES + PAGES, **forwarded, **KEY) == {200}


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "localhost.evil.example",
        "203.0.113.7",
        "evil@localhost",
        "[::2]",
        "",
    ],
)
async def test_a_strangers_name_for_this_machine_opens_nothing(host: str) -> None:
    async with asking() as client:
        assert await statuses(client, PAGES, Host=host) == {421}
        assert await statuses(client, PROBES, Host=host) == {401}
        refused = (await client.get("/metrics", headers={"Host": host})).json()
        assert (refused["title"], "ALLOWED_HOSTS" in refused["detail"]) == ("Misdirected Request", True)
    async with asking(OPERATOR_KEY=OPERATOR_KEY) as client:
        assert await statuses(client, PAGES, Host=host, **KEY) == {421}


@pytest.mark.parametrize(
    "host", ["localhost", "LocalHost:8000", "localhost.", "127.0.0.1:1", "127.5.5.5", "[::1]:8000"]
)
async def test_this_machines_own_names_are_known(host: str) -> None:
    async with asking() as client:
        assert await statuses(client, PROBES + PAGES, Host=host) == {200}


@pytest.mark.turns("ALLOWED_HOSTS")
async def test_further_names_are_known_by_a_setting() -> None:
    prometheus = {"Host": "telethon-ingest:8011", **KEY}
    async with asking(client="10.0.0.2", server="10.0.0.1", OPERATOR_KEY=OPERATOR_KEY) as client:
        assert await statuses(client, PAGES, **KEY) == {200}  # the address itself, as it was connected to
        assert await statuses(client, PAGES, **prometheus) == {421}
    async with asking(
        client="10.0.0.2",
        server="10.0.0.1",
        OPERATOR_KEY=OPERATOR_KEY,
        ALLOWED_HOSTS="Worker, telethon-ingest",
    ) as client:
        assert await statuses(client, PAGES, **prometheus) == {200}


async def test_a_request_without_a_host_or_with_two_opens_nothing() -> None:
    async with asking() as client:
        for hosts in ([], [(b"host", b"localhost"), (b"host", b"localhost")]):
            request = client.build_request("GET", "/metrics")
            request.headers = httpx.Headers(hosts)
            assert (await client.send(request)).status_code == 421


async def test_who_tries_many_operator_keys_is_throttled_and_the_right_key_still_opens() -> None:
    async with asking(OPERATOR_KEY=OPERATOR_KEY) as client:
        tried = [
            await client.get("/metrics", headers={"Authorization": f"Bearer {number}"})
            for number in range(FAILED_KEYS_AT_ONCE + 5)
        ]
        assert [response.status_code for response in tried] == [401] * FAILED_KEYS_AT_ONCE + [429] * 5
        assert int(tried[-1].headers["retry-after"]) >= 1
        assert await statuses(client, PAGES, **KEY) == {200}
        assert await statuses(client, PAGES) == {401}


async def test_whether_the_process_lives_is_answered_to_everybody_and_without_any_server() -> None:
    async with asking(client="203.0.113.7", server="198.51.100.1", OPERATOR_KEY=OPERATOR_KEY) as client:
        alive = await client.get("/livez", headers={"Host": "evil.example", "Authorization": "Bearer wrong"})
    assert (alive.status_code, alive.json()) == (200, {"status": "alive"})


async def test_health_is_failing_while_a_server_is_away_and_details_name_it() -> None:
    nowhere = connect_to(RedisSettings(url=SecretStr("redis://127.0.0.1:1/0")))
    access = OperatorAccess(HttpSettings(), FailedKeys(Limiter(RateLimits(nowhere))))
    sites = role_sites(
        role="api",
        instance="here#1234",
        health=Health(probes={"redis": nowhere.ping}),
        access=access,
        endpoints=RoleEndpoints(),
    )
    transport = httpx.ASGITransport(app=sites.public, client=("127.0.0.1", 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
        health = await client.get("/health")
        assert (health.status_code, health.json()["status"]) == (200, "failing")  # the process itself lives
        details = (await client.get("/health/details")).json()
        assert (details["status"], details["servers_away"]) == (
            "failing",
            {"redis": "ConnectionError: it cannot be used now"},
        )
    await nowhere.aclose()
