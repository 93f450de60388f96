"""Access to the API by keys, scopes and roles."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.tenants.access import KeyScope, MemberRole
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.stores.redis.rate_limits import RateLimits
from testkit.api_clients import OPERATOR, create_key_header, make_client, problem_of
from testkit.factories import fresh_number
from tests.conftest import Admin

FOLLOW = {"references": ["@some_channel"]}


@pytest.mark.parametrize(
    "given",
    ["", "Bearer", "Bearer tga_short", f"Bearer tga_{'x' * 43}", "Basic YTpi", "Bearer ключ", "Bearer \x7f"],
)
async def test_without_a_valid_key_nothing_is_answered(client: httpx.AsyncClient, given: str) -> None:
    for path in ("/api/v1/me", "/api/v1/nothing", "/api/v1"):
        answer = await client.get(path, headers={b"Authorization": given.encode()})
        assert problem_of(answer)[0] == 401
        assert answer.headers["www-authenticate"] == "Bearer"


async def test_documentation_is_open(client: httpx.AsyncClient) -> None:
    described = (await client.get("/openapi.json")).json()
    assert described["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    page = (await client.get("/docs")).text
    operations = [
        operation for operations in described["paths"].values() for operation in operations.values()
    ]
    assert all(f'id="{operation["operationId"]}"' in page for operation in operations)


async def test_documentation_needs_nothing_from_elsewhere(client: httpx.AsyncClient) -> None:
    page = await client.get("/docs")
    assert not re.search(r"<script|<link|<img|src=|url\(|href=\"(?!#|/openapi\.json)", page.text)
    assert (
        page.headers["content-security-policy"]
        == "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
    )


async def test_a_key_says_whose_it_is_and_what_it_opens(
    app: App, client: httpx.AsyncClient, tenant_id: TenantId
) -> None:
    key = await create_key_header(app, tenant_id, KeyScope.READ)
    me = (await client.get("/api/v1/me", headers=key)).json()
    assert (me["scopes"], me["is_operator"], me["actor"]) == (["read"], False, "key test")
    assert problem_of(await client.post("/api/v1/channels", headers=key, json=FOLLOW))[0] == 403
    assert problem_of(await client.get("/api/v1/keys", headers=key))[0] == 403


async def test_the_operators_key_opens_everything_of_the_operators_tenant(client: httpx.AsyncClient) -> None:
    me = (await client.get("/api/v1/me", headers=OPERATOR)).json()
    assert (me["tenant_name"], me["scopes"], me["key_id"]) == (
        "default",
        ["read", "write", "admin", "operate"],
        None,
    )


async def test_a_key_opens_no_more_than_the_role_of_its_person(
    app: App, client: httpx.AsyncClient, system: SystemStores, tenant_id: TenantId
) -> None:
    name = f"anna {fresh_number()}"
    member = await system.users.join(tenant_id, name)
    assert member.role is MemberRole.OWNER  # the first one
    key = await create_key_header(app, tenant_id, user_id=member.user_id)
    assert (await client.get("/api/v1/me", headers=key)).json()["scopes"] == ["read", "write", "admin"]
    assert (await system.users.join(tenant_id, f"boris {fresh_number()}")).role is MemberRole.VIEWER
    await system.users.join(tenant_id, name, role=MemberRole.VIEWER)
    async with make_client(app) as later:
        assert (await later.get("/api/v1/me", headers=key)).json()["scopes"] == ["read"]


async def test_nobody_but_the_operator_can_operate(
    app: App, client: httpx.AsyncClient, tenant_id: TenantId
) -> None:
    key = await create_key_header(app, tenant_id, *KeyScope)
    assert "operate" not in (await client.get("/api/v1/me", headers=key)).json()["scopes"]
    refused = await client.post("/api/v1/keys", headers=key, json={"name": "more", "scopes": ["operate"]})
    assert problem_of(refused)[0] == 403


async def test_keys_are_kept_as_hashes_and_shown_once(
    client: httpx.AsyncClient, key: dict[str, str], admin: Admin
) -> None:
    made = (await client.post("/api/v1/keys", headers=key, json={"name": "one", "scopes": ["read"]})).json()
    assert made["secret"].startswith("tga_")
    assert made["key"]["prefix"] == made["secret"][:10]
    assert made["secret"] not in (await client.get("/api/v1/keys", headers=key)).text
    row = await admin.fetchrow("SELECT * FROM api_keys WHERE key_id = $1::uuid", made["key"]["key_id"])
    assert made["secret"] not in str(row)
    assert made["secret"][10:] not in str(await admin.fetch("SELECT * FROM idempotency_keys")) + str(
        await admin.fetch("SELECT * FROM audit_log")
    )


async def test_a_revoked_key_opens_nothing_at_once_in_other_processes_too(
    app: App, client: httpx.AsyncClient, key: dict[str, str]
) -> None:
    made = (await client.post("/api/v1/keys", headers=key, json={"name": "one", "scopes": ["read"]})).json()
    given = {"Authorization": f"Bearer {made['secret']}"}
    async with make_client(app) as elsewhere:
        assert (await elsewhere.get("/api/v1/me", headers=given)).status_code == 200
        assert (await client.delete(f"/api/v1/keys/{made['key']['key_id']}", headers=key)).status_code == 204
        assert (await elsewhere.get("/api/v1/me", headers=given)).status_code == 401
    assert (await client.delete(f"/api/v1/keys/{made['key']['key_id']}", headers=key)).status_code == 404


async def test_an_expired_key_opens_nothing(
    client: httpx.AsyncClient, key: dict[str, str], admin: Admin
) -> None:
    wish = {"name": "one", "scopes": ["read"], "expires_at": "2099-01-01T00:00:00Z"}
    made = (await client.post("/api/v1/keys", headers=key, json=wish)).json()
    await admin.execute(
        "UPDATE api_keys SET expires_at = now() WHERE key_id = $1::uuid", made["key"]["key_id"]
    )
    assert (
        await client.get("/api/v1/me", headers={"Authorization": f"Bearer {made['secret']}"})
    ).status_code == 401
    past = await client.post("/api/v1/keys", headers=key, json={**wish, "expires_at": "2020-01-01T00:00:00Z"})
    assert problem_of(past) == (422, "a key cannot expire in the past")


async def create_child_key(
    client: httpx.AsyncClient, key: dict[str, str], **wish: object
) -> tuple[dict[str, str], dict[str, Any]]:
    """A key made with another one, as headers and as it is shown."""
    made = await client.post(
        "/api/v1/keys", headers=key, json={"name": "child", "scopes": ["read", "admin"], **wish}
    )
    assert made.status_code == 201, made.text
    return {"Authorization": f"Bearer {made.json()['secret']}"}, made.json()["key"]


async def test_a_key_lives_no_longer_than_the_key_that_it_was_made_with(
    client: httpx.AsyncClient, key: dict[str, str]
) -> None:
    soon, later = "2098-01-01T00:00:00Z", "2099-01-01T00:00:00Z"
    parent, parent_key = await create_child_key(client, key, expires_at=soon)
    assert (parent_key["expires_at"], parent_key["parent_key_id"]) == (
        soon,
        (await client.get("/api/v1/me", headers=key)).json()["key_id"],
    )
    _, without_end = await create_child_key(client, parent)
    assert (without_end["expires_at"], without_end["parent_key_id"]) == (soon, parent_key["key_id"])
    refused = await client.post(
        "/api/v1/keys", headers=parent, json={"name": "longer", "scopes": ["read"], "expires_at": later}
    )
    assert problem_of(refused) == (
        422,
        "a key cannot outlive the key that creates it: it must expire by 2098-01-01T00:00:00+00:00",
    )
    wider = await client.post("/api/v1/keys", headers=parent, json={"name": "wider", "scopes": ["write"]})
    assert problem_of(wider)[0] == 403


@pytest.mark.parametrize("end", ["revoked", "expired"])
async def test_a_key_dies_with_each_key_that_it_descends_from(
    app: App, client: httpx.AsyncClient, key: dict[str, str], admin: Admin, end: str
) -> None:
    parent, parent_key = await create_child_key(client, key)
    child, _ = await create_child_key(client, parent)
    grandchild, _ = await create_child_key(client, child)
    other, _ = await create_child_key(client, key)
    async with make_client(app) as elsewhere:
        assert [
            (await elsewhere.get("/api/v1/me", headers=headers)).status_code
            for headers in (child, grandchild, other)
        ] == [200, 200, 200]
        if end == "revoked":
            assert (
                await client.delete(f"/api/v1/keys/{parent_key['key_id']}", headers=key)
            ).status_code == 204
            states = {
                listed_key["key_id"]: listed_key["revoked_at"]
                for listed_key in (await client.get("/api/v1/keys", headers=key)).json()["items"]
            }
            assert sum(state is not None for state in states.values()) == 3
        else:
            await admin.execute(
                "UPDATE api_keys SET expires_at = now() WHERE key_id = $1::uuid", parent_key["key_id"]
            )
            await RateLimits(app.redis).drop_cached_keys()
        for headers in (parent, child, grandchild):
            assert (await elsewhere.get("/api/v1/me", headers=headers)).status_code == 401
        assert (await elsewhere.get("/api/v1/me", headers=other)).status_code == 200


async def test_a_key_that_expires_is_not_remembered_beyond_its_end(
    client: httpx.AsyncClient, key: dict[str, str], admin: Admin
) -> None:
    child, child_key = await create_child_key(client, key)
    end = datetime.now(UTC) + timedelta(seconds=1)
    await admin.execute(
        "UPDATE api_keys SET expires_at = $2 WHERE key_id = $1::uuid", child_key["key_id"], end
    )
    assert (await client.get("/api/v1/me", headers=child)).status_code == 200
    while datetime.now(UTC) <= end:
        await asyncio.sleep(0.05)
    assert (await client.get("/api/v1/me", headers=child)).status_code == 401


async def test_the_line_of_keys_ends_after_eight_generations(
    client: httpx.AsyncClient, key: dict[str, str]
) -> None:
    for _ in range(8):
        key, _ = await create_child_key(client, key)
    refused = await client.post("/api/v1/keys", headers=key, json={"name": "more", "scopes": ["read"]})
    assert problem_of(refused)[0] == 403


async def test_a_key_that_the_operators_own_key_makes_has_no_parent(client: httpx.AsyncClient) -> None:
    assert (await create_child_key(client, OPERATOR))[1]["parent_key_id"] is None


async def test_when_a_key_was_used_is_noted_once_a_minute(
    app: App, client: httpx.AsyncClient, tenant_id: TenantId, admin: Admin
) -> None:
    key = await create_key_header(app, tenant_id)
    query = "SELECT last_used_at FROM api_keys WHERE tenant_id = $1"
    assert await admin.fetchval(query, tenant_id) is None
    await client.get("/api/v1/me", headers=key)
    first = await admin.fetchval(query, tenant_id)
    async with make_client(app) as another:
        await another.get("/api/v1/me", headers=key)
    assert await admin.fetchval(query, tenant_id) == first
