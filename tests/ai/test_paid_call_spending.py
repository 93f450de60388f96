"""A budget is never overspent: by a hundred at once, by several processes, by processes that are killed."""

import asyncio
import os
import random
import signal
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telegram_assistant.ai.gate import Gate
from telegram_assistant.ai.questions import TAGS_TOKENS
from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.understanding.policy import ModelTask, Tier, Urgency
from telegram_assistant.domain.understanding.spending import (
    Amount,
    Balance,
    CallOutcome,
    Price,
    ProviderCall,
    Tokens,
    equal_shares,
    split_amount,
    split_within_balances,
)
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.provider_server import FakeServer
from tests.ai.conftest import ask_tags, make_paid_channel, make_payer
from tests.conftest import Admin

A_CALL = TAGS_TOKENS
"""The cost of a call with an answer of full length, at one micro-unit for a token."""
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
LIFETIME = timedelta(minutes=10)


@given(st.integers(0, 10**15), st.integers(1, 500))
def test_shares_add_up_exactly_and_differ_by_at_most_one(total: int, payers: int) -> None:
    parts = equal_shares(total, payers)
    assert sum(parts) == total
    assert max(parts) - min(parts) <= 1


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 20))
def test_nobodys_real_share_is_above_what_was_reserved(highest: int, real: int, payers: int) -> None:
    tenants = [TenantId(number) for number in range(payers)]
    reserved, owed = (
        split_amount(Amount(highest, highest), tenants),
        split_amount(Amount(min(highest, real), 0), tenants),
    )
    assert all(owed[tenant].micro <= reserved[tenant].micro for tenant in tenants)


@given(st.integers(0, 10**6), st.dictionaries(st.integers(1, 50), st.integers(0, 10**6), max_size=8))
def test_who_pays_can_pay_and_the_shares_are_the_price(price: int, money: dict[int, int]) -> None:
    balances = {TenantId(tenant): Balance(micro, None) for tenant, micro in money.items()}
    owed = split_within_balances(Amount(price, 7), balances)
    assert all(balances[tenant].covers(amount) for tenant, amount in owed.items())
    assert not owed or (
        sum(share.micro for share in owed.values()),
        sum(share.tokens for share in owed.values()),
    ) == (price, 7)
    assert owed or all(balance.micro < price for balance in balances.values()), (
        "one who could pay all alone must not be turned away"
    )


def test_a_price_is_rounded_up() -> None:
    assert Price(sent_micro=1, received_micro=0).cost_of(Tokens(1, 1000)) == 1
    assert Price(sent_micro=1_500_000, received_micro=2_000_000).cost_of(Tokens(3, 5)) == 15


