"""The operator creates, suspends, resumes and lists tenants, and sets their limits."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from telegram_assistant.domain.accounts.account_risk import Risk
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.errors import Conflicting, Missing, Rejected
from telegram_assistant.features.tenants import tenants
from telegram_assistant.stores.postgres.channels.channels import Subscription
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.stores import ApiStores, SystemStores, tenant_stores
from telegram_assistant.stores.postgres.tenants.tenant_operations import TenantSummary
from testkit.factories import World, fresh_number, make_channel
from tests.conftest import Admin


async def nothing() -> None:
    """Stands for dropping cached keys: this test has none."""


async def make_tenant(api: ApiStores) -> TenantSummary:
    return await tenants.create_tenant(f"tenant {fresh_number()}", tenants=api.tenant_operations)


async def suspend(api: ApiStores, public_id: UUID) -> TenantSummary:
    return await tenants.suspend_tenant(
        public_id, why="the bill", tenants=api.tenant_operations, drop_cached_keys=nothing
    )


async def resume(api: ApiStores, public_id: UUID) -> TenantSummary:
    return await tenants.resume_tenant(public_id, tenants=api.tenant_operations, drop_cached_keys=nothing)


async def due(admin: Admin, channels: tuple[ChannelId, ...]) -> set[ChannelId]:
    """Those of the channels that are ever read."""
    rows = await admin.fetch(
        """
        SELECT channel_id FROM poll_schedule p JOIN channels c USING (channel_id)
        WHERE channel_id = ANY($1) AND p.next_poll_at < 'infinity' AND c.is_active
        """,
        list(channels),
    )
    return {row["channel_id"] for row in rows}


async def load_public_id(admin: Admin, tenant_id: int) -> UUID:
    public_id: UUID = await admin.fetchval("SELECT public_id FROM tenants WHERE tenant_id = $1", tenant_id)
    return public_id


async def test_a_tenant_is_created_once_and_under_a_readable_name(api: ApiStores) -> None:
    made = await make_tenant(api)
    assert (made.is_operator, made.channels, made.accounts, made.suspended_at) == (False, 0, 0, None)
    with pytest.raises(Conflicting, match="already"):
        await tenants.create_tenant(made.name, tenants=api.tenant_operations)
    for wrong in ("", " acme", "acme\n", "a" * 101):
        with pytest.raises(Rejected, match="printable characters"):
            await tenants.create_tenant(wrong, tenants=api.tenant_operations)


async def test_channels_that_only_a_suspended_tenant_follows_are_not_read_until_it_is_resumed(
    api: ApiStores, admin: Admin, world: World
) -> None:
    public_id = await load_public_id(admin, world.a)
    assert await due(admin, world.channels) == set(world.channels)
    suspended = await suspend(api, public_id)
    assert (suspended.suspended_reason, suspended.channels) == ("the bill", len(world.of_a))
    assert await due(admin, world.channels) == world.of_b
    assert await world.stores_a.feed.newest(limit=10) == ()
    assert {str(channel.suspended_reason) for channel in await world.stores_a.followed.channels()} == {
        "the tenant is suspended"
    }
    assert await world.stores_b.feed.newest(limit=10)
    assert (await resume(api, public_id)).suspended_at is None
    assert await due(admin, world.channels) == set(world.channels)
    assert len({stored.post.channel_id for stored in await world.stores_a.feed.newest(limit=1000)}) == len(
        world.of_a
    )


async def test_what_was_suspended_for_another_reason_stays_so(
    api: ApiStores, admin: Admin, world: World
) -> None:
    private, public_id = world.only_a[0], await load_public_id(admin, world.a)
    await admin.execute(
        "UPDATE subscriptions SET active = false, suspended_reason = 'unread' WHERE tenant_id = $1 "
        "AND channel_id = $2",
        world.a,
        private,
    )
    await suspend(api, public_id)
    await resume(api, public_id)
    assert [
        str(channel.suspended_reason)
        for channel in await world.stores_a.followed.channels()
        if not channel.active
    ] == ["unread"]


async def test_what_is_followed_for_a_suspended_tenant_waits_until_it_is_resumed(
    system: SystemStores, api: ApiStores, admin: Admin, pool: Pool
) -> None:
    made, channel_id = await make_tenant(api), await make_channel(system)
    await suspend(api, made.public_id)
    await system.channels.subscribe(made.tenant_id, Subscription(channel_id=channel_id))
    assert await due(admin, (channel_id,)) == set()
    await resume(api, made.public_id)
    assert await due(admin, (channel_id,)) == {channel_id}
    assert [channel.active for channel in await tenant_stores(pool, made.tenant_id).followed.channels()] == [
        True
    ]


async def test_accounts_of_a_suspended_tenant_rest_and_those_that_rested_before_go_on_resting(
    api: ApiStores, admin: Admin
) -> None:
    made = await make_tenant(api)
    for state in ("active", "paused"):
        await admin.execute(
            "INSERT INTO telegram_accounts (tenant_id, state, state_reason) VALUES ($1, $2, $2)",
            made.tenant_id,
            state,
        )
    states = "SELECT array_agg(state ORDER BY account_id) FROM telegram_accounts WHERE tenant_id = $1"
    await suspend(api, made.public_id)
    assert await admin.fetchval(states, made.tenant_id) == ["paused", "paused"]
    await resume(api, made.public_id)
    assert await admin.fetchval(states, made.tenant_id) == ["active", "paused"]


async def test_the_operators_own_tenant_cannot_be_suspended(api: ApiStores, admin: Admin) -> None:
    own = await admin.fetchval("SELECT public_id FROM tenants WHERE is_operator ORDER BY tenant_id LIMIT 1")
    with pytest.raises(Conflicting, match="own tenant"):
        await suspend(api, own)
    assert not await api.tenant_operations.suspend(own, why="by mistake")


async def test_quotas_and_budgets_are_set_and_shown(api: ApiStores) -> None:
    made, operations = await make_tenant(api), api.tenant_operations
    assert (made.media_bytes_limit, made.budget) == (None, None)
    assert (
        await tenants.set_media_quota(made.public_id, 5_000, tenants=operations)
    ).media_bytes_limit == 5_000
    assert (await tenants.set_media_quota(made.public_id, None, tenants=operations)).media_bytes_limit is None
    budget = (await tenants.set_budget(made.public_id, micro=5, tokens=7, tenants=operations)).budget
    assert budget is not None
    assert (budget.micro, budget.tokens, budget.used_micro) == (5, 7, 0)
    with pytest.raises(Rejected):
        await tenants.set_budget(made.public_id, micro=-1, tokens=None, tenants=operations)


async def test_who_is_no_tenant_is_missing_whatever_is_asked(api: ApiStores) -> None:
    operations, nobody = api.tenant_operations, uuid4()
    with pytest.raises(Missing):
        await suspend(api, nobody)
    with pytest.raises(Missing):
        await resume(api, nobody)
    with pytest.raises(Missing):
        await tenants.set_media_quota(nobody, 1, tenants=operations)
    with pytest.raises(Missing):
        await tenants.set_budget(nobody, micro=1, tokens=None, tenants=operations)


async def test_accounts_of_all_tenants_are_listed_with_the_greatest_risk_first(
    api: ApiStores, admin: Admin, pool: Pool
) -> None:
    calm, banned = await make_tenant(api), await make_tenant(api)
    await admin.execute(
        "INSERT INTO telegram_accounts (tenant_id, state) VALUES ($1, 'paused')", calm.tenant_id
    )
    await admin.execute(
        "INSERT INTO telegram_accounts (tenant_id, state) VALUES ($1, 'banned')", banned.tenant_id
    )

    async def list_accounts(min_risk: Risk) -> list[str]:
        accounts = await tenants.all_accounts(
            tenants=api.tenant_operations,
            stores_of=lambda tenant_id: tenant_stores(pool, tenant_id),
            now=datetime.now(UTC),
            min_risk=min_risk,
        )
        return [
            account.tenant.name for account in accounts if account.tenant.name in {calm.name, banned.name}
        ]

    assert await list_accounts(Risk.SAFE) == [banned.name, calm.name]
    assert await list_accounts(Risk.LOST) == [banned.name]


async def test_tenants_come_in_pages_by_name(api: ApiStores) -> None:
    made = sorted([(await make_tenant(api)).name for _ in range(3)])
    names: list[str] = []
    after: str | None = None
    while True:
        page = await tenants.list_tenants(tenants=api.tenant_operations, limit=2, after=after)
        names += [tenant.name for tenant in page.tenants]
        after = page.next
        if after is None:
            break
    assert [name for name in names if name in made] == made
    assert len(names) == len(set(names))
