"""Channels, feed and polls as programs ask for them."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.stores.postgres.channels.channels import Subscription
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.api_clients import problem_of
from testkit.factories import (
    World,
    follow_long_ago,
    make_channel,
    make_page,
    make_post,
    make_tenant,
    make_world,
)
from tests.conftest import Admin


@pytest.fixture
async def channels(system: SystemStores, tenant_id: TenantId) -> list[ChannelId]:
    made = [await make_channel(system, username=f"name_{number}") for number in range(5)]
    for channel_id, folder in zip(made, ("City", "City", "Sport", None, None), strict=True):
        await system.channels.subscribe(tenant_id, Subscription(channel_id=channel_id, folder=folder))
    return made


async def list_channels(
    client: httpx.AsyncClient, key: dict[str, str], **query: str | int | bool
) -> list[int]:
    answer = await client.get("/api/v1/channels", headers=key, params=query)
    assert answer.status_code == 200, answer.text
    return [channel["channel_id"] for channel in answer.json()["items"]]


async def test_channels_are_listed_filtered_and_paged(
    client: httpx.AsyncClient, key: dict[str, str], channels: list[ChannelId]
) -> None:
    assert await list_channels(client, key) == channels
    assert await list_channels(client, key, folder="City") == channels[:2]
    assert await list_channels(client, key, q="NAME_3") == [channels[3]]
    assert await list_channels(client, key, q=str(channels[4])) == [channels[4]]  # its title
    assert await list_channels(client, key, q="%") == []
    assert await list_channels(client, key, priority="high") == []
    assert await list_channels(client, key, active=False) == []
    seen, cursor = [], None
    while True:
        page = (
            await client.get(
                "/api/v1/channels", headers=key, params={"limit": 2} | ({"cursor": cursor} if cursor else {})
            )
        ).json()
        seen += [channel["channel_id"] for channel in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == channels


async def test_a_channel_is_followed_differently_and_no_more(
    client: httpx.AsyncClient, key: dict[str, str], channels: list[ChannelId], admin: Admin
) -> None:
    where = f"/api/v1/channels/{channels[0]}"
    changed = (
        await client.patch(
            where,
            headers=key,
            json={"priority": "high", "history_days": 30, "ai_policy": "off", "wants_media": False},
        )
    ).json()
    assert (changed["priority"], changed["history_days"], changed["ai_policy"], changed["wants_media"]) == (
        "high",
        30,
        "off",
        False,
    )
    assert changed["folder"] == "City"
    assert await admin.fetchval("SELECT tier FROM poll_schedule WHERE channel_id = $1", channels[0]) == "high"
    assert (await client.patch(where, headers=key, json={"folder": None})).json()["folder"] is None
    assert (await client.get(where, headers=key)).json()["priority"] == "high"
    assert problem_of(await client.patch(where, headers=key, json={"prioritet": "high"}))[0] == 422
    assert (await client.delete(where, headers=key)).status_code == 204
    assert (await client.get(where, headers=key)).status_code == 404
    assert (await client.delete(where, headers=key)).status_code == 404


async def test_the_feed_is_exact_over_all_pages(
    client: httpx.AsyncClient, key: dict[str, str], tenant_id: TenantId, system: SystemStores, pool: Pool
) -> None:
    world: World = await make_world(system, pool)
    for channel_id in world.of_a:
        await system.channels.subscribe(tenant_id, Subscription(channel_id=channel_id))
    expected = [
        f"{stored.post.channel_id}/{stored.post.message_id}"
        for stored in await world.stores_a.feed.newest(limit=100)
    ]
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await client.get("/api/v1/feed", headers=key, params={"limit": "4", **cursor})).json()
        seen += [post["post_id"] for post in page["items"]]
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    assert seen == expected
    assert len(expected) == 28


async def make_account(admin: Admin, owner: TenantId, *channels: ChannelId) -> int:
    """An account at work that can open these channels."""
    account_id: int = await admin.fetchval(
        "INSERT INTO telegram_accounts (tenant_id, state) VALUES ($1, 'active') RETURNING account_id", owner
    )
    for channel_id in channels:
        query = (
            "INSERT INTO account_channels (account_id, channel_id, access_hash, read_at) "
            "VALUES ($1, $2, 1, now())"
        )
        await admin.execute(query, account_id, channel_id)
    return account_id


async def test_only_an_own_account_reads_at_once(
    client: httpx.AsyncClient,
    key: dict[str, str],
    channels: list[ChannelId],
    tenant_id: TenantId,
    system: SystemStores,
    admin: Admin,
) -> None:
    channel_id = channels[0]
    where = f"/api/v1/channels/{channel_id}/poll"
    assert problem_of(await client.post(where, headers=key))[0] == 409
    other = await make_account(admin, await make_tenant(system), channel_id)
    own = await make_account(admin, tenant_id, channel_id)
    await admin.execute(
        "UPDATE poll_schedule SET account_id = $1, claimed = true WHERE channel_id = $2", other, channel_id
    )
    assert (await client.post(where, headers=key)).status_code == 202
    row = (
        "SELECT account_id, asked_at IS NOT NULL, asked_mode, next_poll_at = 'epoch' FROM poll_schedule "
        "WHERE channel_id = $1"
    )
    assert tuple(await admin.fetchrow(row, channel_id) or ()) == (
        other,
        False,
        None,
        False,
    )  # it is being read at this moment
    await admin.execute("UPDATE poll_schedule SET claimed = false WHERE channel_id = $1", channel_id)
    answer = await client.post(where, headers=key, json={"mode": "historical", "priority": "high"})
    assert (answer.status_code, answer.json()) == (202, {"channel_id": channel_id, "status": "scheduled"})
    assert tuple(await admin.fetchrow(row, channel_id) or ()) == (own, True, "historical", True)
    assert (await client.post("/api/v1/channels/1/poll", headers=key)).status_code == 404


async def test_a_poll_tells_nothing_of_who_else_reads_the_channel(
    client: httpx.AsyncClient,
    key: dict[str, str],
    channels: list[ChannelId],
    tenant_id: TenantId,
    system: SystemStores,
    admin: Admin,
) -> None:
    """Own accounts can open the first channel; the second was brought by another tenant."""
    own = await make_account(admin, tenant_id, channels[0])
    other = await make_account(admin, await make_tenant(system), channels[1])
    await admin.execute("UPDATE poll_schedule SET account_id = $1 WHERE channel_id = $2", other, channels[1])
    answers = [
        await client.post(f"/api/v1/channels/{channel_id}/poll", headers=key)
        for channel_id in (*channels[:2], channels[1])
    ]
    assert [(answer.status_code, answer.json()["status"]) for answer in answers] == [(202, "scheduled")] * 3
    rows = await admin.fetch(
        "SELECT account_id, reference FROM channel_requests WHERE kind = 'access' AND reference LIKE 'name_%'"
    )
    assert [(row["account_id"], row["reference"]) for row in rows if row["account_id"] == own] == [
        (own, "name_1")
    ]
    assert (await client.get("/api/v1/channels/requests", headers=key)).json()["items"] == []
    assert (
        await admin.fetchval("SELECT account_id FROM poll_schedule WHERE channel_id = $1", channels[1])
        == other
    )


async def test_activity_counts_hours_in_a_zone_and_says_what_was_kept(
    client: httpx.AsyncClient, key: dict[str, str], system: SystemStores, tenant_id: TenantId, admin: Admin
) -> None:
    channel_id = await make_channel(system)
    await follow_long_ago(system, admin, tenant_id, channel_id, priority=Priority.HIGH)
    monday = datetime.now(UTC).replace(hour=22, minute=30, second=0, microsecond=0) - timedelta(
        days=datetime.now(UTC).weekday() + 14
    )
    recent = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
    moments = [monday, monday + timedelta(minutes=10), recent, recent + timedelta(minutes=50)]
    posts = [
        make_post(channel_id=channel_id, message_id=number, posted_at=moment)
        for number, moment in enumerate(moments, start=1)
    ]
    await system.landing.land(make_page(*posts), Claim(channel_id, 0))
    path = f"/api/v1/channels/{channel_id}/activity"
    answer = (await client.get(path, headers=key)).json()
    activity = answer["activity"]
    assert answer["health"]["state"] == "unreadable"
    assert activity["posts"] == 4
    assert activity["hours"][0][22] >= 2
    assert sum(map(sum, activity["hours"])) == 4
    moscow = (await client.get(path, headers=key, params={"zone": "Europe/Moscow"})).json()["activity"]
    assert moscow["hours"][1][1] >= 2
    assert (
        activity["freshness"]["promised_seconds"],
        activity["freshness"]["posts"],
        activity["freshness"]["on_time"],
    ) == (900, 2, 1)
    assert activity["rhythm"]["median_seconds"] == 3000
    assert (await client.get(path, headers=key, params={"zone": "Nowhere/Land"})).status_code == 422


async def test_activity_begins_where_the_tenants_own_window_does(
    client: httpx.AsyncClient, key: dict[str, str], system: SystemStores, tenant_id: TenantId
) -> None:
    channel_id, now = await make_channel(system), datetime.now(UTC).replace(microsecond=0)
    await system.channels.subscribe(tenant_id, Subscription(channel_id=channel_id, history_days=1))
    posts = [
        make_post(channel_id=channel_id, message_id=number, posted_at=now - timedelta(days=ago))
        for number, ago in ((1, 20), (2, 10), (3, 0))
    ]
    await system.landing.land(make_page(*posts), Claim(channel_id, 0))
    activity = (await client.get(f"/api/v1/channels/{channel_id}/activity", headers=key)).json()["activity"]
    assert (activity["posts"], activity["stored_messages"]) == (1, 1)
    assert activity["freshness"]["posts"] == 0
    assert datetime.fromisoformat(activity["since"]) > now - timedelta(days=3)
