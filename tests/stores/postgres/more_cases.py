"""Isolation cases, method by method, of the work done for a tenant: the rest of the cases in cases.py."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from uuid import UUID

from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.domain.channels.channel_requests import RequestKind, RequestState
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.reasons import quote
from telegram_assistant.stores.postgres.channels.channel_requests import NewRequest
from telegram_assistant.stores.postgres.channels.channels import NOT_KNOWN_YET, Subscription
from telegram_assistant.stores.postgres.posts.replays import ResultVersion
from telegram_assistant.stores.postgres.stores import TenantStores
from testkit.factories import World
from tests.conftest import Admin
from tests.stores.postgres.catalogue import insert_row

type Case = Callable[[TenantStores, World], Awaitable[set[ChannelId]]]


async def _followed_channels(stores: TenantStores, _world: World) -> set[ChannelId]:
    return {channel.channel_id for channel in await stores.followed.channels()}


async def _load_post_details(stores: TenantStores, world: World) -> set[ChannelId]:
    details = [
        await stores.post_details.load_detail(PostId(channel_id, MessageId(1)))
        for channel_id in world.channels
    ]
    return {detail.stored.post.channel_id for detail in details if detail}


async def _post_details_versions(stores: TenantStores, world: World) -> set[ChannelId]:
    return {
        channel_id
        for channel_id in world.channels
        if await stores.post_details.versions(PostId(channel_id, MessageId(1)))
    }


async def _load_all_enrichments(stores: TenantStores, world: World) -> set[ChannelId]:
    return {
        channel_id
        for channel_id in world.channels
        if await stores.enrichments.load_every_kind(PostId(channel_id, MessageId(1)))
    }


async def _coverage_overview_channels(stores: TenantStores, world: World) -> set[ChannelId]:
    everything = {channel.channel_id for channel in await stores.coverage_overview.channels()}
    assert everything == {
        channel.channel_id for channel in await stores.coverage_overview.channels(world.channels)
    }
    return everything


async def _coverage_overview_last_checked_at(stores: TenantStores, _world: World) -> set[ChannelId]:
    channels = await stores.coverage_overview.channels()
    checked = [channel.last_polled_at for channel in channels if channel.last_polled_at]
    assert await stores.coverage_overview.last_checked_at() == max(checked, default=None)
    return {channel.channel_id for channel in channels}


async def _followed_named(stores: TenantStores, world: World) -> set[ChannelId]:
    channels = await stores.followed.find_by_usernames(
        [f"Name_{channel_id}" for channel_id in world.channels]
    )
    assert all(name == f"name_{channel.channel_id}" for name, channel in channels.items())
    return {channel.channel_id for channel in channels.values()}


async def _followed_poll(stores: TenantStores, world: World) -> set[ChannelId]:
    return {
        channel_id
        for channel_id in world.channels
        if await stores.followed.poll(channel_id, mode=None, first=True)
    }


async def _requests_page(stores: TenantStores, _world: World) -> set[ChannelId]:
    return {
        ChannelId(int(request.reference))
        for request in await stores.requests.page(RequestState.OPEN, limit=1000)
    }


async def _requests_some(stores: TenantStores, world: World) -> set[ChannelId]:
    everybodys = [
        request.request_id
        for other in (world.stores_a, world.stores_b)
        for request in await other.requests.page(None, limit=1000)
    ]
    return {ChannelId(int(request.reference)) for request in await stores.requests.some(everybodys)}


async def _requests_waiting(stores: TenantStores, world: World) -> set[ChannelId]:
    channel_ids = await _requests_page(stores, world)
    assert await stores.requests.waiting() == ({RequestKind.INVITE: len(channel_ids)} if channel_ids else {})
    return channel_ids


async def _requests_add(stores: TenantStores, world: World) -> set[ChannelId]:
    """A repeated request joins the tenant's own open request, never another tenant's."""
    for request in await stores.requests.page(RequestState.OPEN, limit=1000):
        wanted = NewRequest(request.kind, request.reference, Subscription(channel_id=NOT_KNOWN_YET))
        assert await stores.requests.add([wanted]) == (request.request_id,)
    return await _requests_page(stores, world)


async def _requests_capacity(stores: TenantStores, world: World) -> set[ChannelId]:
    """The capacity has all accounts of the tenant, and none of another tenant that is not the operator."""
    capacity = await stores.requests.capacity()
    own = await stores.accounts.all()
    assert [account.is_own for account in capacity.accounts if account.is_own] == [True] * len(own)
    return await _followed_channels(stores, world)


async def _parked_all(stores: TenantStores, _world: World) -> set[ChannelId]:
    return {channel.channel_id for channel in await stores.parked.all()}


async def _parked_release(stores: TenantStores, world: World) -> set[ChannelId]:
    released = {channel_id for channel_id in world.channels if await stores.parked.release(channel_id)}
    assert not released.intersection(await _parked_all(stores, world))
    return released


async def _followed_change(stores: TenantStores, world: World) -> set[ChannelId]:
    return {
        channel
        for channel in world.channels
        if await stores.followed.change(Subscription(channel_id=channel, folder="test"))
    }


async def _followed_leave(stores: TenantStores, world: World) -> set[ChannelId]:
    left = {channel for channel in world.channels if await stores.followed.leave(channel)}
    assert await _followed_channels(stores, world) == set()
    return left


async def _tag_use_vocabulary(stores: TenantStores, world: World) -> set[ChannelId]:
    """The vocabulary is everybody's, and says nothing about channels."""
    await stores.tag_use.vocabulary()
    return await _followed_channels(stores, world)


