"""The operator's own endpoints: tenants."""

import httpx

from telegram_assistant.assembly import App
from testkit.api_clients import OPERATOR, create_key_header, problem_of
from testkit.factories import fresh_number


async def create(client: httpx.AsyncClient) -> dict[str, str]:
    made = await client.post("/api/v1/tenants", headers=OPERATOR, json={"name": f"tenant {fresh_number()}"})
    assert made.status_code == 201
    answer: dict[str, str] = made.json()
    return answer


async def test_the_operator_creates_lists_and_sees_a_tenant_without_its_number(
    client: httpx.AsyncClient, app: App
) -> None:
    made = await create(client)
    known = await app.system.tenants.by_name(made["name"])
    assert known is not None
    assert made["tenant_id"] == str(known.public_id)
    listed, params = [], {"limit": "200"}
    while "cursor" not in params or params["cursor"]:
        page = (await client.get("/api/v1/tenants", headers=OPERATOR, params=params)).json()
        listed += page["items"]
        params["cursor"] = page["next"]
    assert made in listed
    assert (await client.get(f"/api/v1/tenants/{made['tenant_id']}", headers=OPERATOR)).json() == made
    again = await client.post("/api/v1/tenants", headers=OPERATOR, json={"name": made["name"]})
    assert problem_of(again) == (409, f"a tenant '{made['name']}' already exists")


async def test_keys_of_a_suspended_tenant_are_refused_at_once_and_in_words(
    client: httpx.AsyncClient, app: App
) -> None:
    made = await create(client)
    known = await app.system.tenants.by_name(made["name"])
    assert known is not None
    key = await create_key_header(app, known.tenant_id)
    assert (await client.get("/api/v1/me", headers=key)).status_code == 200
    path = f"/api/v1/tenants/{made['tenant_id']}"
    suspended = await client.post(
        f"{path}/suspend", headers=OPERATOR, json={"reason": "the bill was not paid"}
    )
    assert suspended.json()["suspended_reason"] == "the bill was not paid"
    problem = problem_of(await client.get("/api/v1/me", headers=key))
    assert problem == (
        403,
        f"the operator suspended the tenant {made['name']}: the bill was not paid",
    )
    assert (await client.post(f"{path}/resume", headers=OPERATOR)).json()["suspended_at"] is None
    assert (await client.get("/api/v1/me", headers=key)).status_code == 200


async def test_quota_and_budget_are_set_and_every_change_is_in_the_operators_audit_log(
    client: httpx.AsyncClient,
) -> None:
    path = f"/api/v1/tenants/{(await create(client))['tenant_id']}"
    tenant = (await client.put(f"{path}/media-quota", headers=OPERATOR, json={"max_bytes": 5_000})).json()
    assert (tenant["media_quota_bytes"], tenant["has_own_quota"]) == (5_000, True)
    paid = (await client.put(f"{path}/budget", headers=OPERATOR, json={"micro": 5, "tokens": 7})).json()
    assert (paid["budget"]["micro"], paid["budget"]["tokens"], paid["unit"]) == (5, 7, "RUB")
    log = (await client.get("/api/v1/audit-log", headers=OPERATOR)).json()["items"]
    assert [
        entry["action"] for entry in log if entry["subject"].startswith(path.removeprefix("/api/v1"))
    ] == [
        "set_tenant_budget",
        "set_media_quota",
    ]


async def test_accounts_at_risk_are_told_with_their_tenant(client: httpx.AsyncClient, app: App) -> None:
    made = await create(client)
    known = await app.system.tenants.by_name(made["name"])
    assert known is not None
    await app.system.accounts.add(known.tenant_id)
    everybodys = (await client.get("/api/v1/tenants/accounts", headers=OPERATOR)).json()["items"]
    assert [everybody["risk"] for everybody in everybodys if everybody["tenant_id"] == made["tenant_id"]] == [
        "safe"
    ]
    lost = (
        await client.get("/api/v1/tenants/accounts", headers=OPERATOR, params={"min_risk": "lost"})
    ).json()["items"]
    assert made["tenant_id"] not in [account["tenant_id"] for account in lost]
