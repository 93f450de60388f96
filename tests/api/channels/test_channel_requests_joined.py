"""Listing what accounts have joined, picking from it, and trying requests again, as programs do it."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

import httpx

from telegram_assistant.domain.channels.channel import Channel, FoundChannel
from telegram_assistant.domain.channels.channel_requests import RequestState
from telegram_assistant.domain.ids import AccountId, ChannelId, TenantId
from telegram_assistant.reasons import quote
from telegram_assistant.stores.postgres.channels.channels import Subscription
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.api_clients import problem_of
from testkit.factories import fresh_number, make_channel
from tests.conftest import Admin

JOINED, REQUESTS = "/api/v1/channels/joined", "/api/v1/channels/requests"


async def make_account(admin: Admin, tenant_id: TenantId) -> AccountId:
    query = "INSERT INTO telegram_accounts (tenant_id, state) VALUES ($1, 'active') RETURNING account_id"
    return AccountId(await admin.fetchval(query, tenant_id))


async def list_one(
    system: SystemStores, tenant_id: TenantId, account_id: AccountId, *, title: str
) -> ChannelId:
    channel = Channel(channel_id=ChannelId(fresh_number()), title=title, is_private=True)
    joined = FoundChannel(channel, access_hash=1, joined=True)
    await system.joined_listings.keep(tenant_id, account_id, uuid4(), [joined], at=datetime.now(UTC))
    return channel.channel_id


async def test_a_list_is_asked_for_once_and_then_said_to_be_on_its_way(
    client: httpx.AsyncClient, key: dict[str, str], tenant_id: TenantId, admin: Admin
) -> None:
    assert problem_of(await client.post(JOINED, headers=key))[0] == 422  # no account
    assert (await client.get(JOINED, headers=key)).json() == {"items": [], "listed_at": None, "requests": []}
    await make_account(admin, tenant_id)
    response = await client.post(JOINED, headers=key)
    assert response.status_code == 202, response.text
    (request,) = response.json()["requests"]
    assert (request["kind"], request["state"]) == ("listing", "open")
    assert problem_of(await client.post(JOINED, headers=key))[0] == 409
    assert (await client.get(REQUESTS, headers=key)).json()["items"] == []  # it follows nothing


async def test_what_is_picked_becomes_a_request_and_what_is_not_listed_is_refused(
    client: httpx.AsyncClient, key: dict[str, str], system: SystemStores, tenant_id: TenantId, admin: Admin
) -> None:
    account_id = await make_account(admin, tenant_id)
    listed = await list_one(system, tenant_id, account_id, title="Клуб")
    followed = await make_channel(system)
    await system.channels.subscribe(tenant_id, Subscription(channel_id=followed))
    (item,) = (await client.get(JOINED, headers=key)).json()["items"]
    assert (item["channel_id"], item["title"], item["is_private"], item["is_followed"]) == (
        listed,
        "Клуб",
        True,
        False,
    )
    body = {"channel_ids": [listed, followed, 1], "folder": "City"}
    items = (await client.post(f"{JOINED}/follow", headers=key, json=body)).json()["items"]
    assert [item["status"] for item in items] == ["accepted", "already_followed", "refused"]
    request = (await client.get(f"{REQUESTS}/{items[0]['request_id']}", headers=key)).json()
    assert (request["kind"], request["reference"], request["state"]) == ("pick", "Клуб", "open")
    again = (await client.post(f"{JOINED}/follow", headers=key, json={"channel_ids": [listed]})).json()[
        "items"
    ]
    assert again[0]["request_id"] == items[0]["request_id"]


async def test_failed_requests_are_tried_again_one_or_all(
    client: httpx.AsyncClient, key: dict[str, str], system: SystemStores
) -> None:
    made = (
        await client.post("/api/v1/channels", headers=key, json={"references": ["@first_one", "@second_one"]})
    ).json()["items"]
    ids = [UUID(request["request_id"]) for request in made]
    assert (
        problem_of(await client.post(f"{REQUESTS}/{ids[0]}/retry", headers=key))[0] == 409
    )  # it has not failed
    for request_id in ids:
        await system.request_queue.answer(request_id, RequestState.FAILED, quote("there is no such name"))
    retried = (await client.post(f"{REQUESTS}/{ids[0]}/retry", headers=key)).json()
    assert (retried["request_id"], retried["state"], retried["answered_at"]) == (str(ids[0]), "open", None)
    assert (await client.post(f"{REQUESTS}/retry", headers=key)).json() == {"retried": 1}
    states = {request["state"] for request in (await client.get(REQUESTS, headers=key)).json()["items"]}
    assert states == {"open"}
