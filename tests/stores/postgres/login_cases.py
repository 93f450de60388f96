"""Logins of a tenant's accounts, and what connects the installation to Telegram, method by method:
the rest of the cases in cases.py.
"""

from collections.abc import Awaitable, Callable
from uuid import UUID, uuid4

from telegram_assistant.domain.accounts.login import LoginWay
from telegram_assistant.domain.accounts.setup import TelegramSecret
from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.reasons import quote
from telegram_assistant.stores.postgres.stores import TenantStores
from testkit.factories import World
from tests.conftest import Admin

type Case = Callable[[TenantStores, World], Awaitable[set[ChannelId]]]


def _login_of(tenant_id: TenantId, channel_id: ChannelId) -> UUID:
    return UUID(int=(tenant_id << 64) | channel_id)


def _everybodys(world: World) -> list[tuple[ChannelId, UUID]]:
    return [
        (channel_id, _login_of(tenant_id, channel_id))
        for tenant_id in (world.a, world.b)
        for channel_id in world.channels
    ]


async def open_logins(admin: Admin, tenant_id: TenantId, own: set[ChannelId]) -> None:
    """A login for each channel of the tenant, with an open question."""
    for channel_id in own:
        await admin.execute(
            "INSERT INTO login_attempts (attempt_id, tenant_id, expires_at, question) "
            "VALUES ($1, $2, now() + interval '1 hour', 1)",
            _login_of(tenant_id, channel_id),
            tenant_id,
        )


async def _logins_get(stores: TenantStores, world: World) -> set[ChannelId]:
    newest = await stores.logins.get()
    assert newest is None or newest.attempt_id in {login for _, login in _everybodys(world)}
    return {channel_id for channel_id, login in _everybodys(world) if await stores.logins.get(login)}


async def _logins_answer(stores: TenantStores, world: World) -> set[ChannelId]:
    return {
        channel_id
        for channel_id, login in _everybodys(world)
        if await stores.logins.answer(login, 1, b"sealed")
    }


async def _logins_give_up(stores: TenantStores, world: World) -> set[ChannelId]:
    return {
        channel_id
        for channel_id, login in _everybodys(world)
        if await stores.logins.give_up(login, why=quote("given up"))
    }


async def _logins_begin(stores: TenantStores, world: World) -> set[ChannelId]:
    """A tenant with many open logins cannot begin one more, whatever others have."""
    own = await _logins_get(stores, world)
    begun = uuid4()
    assert await stores.logins.begin(begun, way=LoginWay.QR, door_key=b"key") is not bool(own)
    others = [
        tenant for tenant in (world.stores_a, world.stores_b, world.stores_nobody) if tenant is not stores
    ]
    assert [await other.logins.get(begun) for other in others] == [None, None]
    return own


async def _setup_get(stores: TenantStores, world: World) -> set[ChannelId]:
    """A tenant that is not the operator learns that something was entered, but not its content."""
    assert {entry.visible_part for entry in (await stores.telegram_setup.get()).entered.values()} <= {""}
    return await _logins_get(stores, world)


async def _setup_enter(stores: TenantStores, world: World) -> set[ChannelId]:
    assert not await stores.telegram_setup.enter(
        TelegramSecret.PROXY, display="evil", key_id="k", sealed_bytes=b"sealed", entered_by="thief"
    )
    return await _setup_get(stores, world)


async def _setup_forget(stores: TenantStores, world: World) -> set[ChannelId]:
    assert not await stores.telegram_setup.forget(TelegramSecret.PROXY)
    return await _setup_get(stores, world)


LOGIN_METHODS: dict[str, Case] = {
    "logins.get": _logins_get,
    "logins.answer": _logins_answer,
    "logins.give_up": _logins_give_up,
    "logins.begin": _logins_begin,
    "telegram_setup.get": _setup_get,
    "telegram_setup.enter": _setup_enter,
    "telegram_setup.forget": _setup_forget,
}
