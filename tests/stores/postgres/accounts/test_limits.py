"""Floods and budgets between processes."""

import pytest

from telegram_assistant.domain.accounts.budget import SavedMeter
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import make_tenant
from tests.conftest import Admin

RESOLVE = "contacts.resolveUsername"


@pytest.fixture
async def account_id(system: SystemStores) -> AccountId:
    return await system.accounts.add(await make_tenant(system))


async def pass_time(admin: Admin, seconds: float) -> None:
    await admin.execute(
        """
        UPDATE account_limits SET blocked_until = blocked_until - make_interval(secs => $1),
            tokens_at = tokens_at - make_interval(secs => $1), paced_at = paced_at - make_interval(secs => $1)
        """,
        seconds,
    )


async def test_what_is_kept_comes_back_with_its_age_by_the_databases_clock(
    system: SystemStores, admin: Admin, account_id: AccountId
) -> None:
    await system.limits.keep(
        account_id, RESOLVE, SavedMeter(blocked_seconds=100.0, tokens=(1.5, 2.0, 80.0), pace=0.7)
    )
    await pass_time(admin, 30)
    limit = (await system.limits.load_meters(account_id))[RESOLVE]
    assert (limit.tokens, limit.pace) == ((1.5, 2.0, 80.0), 0.7)
    assert (limit.blocked_seconds, limit.tokens_age_seconds, limit.pace_age_seconds) == pytest.approx(
        (70, 30, 30), abs=5
    )
    await pass_time(admin, 100)
    assert (await system.limits.load_meters(account_id))[RESOLVE].blocked_seconds == 0


async def test_only_what_must_still_be_left_alone_is_shown(
    system: SystemStores, admin: Admin, account_id: AccountId
) -> None:
    await admin.execute("DELETE FROM account_limits")
    await system.limits.keep(account_id, RESOLVE, SavedMeter(blocked_seconds=100))
    await system.limits.keep(account_id, "messages.getHistory", SavedMeter(pace=0.7))
    assert [(block.account_id, block.method) for block in await system.limits.blocks()] == [
        (account_id, RESOLVE)
    ]
    await pass_time(admin, 101)
    assert await system.limits.blocks() == ()
