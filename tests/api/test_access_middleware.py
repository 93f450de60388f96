"""Changes are made once and written down."""

import asyncio
import json

import httpx

from telegram_assistant.domain.ids import TenantId
from telegram_assistant.stores.postgres.channels.channels import Subscription
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.api_clients import problem_of
from testkit.factories import make_channel
from tests.conftest import Admin

FOLLOW = {"references": ["@some_channel"]}


async def test_a_repeated_change_is_made_once_and_answered_alike(
    client: httpx.AsyncClient, key: dict[str, str], admin: Admin, tenant_id: TenantId
) -> None:
    headers = {**key, "Idempotency-Key": "one"}
    first, second = [await client.post("/api/v1/channels", headers=headers, json=FOLLOW) for _ in range(2)]
    assert (first.status_code, first.content) == (second.status_code, second.content)
    assert (first.headers.get("idempotency-replayed"), second.headers["idempotency-replayed"]) == (
        None,
        "true",
    )
    assert await admin.fetchval("SELECT count(*) FROM channel_requests WHERE tenant_id = $1", tenant_id) == 1
    other = await client.post("/api/v1/channels", headers=headers, json={"references": ["@another_one"]})
    assert problem_of(other)[0] == 409
    assert (
        problem_of(
            await client.post("/api/v1/channels", headers={**key, "Idempotency-Key": "x" * 256}, json=FOLLOW)
        )[0]
        == 422
    )


async def test_what_changed_nothing_may_be_tried_again(
    client: httpx.AsyncClient, key: dict[str, str]
) -> None:
    headers = {**key, "Idempotency-Key": "again"}
    assert (await client.post("/api/v1/channels", headers=headers, json={})).status_code == 422
    assert (await client.post("/api/v1/channels", headers=headers, json=FOLLOW)).status_code == 202


async def test_a_secret_is_not_told_twice(client: httpx.AsyncClient, key: dict[str, str]) -> None:
    headers, wish = {**key, "Idempotency-Key": "secret"}, {"name": "one", "scopes": ["read"]}
    assert (await client.post("/api/v1/keys", headers=headers, json=wish)).status_code == 201
    again = await client.post("/api/v1/keys", headers=headers, json=wish)
    assert problem_of(again)[0] == 409
    assert "tga_" not in again.text
    assert (
        len(
            [
                listed_key
                for listed_key in (await client.get("/api/v1/keys", headers=key)).json()["items"]
                if listed_key["name"] == "one"
            ]
        )
        == 1
    )


async def test_the_same_change_at_the_same_time_waits(
    client: httpx.AsyncClient, key: dict[str, str], admin: Admin
) -> None:
    headers = {**key, "Idempotency-Key": "twice"}
    async with admin.transaction():
        await admin.execute("LOCK TABLE channel_requests")
        first = asyncio.create_task(client.post("/api/v1/channels", headers=headers, json=FOLLOW))
        while not await admin.fetchval("SELECT count(*) FROM idempotency_keys WHERE key = 'twice'"):
            await asyncio.sleep(0.01)
        second = await client.post("/api/v1/channels", headers=headers, json=FOLLOW)
    assert problem_of(second)[0] == 409
    assert second.headers["retry-after"] == "1"
    assert (await first).status_code == 202


async def test_every_change_is_in_the_audit_log_and_nothing_else(
    client: httpx.AsyncClient, key: dict[str, str], system: SystemStores, tenant_id: TenantId
) -> None:
    channel_id = await make_channel(system)
    await system.channels.subscribe(tenant_id, Subscription(channel_id=channel_id))
    await client.get("/api/v1/me", headers=key)
    await client.post(
        "/api/v1/channels",
        headers=key,
        json={"references": ["@some_channel", "https://t.me/+AbCdEfGhIjKl", "what?"]},
    )
    await client.patch(f"/api/v1/channels/{channel_id}", headers=key, json={"priority": "high"})
    await client.delete("/api/v1/channels/1", headers=key)
    await client.delete(f"/api/v1/channels/{channel_id}", headers=key)
    entries = (await client.get("/api/v1/audit-log", headers=key)).json()["items"]
    assert [(entry["action"], entry["subject"], entry["facts"]) for entry in entries] == [
        ("unfollow_channel", f"/channels/{channel_id}", {}),
        ("change_channel", f"/channels/{channel_id}", {"priority": "high"}),
        ("follow_channels", "/channels", {"references": ["@some_channel", "https://t.me/+AbCd…"]}),
    ]
    assert {entry["actor"] for entry in entries} == {"key test"}
    first = (await client.get("/api/v1/audit-log", headers=key, params={"limit": 2})).json()
    rest = (
        await client.get("/api/v1/audit-log", headers=key, params={"limit": 2, "cursor": first["next"]})
    ).json()
    assert json.dumps(first["items"] + rest["items"]) == json.dumps(entries)
    assert rest["next"] is None
