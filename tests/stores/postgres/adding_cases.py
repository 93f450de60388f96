"""Methods of the stores behind adding channels, as one tenant uses them."""

from collections.abc import Awaitable, Callable
from uuid import uuid4

from telegram_assistant.domain.channels.channel_requests import RequestFate, RequestKind, RequestState
from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.reasons import quote
from telegram_assistant.stores.postgres.channels.channels import NOT_KNOWN_YET, Subscription
from telegram_assistant.stores.postgres.channels.request_fates import AnsweredLine
from telegram_assistant.stores.postgres.stores import TenantStores
from testkit.factories import World
from tests.conftest import Admin

type Case = Callable[[TenantStores, World], Awaitable[set[ChannelId]]]

OPTIONS = Subscription(channel_id=NOT_KNOWN_YET)


async def _channels_in(stores: TenantStores, state: RequestState) -> set[ChannelId]:
    return {ChannelId(int(request.reference)) for request in await stores.requests.page(state, limit=1000)}


async def _counts(stores: TenantStores, _world: World) -> set[ChannelId]:
    waiting, failed = (
        await _channels_in(stores, RequestState.OPEN),
        await _channels_in(stores, RequestState.FAILED),
    )
    counts = await stores.request_fates.counts()
    assert (counts[RequestFate.WAITING], counts[RequestFate.FAILED]) == (len(waiting), len(failed))
    return waiting


async def _keep(stores: TenantStores, world: World) -> set[ChannelId]:
    """Each tenant keeps unreadable lines for itself alone."""
    own = [channel.channel_id for channel in await stores.followed.channels()]
    if own:
        await stores.request_fates.keep(
            [
                AnsweredLine(RequestKind.UNREADABLE, str(channel_id), quote("no channel"), OPTIONS)
                for channel_id in own
            ]
        )
    assert all(
        request.kind is not RequestKind.UNREADABLE
        for request in await world.stores_nobody.requests.page(None, limit=1000)
    )
    return {
        ChannelId(int(request.reference))
        for request in await stores.requests.page(None, limit=1000)
        if request.kind is RequestKind.UNREADABLE
    }


async def _change_followed(stores: TenantStores, world: World) -> set[ChannelId]:
    folder = f"folder {uuid4()}"
    await stores.request_fates.change_followed(dict.fromkeys(world.channels, folder), OPTIONS)
    return {channel.channel_id for channel in await stores.followed.channels() if channel.folder == folder}


async def _try_again(stores: TenantStores, world: World) -> set[ChannelId]:
    """Everybody's failed requests are tried again one by one, then all: only the tenant's own become open."""
    for other in (world.stores_a, world.stores_b):
        for request in await other.requests.page(RequestState.FAILED, limit=1000):
            await stores.request_fates.try_again(request.request_id)
    await stores.request_fates.try_again()
    assert not await _channels_in(stores, RequestState.FAILED)
    return await _channels_in(stores, RequestState.OPEN)


async def _open_like(stores: TenantStores, world: World) -> set[ChannelId]:
    everybodys = [
        request
        for other in (world.stores_a, world.stores_b)
        for request in await other.requests.page(RequestState.OPEN, limit=1000)
    ]
    open_ids = {await stores.requests.open_like(everybody) for everybody in everybodys}
    return {
        ChannelId(int(everybody.reference)) for everybody in everybodys if everybody.request_id in open_ids
    }


async def _joined_all(stores: TenantStores, world: World) -> set[ChannelId]:
    joined = await stores.joined.all()
    assert await stores.joined.all(world.channels) == joined
    return {channel.channel_id for channel in joined}


async def _joined_accounts(stores: TenantStores, _world: World) -> set[ChannelId]:
    return {ChannelId(int(account.phone_masked or 0)) for account in await stores.joined.accounts()}


ADDING_METHODS: dict[str, Case] = {
    "request_fates.counts": _counts,
    "request_fates.keep": _keep,
    "request_fates.change_followed": _change_followed,
    "request_fates.try_again": _try_again,
    "requests.open_like": _open_like,
    "joined.all": _joined_all,
    "joined.accounts": _joined_accounts,
}


async def join_channels(admin: Admin, tenant_id: TenantId, own: set[ChannelId]) -> None:
    """Failed requests for, and lists of, the tenant's channels. Its accounts are named after them."""
    await admin.execute(
        "INSERT INTO channel_requests (tenant_id, kind, reference, state) SELECT $1, 'list', c::text, "
        "'failed' FROM unnest($2::bigint[]) c",
        tenant_id,
        list(own),
    )
    await admin.execute(
        """
        INSERT INTO joined_channels (tenant_id, channel_id, account_id, title, is_private, protected,
            access_hash, request_id, listed_at)
        SELECT $1, a.phone_masked::bigint, a.account_id, 'joined', false, false, 1, gen_random_uuid(), now()
        FROM telegram_accounts a WHERE a.tenant_id = $1 AND a.phone_masked = ANY($2)
        """,
        tenant_id,
        [str(channel_id) for channel_id in own],
    )
