"""PostgreSQL behind a pooler: what `tga doctor` says, and that transactions of many clients share few
connections.
"""

import asyncio
from collections.abc import Iterator

import asyncpg
import pytest

from telegram_assistant.domain.operations.diagnosis import Severity
from telegram_assistant.settings import DatabaseLogin, read_settings
from telegram_assistant.stores.postgres.database import SystemTransactions, TenantTransactions, open_pool
from telegram_assistant.stores.postgres.operations.diagnostics import examine
from telegram_assistant.stores.postgres.operations.pooling import NOTIFICATIONS, POOLER
from telegram_assistant.stores.postgres.pipeline.wakeup import open_wakeup
from testkit.factories import World
from testkit.pooler import direct_environ, find_pgbouncer, pooled_environ, pooler

NOWHERE = "postgresql://tga:tga@127.0.0.1:1/tga"


@pytest.fixture(scope="module")
def pooled(database: dict[str, str]) -> Iterator[dict[str, str]]:
    """The same database through PgBouncer with two connections per login."""
    if find_pgbouncer() is None:
        pytest.skip("there is no PgBouncer: scripts/pooler fetches it")
    with pooler(database, size=2) as port:
        yield pooled_environ(database, port)


async def findings_of(environ: dict[str, str]) -> dict[str, tuple[Severity, str]]:
    """The findings about the pooler and about notifications, by subject."""
    findings = await examine(read_settings(environ).database)
    return {
        finding.subject: (finding.verdict, f"{finding.what} {finding.remedy}")
        for finding in findings
        if finding.subject in {NOTIFICATIONS, POOLER}
    }


async def test_without_a_pooler_there_is_nothing_to_say(database: dict[str, str]) -> None:
    assert await findings_of(direct_environ(database)) == {}


async def test_a_direct_address_that_does_not_answer_is_red(database: dict[str, str]) -> None:
    findings = await findings_of({**database, "DATABASE_DIRECT_URL": NOWHERE})
    assert findings[NOTIFICATIONS][0] is Severity.BAD
    assert "DATABASE_DIRECT_URL" in findings[NOTIFICATIONS][1]


async def test_a_direct_address_of_another_database_is_red(
    environ: dict[str, str], database: dict[str, str]
) -> None:
    findings = await findings_of({**database, "DATABASE_DIRECT_URL": environ["DATABASE_URL"]})
    assert findings[NOTIFICATIONS][0] is Severity.BAD


@pytest.mark.turns("DATABASE_DIRECT_URL")
async def test_notifications_take_the_direct_address(database: dict[str, str]) -> None:
    direct = {**database, "DATABASE_URL": NOWHERE, "DATABASE_DIRECT_URL": database["DATABASE_URL"]}
    async with open_wakeup(read_settings(direct).database) as wakeup:
        wakeup.ring()
        async with asyncio.timeout(10):
            await wakeup.wait_for_wakeup(10)
        began = asyncio.get_running_loop().time()
        wakeup.ring()
        await wakeup.wait_for_wakeup(10)
    assert asyncio.get_running_loop().time() - began < 5


async def test_a_pooler_with_a_direct_address_beside_it_is_green(pooled: dict[str, str]) -> None:
    findings = await findings_of(pooled)
    assert list(findings) == [POOLER]
    assert findings[POOLER][0] is Severity.OK


async def test_listening_through_a_pooler_is_red(pooled: dict[str, str]) -> None:
    for direct in ("", pooled["DATABASE_URL"]):
        findings = await findings_of({**pooled, "DATABASE_DIRECT_URL": direct})
        assert findings[NOTIFICATIONS][0] is Severity.BAD
        assert "DATABASE_DIRECT_URL" in findings[NOTIFICATIONS][1]


async def test_a_pooler_that_does_not_know_prepared_statements_is_red(
    database: dict[str, str], pooled: dict[str, str]
) -> None:
    with pooler(database, settings={"max_prepared_statements": "0"}) as port:
        findings = await findings_of({**pooled, **pooled_environ(database, port)})
    assert findings[POOLER][0] is Severity.BAD
    assert "max_prepared_statements" in findings[POOLER][1]


async def test_many_clients_share_two_connections_and_nothing_of_each_other(
    pooled: dict[str, str], world: World
) -> None:
    """Role, tenant and prepared statements belong to a transaction and to a client."""
    settings = read_settings({**pooled, "DATABASE_POOL_SIZE": "8"}).database
    backends, tenants = set[int](), (world.a, world.b)

    async with open_pool(settings) as pool:

        async def look(number: int) -> None:
            tenant_id = tenants[number % 2]
            async with TenantTransactions(pool, tenant_id).begin() as connection:
                backends.add(await connection.fetchval("SELECT pg_backend_pid()"))
                rows = await connection.fetch("SELECT channel_id FROM subscriptions")
                assert {row["channel_id"] for row in rows} == (world.of_a, world.of_b)[number % 2]

        for _ in range(5):
            await asyncio.gather(*(look(number) for number in range(16)))
        async with pool.acquire() as connection:
            assert await connection.fetchval("SELECT current_user") == "tga"
            assert await connection.fetchval("SELECT current_setting('app.tenant_id', true)") in {None, ""}
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.fetch("SELECT channel_id FROM subscriptions")
    assert len(backends) == 2


async def test_transactions_plan_alike_with_and_without_a_pooler(
    database: dict[str, str], pooled: dict[str, str]
) -> None:
    for environ in (direct_environ(database), pooled):
        async with (
            open_pool(read_settings(environ).database, DatabaseLogin.SYSTEM) as pool,
            SystemTransactions(pool).begin() as connection,
        ):
            for name, value in (
                ("plan_cache_mode", "force_generic_plan"),
                ("jit", "off"),
                ("timezone", "UTC"),
            ):
                assert await connection.fetchval("SELECT current_setting($1)", name) == value