async def test_a_hundred_at_once_make_exactly_as_many_calls_as_the_budget_pays(
    gate: Gate, app: App, server: FakeServer
) -> None:
    channel_id, tenant_id = await make_paid_channel(app.system, micro=37 * A_CALL + A_CALL // 2)
    server.usage = (5, A_CALL)
    results = await asyncio.gather(
        *(
            ask_tags(gate, f"post {uuid4()}", channel_id=channel_id, urgency=Urgency.BACKFILL)
            for _ in range(100)
        )
    )
    assert server.calls == 37
    assert sum(result.tier is Tier.PROVIDER for result in results) == 37
    assert sum(result.cost_micro for result in results) == 37 * A_CALL
    budget = next(budget for budget in await app.system.spending.budgets() if budget.tenant_id == tenant_id)
    assert budget.used_micro == 37 * A_CALL
    assert (
        sum(line.micro for line in await app.system.spending.usage(EPOCH, tenant_id=tenant_id)) == 37 * A_CALL
    )
    assert server.max_at_once <= 10


@pytest.mark.serial
async def test_processes_that_are_killed_never_make_more_calls_than_the_budget_pays(
    app: App, server: FakeServer, database: dict[str, str], prices: Path, admin: Admin
) -> None:
    affordable = 60
    channel_id, tenant_id = await make_paid_channel(app.system, micro=affordable * A_CALL)
    server.usage, server.seconds = (5, A_CALL), 0.02
    environ = {**os.environ, **database, **server.gigachat(AI_PRICES_FILE=str(prices), GIGACHAT_STREAMS="10")}
    chance = random.Random(7)

    async def spender(calls: int) -> asyncio.subprocess.Process:
        command = (sys.executable, "-m", "tests.ai.spender", str(channel_id), str(calls), "10")
        return await asyncio.create_subprocess_exec(
            *command, env=environ, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
        )

    # Ten at once each: what a killed process had reserved is lost to the budget, so two of them leave enough
    # for the others.
    doomed = [await spender(100) for _ in range(2)]
    async with asyncio.timeout(60):
        for number, process in enumerate(doomed):
            while server.calls < 5 * (number + 1) + chance.randrange(3):
                await asyncio.sleep(0.01)
            os.kill(process.pid, signal.SIGKILL)
            await process.wait()
    held = await admin.fetchval("SELECT count(*) FROM budget_reservations WHERE tenant_id = $1", tenant_id)
    await app.redis.delete("ai:{gigachat}:held")  # what would come back by itself after fifteen seconds
    survivor = await spender(100)
    assert await asyncio.wait_for(survivor.wait(), 120) == 0
    assert affordable - held <= server.calls <= affordable
    await admin.execute(
        "UPDATE budget_reservations SET expires_at = now() - interval '1 s' WHERE tenant_id = $1", tenant_id
    )
    assert await app.system.spending.expire() >= held
    assert (
        sum(line.micro for line in await app.system.spending.usage(EPOCH, tenant_id=tenant_id))
        == affordable * A_CALL
    )


def make_call() -> ProviderCall:
    return ProviderCall(uuid4(), ModelTask.CHAT, "tagging", "gigachat", "GigaChat-2")


async def load_usage(system: SystemStores, tenant_id: TenantId) -> tuple[int, int]:
    budget = next(budget for budget in await system.spending.budgets() if budget.tenant_id == tenant_id)
    return budget.used_micro, budget.used_tokens


async def test_what_is_settled_twice_or_after_it_was_given_back_counts_once(system: SystemStores) -> None:
    tenant_id = await make_payer(system, micro=1000, tokens=1000)
    call = make_call()
    assert await system.spending.reserve(call, Amount(100, 50), [tenant_id], lifetime=LIFETIME)
    assert await load_usage(system, tenant_id) == (100, 50)
    for _ in range(2):
        await system.spending.settle(call, CallOutcome("ok", Amount(30, 20), Tokens(15, 5), 12))
    await system.spending.release(call.call_id)
    assert await load_usage(system, tenant_id) == (30, 20)
    assert [
        (line.calls, line.micro, line.tokens)
        for line in await system.spending.usage(EPOCH, tenant_id=tenant_id)
    ] == [(1, 30, 20)]


async def test_a_new_month_begins_with_the_whole_budget_and_old_calls_do_not_lighten_it(
    system: SystemStores, admin: Admin
) -> None:
    tenant_id = await make_payer(system, micro=100)
    old = make_call()
    await system.spending.reserve(old, Amount(100, 1), [tenant_id], lifetime=LIFETIME)
    assert not await system.spending.reserve(make_call(), Amount(1, 1), [tenant_id], lifetime=LIFETIME)
    for table in ("budgets", "budget_reservations"):
        await admin.execute(
            f"UPDATE {table} SET month = month - interval '1 month' WHERE tenant_id = $1", tenant_id
        )
    assert await load_usage(system, tenant_id) == (0, 0)
    assert await system.spending.reserve(make_call(), Amount(60, 1), [tenant_id], lifetime=LIFETIME)
    await system.spending.settle(old, CallOutcome("ok", Amount(10, 1), Tokens(1), 1))
    assert await load_usage(system, tenant_id) == (60, 1)


async def test_who_has_no_budget_may_have_what_costs_nothing(system: SystemStores, admin: Admin) -> None:
    tenant_id = await make_payer(system)
    await admin.execute("DELETE FROM budgets WHERE tenant_id = $1", tenant_id)
    assert await system.spending.reserve(make_call(), Amount(0, 500), [tenant_id], lifetime=LIFETIME)
    assert not await system.spending.reserve(make_call(), Amount(1, 500), [tenant_id], lifetime=LIFETIME)


async def test_who_cannot_pay_its_share_leaves_it_to_the_others(system: SystemStores) -> None:
    poor, rich = await make_payer(system, micro=10), await make_payer(system, micro=100)
    assert await system.spending.reserve(make_call(), Amount(60, 3), [poor, rich], lifetime=LIFETIME) == {
        rich: Amount(60, 3)
    }
    assert await load_usage(system, poor) == (0, 0)
