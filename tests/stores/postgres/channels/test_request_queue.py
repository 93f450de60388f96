"""The order of requests: tenants and kinds take turns."""

import asyncio
from collections import Counter
from itertools import pairwise
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.domain.channels.channel_requests import RequestKind
from telegram_assistant.domain.ids import AccountId, TenantId
from telegram_assistant.stores.postgres.channels.channel_requests import NewRequest
from telegram_assistant.stores.postgres.channels.channels import NOT_KNOWN_YET, Subscription
from telegram_assistant.stores.postgres.channels.request_queue import ClaimedRequest
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.stores import SystemStores, tenant_stores
from testkit.factories import fresh_number, make_tenant
from tests.conftest import Admin

WANTED = Subscription(channel_id=NOT_KNOWN_YET)
EVERYTHING = tuple(RequestKind)


@pytest.fixture(autouse=True)
async def nobody_else_waits(admin: Admin) -> None:
    await clear(admin)


async def clear(admin: Admin) -> None:
    await admin.execute("DELETE FROM channel_requests")
    await admin.execute("UPDATE telegram_accounts SET state = 'paused' WHERE state = 'active'")


async def make_account(system: SystemStores, tenant_id: TenantId) -> AccountId:
    account_id = await system.accounts.add(tenant_id)
    await system.accounts.set_state(account_id, AccountState.ACTIVE)
    return account_id


async def operators_account(system: SystemStores) -> tuple[TenantId, AccountId]:
    tenant_id = (await system.tenants.ensure(f"operator {fresh_number()}", is_operator=True)).tenant_id
    return tenant_id, await make_account(system, tenant_id)


async def ask(
    pool: Pool, tenant_id: TenantId, count: int = 1, *, kind: RequestKind = RequestKind.USERNAME
) -> list[UUID]:
    names = [NewRequest(kind, f"name_{fresh_number()}", WANTED) for _ in range(count)]
    return [
        request_id
        for request_id in await tenant_stores(pool, tenant_id).requests.add(names)
        if request_id is not None
    ]


async def all_served(
    system: SystemStores, account_id: AccountId, kinds: tuple[RequestKind, ...] = EVERYTHING
) -> list[ClaimedRequest]:
    served = []
    while (taken := await system.request_queue.claim(account_id, kinds)) is not None:
        served.append(taken)
    return served


@settings(max_examples=40)
@given(counts=st.lists(st.integers(1, 6), min_size=1, max_size=4), later=st.integers(0, 8))
async def test_no_tenant_is_served_twice_while_another_waits(
    counts: list[int], later: int, admin: Admin, system: SystemStores, pool: Pool
) -> None:
    """However many names each asks for, and whenever somebody comes: from asking to being served,
    nobody else has two turns.
    """
    await clear(admin)
    operator, account_id = await operators_account(system)
    tenants = [operator, *[await make_tenant(system) for _ in counts]]
    for tenant_id, count in zip(tenants, [1, *counts], strict=True):
        await ask(pool, tenant_id, count)
    late, order = await make_tenant(system), list[TenantId | None]()
    while True:
        if len(order) == later:
            await ask(pool, late)
        taken = await system.request_queue.claim(account_id, EVERYTHING)
        if taken is None:
            break
        order.append(taken.tenant_id)
    assert len(order) == 1 + sum(counts) + (late in order)
    assert order[0] == operator  # where nobody was served before, the account's own tenant comes first
    began = {**dict.fromkeys(tenants, -1), late: later - 1}
    for tenant_id, first in began.items():
        turns = [first, *(place for place, served_tenant in enumerate(order) if served_tenant == tenant_id)]
        assert all(
            max(Counter(order[before + 1 : after]).values(), default=1) == 1
            for before, after in pairwise(turns)
        )


async def test_kinds_take_turns_and_one_that_has_to_wait_holds_back_no_other(
    system: SystemStores, pool: Pool
) -> None:
    tenant_id = await make_tenant(system)
    account_id = await make_account(system, tenant_id)
    await ask(pool, tenant_id, 20)
    folders = await ask(pool, tenant_id, kind=RequestKind.FOLDER) + await ask(
        pool, tenant_id, kind=RequestKind.LIST
    )
    first = [await system.request_queue.claim(account_id, EVERYTHING) for _ in range(3)]
    assert {request.kind for request in first if request} == {
        RequestKind.USERNAME,
        RequestKind.FOLDER,
        RequestKind.LIST,
    }
    for request_id in folders:
        await system.request_queue.give_back(request_id)
    without_names = [kind for kind in RequestKind if kind is not RequestKind.USERNAME]
    assert {
        request.request_id for request in await all_served(system, account_id, tuple(without_names))
    } == set(folders)


async def test_who_could_not_be_served_keeps_the_turn(system: SystemStores, pool: Pool) -> None:
    """Else a tenant whose turn comes just when the budget is used up would never be served."""
    _, account_id = await operators_account(system)
    greedy, modest = await make_tenant(system), await make_tenant(system)
    await ask(pool, greedy, 10)
    await ask(pool, modest)
    served: list[TenantId | None] = []
    for _ in range(3):
        taken = await system.request_queue.claim(account_id, EVERYTHING)
        assert taken is not None
        served.append(taken.tenant_id)
        refused = await system.request_queue.claim(account_id, EVERYTHING)
        assert refused is not None
        await system.request_queue.give_back(refused.request_id)
    assert served[:2] == [greedy, modest]


async def test_an_account_serves_its_own_tenant_and_an_operators_also_names_of_those_without_one(
    system: SystemStores, pool: Pool
) -> None:
    _, operators = await operators_account(system)
    without, owner = await make_tenant(system), await make_tenant(system)
    own = await make_account(system, owner)
    (name,), (invite,) = await ask(pool, without), await ask(pool, without, kind=RequestKind.INVITE)
    (of_owner,) = await ask(pool, owner)
    assert [request.request_id for request in await all_served(system, operators)] == [name]
    assert [request.request_id for request in await all_served(system, own)] == [of_owner]
    assert await system.request_queue.claim_public() is None
    (still_open,) = await tenant_stores(pool, without).requests.some([invite])
    assert still_open.position == 1


async def test_names_that_no_account_can_look_up_are_for_previews(system: SystemStores, pool: Pool) -> None:
    tenant_id = await make_tenant(system)
    (name,), _ = await ask(pool, tenant_id), await ask(pool, tenant_id, kind=RequestKind.INVITE)
    taken = await system.request_queue.claim_public()
    assert taken is not None
    assert taken.request_id == name
    assert await system.request_queue.claim_public() is None


async def test_two_accounts_never_serve_the_same_request(system: SystemStores, pool: Pool) -> None:
    tenant_id = await make_tenant(system)
    accounts = [await make_account(system, tenant_id) for _ in range(4)]
    await ask(pool, tenant_id, 40)

    async def work(account_id: AccountId) -> list[UUID]:
        request_ids = []
        for _ in range(40):
            taken = await system.request_queue.claim(account_id, EVERYTHING)
            request_ids += [taken.request_id] if taken else []
        return request_ids

    served = [
        request_id for request_ids in await asyncio.gather(*map(work, accounts)) for request_id in request_ids
    ]
    assert len(served) == len(set(served)) == 40
