"""Requests to follow, as programs make them and see their fate."""

from uuid import UUID

import httpx

from telegram_assistant.domain.channels.channel_requests import (
    MAX_OPEN_REQUESTS,
    NO_OWN_ACCOUNT,
    RequestState,
)
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.reasons import quote
from telegram_assistant.stores.postgres.channels.channels import Subscription
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.api_clients import problem_of
from testkit.factories import make_channel, make_tenant
from tests.conftest import Admin

CHANNELS, REQUESTS = "/api/v1/channels", "/api/v1/channels/requests"


async def ask(
    client: httpx.AsyncClient, key: dict[str, str], *references: str, **options: object
) -> list[dict[str, object]]:
    answer = await client.post(CHANNELS, headers=key, json={"references": list(references), **options})
    assert answer.status_code == 202, answer.text
    items: list[dict[str, object]] = answer.json()["items"]
    return items


async def test_following_tells_nothing_of_what_others_follow(
    client: httpx.AsyncClient, key: dict[str, str], system: SystemStores
) -> None:
    known = await make_channel(system, username="known_to_others")
    await system.channels.subscribe(await make_tenant(system), Subscription(channel_id=known))
    stored, unknown, refused = await ask(
        client, key, "@known_to_others", "@unknown_to_all", "no channel at all"
    )
    assert (refused["status"], refused["request_id"]) == ("refused", None)
    fates = []
    for request in (stored, unknown):
        assert (request["status"], request["channel_id"], request["why"]) == ("accepted", None, None)
        fate = (await client.get(f"{REQUESTS}/{request['request_id']}", headers=key)).json()
        fates.append(
            {
                name: fate[name]
                for name in (
                    "state",
                    "kind",
                    "reason",
                    "next_try_at",
                    "estimated_end",
                    "channel_id",
                    "answered_at",
                )
            }
        )
    assert fates[0]["state"] == "open"
    assert [{**fate, "reason": None} for fate in fates] == [{**fates[0], "reason": None}] * 2
    assert (await client.get(CHANNELS, headers=key)).json()["items"] == []


async def test_requests_are_listed_with_their_fate_and_paged(
    client: httpx.AsyncClient, key: dict[str, str], system: SystemStores
) -> None:
    made = await ask(client, key, "@first_one", "https://t.me/+AbCdEfGhIjKl", "@third_one", folder="City")
    ids = [UUID(str(request["request_id"])) for request in made]
    await system.request_queue.answer(
        ids[2], RequestState.FAILED, quote("there is no @third_one on Telegram")
    )
    seen, cursor = [], None
    while True:
        page = (
            await client.get(
                REQUESTS, headers=key, params={"limit": 2} | ({"cursor": cursor} if cursor else {})
            )
        ).json()
        seen += page["items"]
        cursor = page["next"]
        if cursor is None:
            break
    assert [UUID(request["request_id"]) for request in seen] == ids[::-1]
    assert [request["reference"] for request in seen] == ["@third_one", "https://t.me/+AbCd…", "@first_one"]
    assert [(request["state"], request["reason"]) for request in seen[:2]] == [
        ("failed", "there is no @third_one on Telegram"),
        ("open", str(NO_OWN_ACCOUNT)),
    ]
    in_russian = await client.get(f"{REQUESTS}/{ids[1]}", headers={**key, "Accept-Language": "ru"})
    assert in_russian.json()["reason"].startswith("нужен ваш собственный аккаунт")
    only = (await client.get(REQUESTS, headers=key, params={"state": "failed"})).json()["items"]
    assert [request["reference"] for request in only] == ["@third_one"]
    assert problem_of(await client.get(f"{REQUESTS}/{UUID(int=1)}", headers=key))[0] == 404


async def test_an_open_request_is_not_doubled_and_takes_later_options(
    client: httpx.AsyncClient, key: dict[str, str], tenant_id: TenantId, admin: Admin
) -> None:
    (first,) = await ask(client, key, "@city_news", folder="City", history_days=30)
    (second,) = await ask(client, key, "https://t.me/CITY_news", priority="high")
    assert first["request_id"] == second["request_id"]
    options = await admin.fetchval("SELECT options FROM channel_requests WHERE tenant_id = $1", tenant_id)
    assert options == '{"folder": "City", "priority": "high", "history_days": 30}'


async def test_following_again_says_so_and_keeps_what_is_not_given(
    client: httpx.AsyncClient, key: dict[str, str], tenant_id: TenantId, system: SystemStores
) -> None:
    channel_id = await make_channel(system, username=f"followed_{tenant_id}")
    await system.channels.subscribe(
        tenant_id, Subscription(channel_id=channel_id, folder="City", history_days=36_500, wants_media=False)
    )
    (again,) = await ask(client, key, f"@Followed_{tenant_id}", priority="high")
    assert (again["status"], again["channel_id"], again["request_id"]) == (
        "already_followed",
        channel_id,
        None,
    )
    now = (await client.get(f"{CHANNELS}/{channel_id}", headers=key)).json()
    assert (now["folder"], now["history_days"], now["wants_media"], now["priority"]) == (
        "City",
        36_500,
        False,
        "high",
    )


async def test_a_tenant_has_so_many_open_requests_and_no_more(
    client: httpx.AsyncClient, key: dict[str, str], tenant_id: TenantId, admin: Admin
) -> None:
    query = (
        "INSERT INTO channel_requests (tenant_id, reference) SELECT $1, 'open_name_' || n "
        "FROM generate_series(2, $2::int) n"
    )
    await admin.execute(query, tenant_id, MAX_OPEN_REQUESTS)
    last, open_already, too_many = await ask(client, key, "@the_last_one", "@open_name_5", "@one_too_many")
    assert [request["status"] for request in (last, open_already, too_many)] == [
        "accepted",
        "accepted",
        "refused",
    ]
    assert "folders" in str(too_many["why"])
    assert (
        await admin.fetchval("SELECT count(*) FROM channel_requests WHERE tenant_id = $1", tenant_id)
        == MAX_OPEN_REQUESTS
    )
    await admin.execute("DELETE FROM channel_requests WHERE tenant_id = $1", tenant_id)