async def _tag_use_most_used(stores: TenantStores, _world: World) -> set[ChannelId]:
    used = await stores.tag_use.most_used(
        datetime(2026, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC), limit=1000
    )
    assert all((tag_count.posts, tag_count.channels) == (1, 1) for tag_count in used)
    return {ChannelId(int(tag_count.tag)) for tag_count in used}


async def _tag_use_places(stores: TenantStores, world: World) -> set[ChannelId]:
    tags = [str(channel_id) for channel_id in world.channels]
    return {
        place.channel_id
        for place in await stores.tag_use.places(tags, since=datetime(2026, 1, 1, tzinfo=UTC), limit=1000)
    }


async def _accounts_all(stores: TenantStores, _world: World) -> set[ChannelId]:
    """Each account's phone and only limit is the number of a channel that its tenant follows."""
    own = await stores.accounts.all()
    assert all([limit.method for limit in account.limits] == [account.phone_masked] for account in own)
    return {ChannelId(int(account.phone_masked or 0)) for account in own}


async def _accounts_pause(stores: TenantStores, world: World) -> set[ChannelId]:
    return await _load_channels(
        stores,
        [
            account
            for account in await _all_accounts(world)
            if await stores.accounts.pause(account, why=quote("test"))
        ],
    )


async def _accounts_resume(stores: TenantStores, world: World) -> set[ChannelId]:
    return await _load_channels(
        stores, [account for account in await _all_accounts(world) if await stores.accounts.resume(account)]
    )


async def _accounts_log_out(stores: TenantStores, world: World) -> set[ChannelId]:
    return await _load_channels(
        stores,
        [
            account
            for account in await _all_accounts(world)
            if await stores.accounts.log_out(account, reason=quote("test"))
        ],
    )


async def _accounts_reset(stores: TenantStores, world: World) -> set[ChannelId]:
    for account in await stores.accounts.all():
        await stores.accounts.pause(account.public_id, why=quote("test"))
    changed = await _load_channels(
        stores, [account for account in await _all_accounts(world) if await stores.accounts.reset(account)]
    )
    assert {account.state for account in await stores.accounts.all()} <= {AccountState.NEW}
    return changed


async def _history_outdated(stores: TenantStores, _world: World) -> set[ChannelId]:
    version = ResultVersion("another model", "another prompt", "tagging")
    return {
        outdated.channel_id
        for outdated in await stores.history.list_outdated(version, since=datetime(2020, 1, 1, tzinfo=UTC))
    }


async def _history_want(stores: TenantStores, world: World) -> set[ChannelId]:
    """It counts the posts that it was asked for, however often."""
    own, since = await _history_outdated(stores, world), datetime(2020, 1, 1, tzinfo=UTC)
    version = ResultVersion("another model", "another prompt", "tagging")
    first, again = [await stores.history.want(version, since=since, is_paid=True) for _ in range(2)]
    assert first == again
    assert (first[0] > 0) is bool(own)
    return own


async def _history_answered(stores: TenantStores, world: World) -> set[ChannelId]:
    """Only those who chose a provider see its answers, and nobody here has."""
    assert await stores.history.count_answered(datetime(2020, 1, 1, tzinfo=UTC)) == 0
    return await _history_outdated(stores, world)


async def _all_accounts(world: World) -> list[UUID]:
    return [
        account.public_id
        for stores in (world.stores_a, world.stores_b)
        for account in await stores.accounts.all()
    ]


async def _load_channels(stores: TenantStores, accounts: list[UUID]) -> set[ChannelId]:
    return {
        ChannelId(int(account.phone_masked or 0))
        for account in await stores.accounts.all()
        if account.public_id in accounts
    }


async def _ai_stance(stores: TenantStores, _world: World) -> set[ChannelId]:
    """The consent names the channels of the tenant that gave it."""
    consent = (await stores.ai.stance()).consent
    return set() if consent is None else {ChannelId(int(number)) for number in consent.given_by.split()}


async def _ai_policies(stores: TenantStores, _world: World) -> set[ChannelId]:
    return {policy.channel_id for policy in await stores.ai.policies()}


async def _ai_choose(stores: TenantStores, world: World) -> set[ChannelId]:
    return {choice.channel_id for choice in await stores.ai.choose(world.channels, AiPolicy.OFF)}


