"""Answers of endpoints beyond their schema."""

from datetime import UTC, datetime

import httpx

from telegram_assistant.assembly import App
from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.events import PostParsed
from telegram_assistant.reasons import quote
from telegram_assistant.stores.postgres.stores import IngestStores
from telegram_assistant.streams.entries import DeadLettered, Entry, StreamSource
from testkit.api_clients import OPERATOR, problem_of
from testkit.factories import fresh_number, make_channel, make_subscription


async def test_a_provider_is_refused_until_an_owner_has_consented(
    app: App, client: httpx.AsyncClient, tenant_id: TenantId, key: dict[str, str]
) -> None:
    channel_id = await make_channel(app.system)
    await app.system.channels.subscribe(tenant_id, make_subscription(channel_id))
    wish = {"channel_ids": [channel_id], "policy": "provider"}
    status, why = problem_of(await client.put("/api/v1/ai/policies", json=wish, headers=key))
    assert status == 409
    assert "consent" in why
    consented = (await client.put("/api/v1/ai/consent", headers=key)).json()
    assert consented["consent"]["given_by"] == "key test"
    chosen = (await client.put("/api/v1/ai/policies", json=wish, headers=key)).json()
    assert [(choice["chosen"], choice["in_force"]) for choice in chosen["items"]] == [
        ("provider", "provider")
    ]
    assert (await client.delete("/api/v1/ai/consent", headers=key)).status_code == 204
    (listed,) = (await client.get("/api/v1/ai/policies", headers=key)).json()["items"]
    assert (listed["chosen"], listed["in_force"]) == ("provider", "local")
    log = (await client.get("/api/v1/audit-log", headers=key)).json()["items"]
    assert [entry["action"] for entry in log] == ["withdraw_consent", "choose_policies", "give_consent"]


async def test_whoever_pauses_an_account_is_named_and_no_secret_is_told(
    app: App, client: httpx.AsyncClient, tenant_id: TenantId, key: dict[str, str], ingest: IngestStores
) -> None:
    account_id = await app.system.accounts.add(tenant_id)
    await ingest.accounts.save_session(account_id, key_id="the key", session=b"a sealed session")
    await app.system.accounts.set_state(account_id, AccountState.ACTIVE)
    listed = await client.get("/api/v1/accounts", headers=key)
    assert "sealed" not in listed.text
    (account,) = listed.json()["items"]
    address = f"/api/v1/accounts/{account['account_id']}"
    paused = (await client.post(f"{address}/pause", headers=key)).json()
    assert (paused["state"], paused["state_reason"]) == ("paused", "paused by key test")
    assert (await client.post(f"{address}/resume", headers=key)).json()["state"] == "active"
    await app.system.accounts.set_state(account_id, AccountState.BANNED, quote("Telegram says so"))
    assert problem_of(await client.post(f"{address}/resume", headers=key))[0] == 422
    assert (await client.get(address, headers=key)).json()["risk"] == "lost"


async def test_the_operator_looks_at_dead_letters_replays_and_discards_them(
    app: App, client: httpx.AsyncClient, key: dict[str, str]
) -> None:
    stage = f"stage{fresh_number()}"
    source = StreamSource("stream:posts:parsed", Lane.LIVE, 0, PostParsed)
    entries = [Entry(source, f"{number}-0".encode(), b"\xff", None, 1) for number in (1, 2)]
    await app.system.dead_letters.add(stage, [DeadLettered(entry, "no event") for entry in entries])
    assert problem_of(await client.get("/api/v1/dead-letters", headers=key))[0] == 403
    first = (
        await client.get("/api/v1/dead-letters", params={"stage": stage, "limit": 1}, headers=OPERATOR)
    ).json()
    second = (
        await client.get(
            "/api/v1/dead-letters",
            params={"stage": stage, "limit": 1, "cursor": first["next"]},
            headers=OPERATOR,
        )
    ).json()
    assert second["next"] is None
    discarded, other = first["items"][0]["number"], second["items"][0]["number"]
    assert (await client.get(f"/api/v1/dead-letters/{discarded}", headers=OPERATOR)).json()[
        "payload"
    ] == "\N{REPLACEMENT CHARACTER}"
    assert (
        await client.post(f"/api/v1/dead-letters/{discarded}/discard", headers=OPERATOR)
    ).status_code == 200
    assert (await client.post(f"/api/v1/dead-letters/{other}/replay", headers=OPERATOR)).status_code == 200
    assert (await client.get("/api/v1/dead-letters", params={"stage": stage}, headers=OPERATOR)).json()[
        "items"
    ] == []
    assert (
        problem_of(await client.post(f"/api/v1/dead-letters/{discarded}/replay", headers=OPERATOR))[0] == 404
    )


async def test_a_followed_channel_takes_the_policy_of_channels_to_come(
    app: App, client: httpx.AsyncClient, tenant_id: TenantId, key: dict[str, str]
) -> None:
    channel_id = await make_channel(app.system)
    assert (await client.put("/api/v1/ai/default", json={"policy": "off"}, headers=key)).json()[
        "default"
    ] == "off"
    await app.system.channels.subscribe(tenant_id, make_subscription(channel_id))
    assert (await client.get(f"/api/v1/channels/{channel_id}", headers=key)).json()["ai_policy"] == "off"


async def test_moments_beyond_reason_are_refused(client: httpx.AsyncClient, key: dict[str, str]) -> None:
    for moment in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-11-15T00:00:00"):
        assert (
            problem_of(await client.get("/api/v1/changes", params={"since": moment}, headers=key))[0] == 422
        )
    now = datetime.now(UTC).isoformat()
    assert (await client.get("/api/v1/changes", params={"since": now}, headers=key)).json() == {
        "items": [],
        "next": None,
    }
