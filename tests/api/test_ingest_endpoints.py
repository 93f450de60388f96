"""Answers of the ingest role over HTTP."""

from collections.abc import AsyncIterator

import httpx
import pytest
from pydantic import SecretStr

from telegram_assistant.api.ingest_endpoints import ingest_role_endpoints
from telegram_assistant.api.operator_access import OperatorAccess
from telegram_assistant.api.rate_limiting import FailedKeys
from telegram_assistant.api.status import role_sites
from telegram_assistant.assembly import assemble
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.settings import Settings
from telegram_assistant.stores.postgres.channels.channels import Subscription
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.stores.redis.limiter import Limiter
from telegram_assistant.stores.redis.rate_limits import RateLimits
from telegram_assistant.telemetry.health import Health
from testkit.factories import make_channel, make_tenant
from tests.conftest import Admin

KEY = {"Authorization": "Bearer the-operators-key"}


@pytest.fixture
async def site(installation: Settings) -> AsyncIterator[httpx.AsyncClient]:
    http = installation.http.model_copy(update={"operator_key": SecretStr("the-operators-key")})
    async with assemble(installation.model_copy(update={"http": http})) as app:
        endpoints = ingest_role_endpoints(app)
        sites = role_sites(
            role="ingest",
            instance="here#1234",
            health=Health(probes={}, sections=endpoints.sections),
            access=OperatorAccess(http, FailedKeys(Limiter(RateLimits(app.redis)))),
            endpoints=endpoints,
            has_operations_port=True,
        )
        transport = httpx.ASGITransport(app=sites.operations, client=("127.0.0.1", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8011") as client:
            yield client


@pytest.fixture
async def channel_id(system: SystemStores) -> ChannelId:
    followed = await make_channel(system)
    await system.channels.subscribe(await make_tenant(system), Subscription(channel_id=followed))
    return followed


async def test_health_tells_how_planning_goes(site: httpx.AsyncClient) -> None:
    assert set((await site.get("/health")).json()["scheduler"]) == {"status"}
    details = (await site.get("/health/details", headers=KEY)).json()["scheduler"]
    assert set(details) - {"detail"} == {
        "last_tick_ts",
        "interval_sec",
        "lock_owner",
        "status",
        "last_success_ts",
        "channels_active",
        "channels_failing",
    }


async def test_a_channel_is_read_at_once_when_the_operator_asks(
    site: httpx.AsyncClient, channel_id: ChannelId, admin: Admin
) -> None:
    response = await site.post(
        f"/api/v1/channels/{channel_id}/poll", headers=KEY, json={"mode": "historical", "priority": "high"}
    )
    assert (response.status_code, response.json()) == (202, {"channel_id": channel_id, "status": "scheduled"})
    row = await admin.fetchrow(
        "SELECT asked_mode, next_poll_at = 'epoch' AS is_first FROM poll_schedule WHERE channel_id = $1",
        channel_id,
    )
    assert row is not None
    assert (row["asked_mode"], row["is_first"]) == ("historical", True)


async def test_nobody_else_may_ask_even_from_this_machine(
    site: httpx.AsyncClient, channel_id: ChannelId
) -> None:
    for headers, status in (
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Host": "evil.example", **KEY}, 421),
    ):
        assert (await site.post(f"/api/v1/channels/{channel_id}/poll", headers=headers)).status_code == status


async def test_an_unknown_channel_is_not_found_and_nonsense_is_explained(
    site: httpx.AsyncClient, channel_id: ChannelId
) -> None:
    assert (await site.post("/api/v1/channels/1/poll", headers=KEY)).status_code == 404
    wrong = await site.post(f"/api/v1/channels/{channel_id}/poll", headers=KEY, json={"mode": "fast"})
    assert (wrong.status_code, wrong.json()["title"]) == (422, "Unprocessable Content")