async def _ai_sendable(stores: TenantStores, world: World) -> set[ChannelId]:
    """Only of public channels that the tenant itself wants to be sent."""
    consented = await _ai_stance(stores, world)
    if consented:
        await stores.ai.choose(world.channels, AiPolicy.PROVIDER)
    return {
        post_id.channel_id
        for post_id in await stores.ai.sendable(
            [PostId(channel_id, MessageId(1)) for channel_id in world.channels]
        )
    }


async def _ai_choose_default(stores: TenantStores, world: World) -> set[ChannelId]:
    others = [
        tenant for tenant in (world.stores_a, world.stores_b, world.stores_nobody) if tenant is not stores
    ]
    before = [await other.ai.stance() for other in others]
    await stores.ai.choose_default(AiPolicy.OFF)
    assert [await other.ai.stance() for other in others] == before
    return await _ai_stance(stores, world)


async def _ai_consent(stores: TenantStores, world: World) -> set[ChannelId]:
    """A second word changes nothing."""
    if await _ai_stance(stores, world):
        await stores.ai.consent(given_by="0")
    return await _ai_stance(stores, world)


async def _ai_withdraw(stores: TenantStores, world: World) -> set[ChannelId]:
    before = await _ai_stance(stores, world)
    assert await stores.ai.withdraw() == bool(before)
    assert await _ai_stance(stores, world) == set()
    return before


async def _spending_budget(stores: TenantStores, world: World) -> set[ChannelId]:
    """Each tenant's budget is its own number."""
    budget = await stores.spending.budget()
    return (
        await _followed_channels(stores, world)
        if budget is not None and budget.micro == budget.tenant_id
        else set()
    )


async def _spending_usage(stores: TenantStores, _world: World) -> set[ChannelId]:
    return {
        ChannelId(int(line.model)) for line in await stores.spending.usage(datetime(2026, 1, 1, tzinfo=UTC))
    }


MORE_METHODS: dict[str, Case] = {
    "followed.change": _followed_change,
    "followed.leave": _followed_leave,
    "post_details.load_detail": _load_post_details,
    "post_details.versions": _post_details_versions,
    "enrichments.load_every_kind": _load_all_enrichments,
    "coverage_overview.channels": _coverage_overview_channels,
    "coverage_overview.last_checked_at": _coverage_overview_last_checked_at,
    "followed.find_by_usernames": _followed_named,
    "followed.poll": _followed_poll,
    "requests.page": _requests_page,
    "requests.some": _requests_some,
    "requests.waiting": _requests_waiting,
    "requests.add": _requests_add,
    "requests.capacity": _requests_capacity,
    "parked.all": _parked_all,
    "parked.release": _parked_release,
    "tag_use.vocabulary": _tag_use_vocabulary,
    "tag_use.most_used": _tag_use_most_used,
    "tag_use.places": _tag_use_places,
    "accounts.all": _accounts_all,
    "accounts.pause": _accounts_pause,
    "accounts.resume": _accounts_resume,
    "accounts.log_out": _accounts_log_out,
    "accounts.reset": _accounts_reset,
    "ai.stance": _ai_stance,
    "ai.policies": _ai_policies,
    "ai.choose": _ai_choose,
    "ai.sendable": _ai_sendable,
    "ai.choose_default": _ai_choose_default,
    "ai.consent": _ai_consent,
    "ai.withdraw": _ai_withdraw,
    "spending.budget": _spending_budget,
    "spending.usage": _spending_usage,
    "history.list_outdated": _history_outdated,
    "history.want": _history_want,
    "history.count_answered": _history_answered,
}


async def park(admin: Admin, world: World) -> None:
    """Parks all channels. A tenant releases shared channels too, so the test parks them for each one."""
    await admin.execute(
        "UPDATE channels SET parked_until = now(), parked_reason = 'it fails' WHERE channel_id = ANY($1)",
        list(world.channels),
    )


async def settle_in(admin: Admin, tenant_id: TenantId, own: set[ChannelId]) -> None:
    """Accounts, a consent, a budget and a bill, which all name the tenant's channels."""
    await admin.execute(
        """
        WITH made AS (INSERT INTO telegram_accounts (tenant_id, phone_masked, state, key_id, session)
            SELECT $1, c::text, 'active', 'k', '' FROM unnest($2::bigint[]) c
                      RETURNING account_id, phone_masked)
        INSERT INTO account_limits (account_id, method) SELECT account_id, phone_masked FROM made
        """,
        tenant_id,
        list(own),
    )
    await admin.execute(
        "INSERT INTO channel_requests (tenant_id, kind, reference) SELECT $1, 'invite', c::text "
        "FROM unnest($2::bigint[]) c",
        tenant_id,
        list(own),
    )
    await admin.execute(
        "UPDATE channels SET username = 'Name_' || channel_id WHERE channel_id = ANY($1)", list(own)
    )
    await admin.execute("INSERT INTO ai_consents VALUES ($1, $2)", tenant_id, " ".join(map(str, own)))
    await admin.execute(
        "INSERT INTO budgets (tenant_id, money_micro, month) VALUES ($1, $1, now())", tenant_id
    )
    for channel_id in own:
        await insert_row(admin, "usage", tenant_id=tenant_id, model=str(channel_id))
