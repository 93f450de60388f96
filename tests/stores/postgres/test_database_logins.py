"""Each login does its own work and no other: what happens to whoever gets hold of one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.errors import CannotStart
from telegram_assistant.settings import DatabaseLogin, Settings, read_settings
from telegram_assistant.stores.postgres.database_logins import requests_may_act_as_system
from telegram_assistant.stores.postgres.migrating import migrate
from telegram_assistant.stores.postgres.stores import IngestStores, SystemStores
from testkit.factories import make_tenant
from tests.conftest import Admin
from tests.stores.postgres.test_migrating import silent


@asynccontextmanager
async def connect_as(installation: Settings, login: DatabaseLogin) -> AsyncIterator[Admin]:
    connection = await asyncpg.connect(installation.database.url_of(login).get_secret_value())
    try:
        yield connection
    finally:
        await connection.close()


async def assert_refused(connection: Admin, *statements: str) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with connection.transaction():
            for statement in statements:
                await connection.execute(statement)


@pytest.mark.parametrize("role", ["tga_system", "tga_ingest", "tga_owner", "tga_worker", "postgres"])
async def test_the_login_of_requests_cannot_become_anybody_who_sees_all_tenants(
    installation: Settings, role: str
) -> None:
    async with connect_as(installation, DatabaseLogin.API) as connection:
        await assert_refused(connection, f"SET LOCAL ROLE {role}")


@pytest.mark.parametrize("role", ["tga_api", "tga_tenant"])
async def test_requests_read_neither_sessions_nor_other_tenants_nor_keys(
    installation: Settings, role: str
) -> None:
    async with connect_as(installation, DatabaseLogin.API) as connection:
        for forbidden in (
            "SELECT session FROM telegram_accounts",
            "SELECT answer FROM login_attempts",
            "SELECT sealed FROM telegram_secrets",
            "UPDATE ingest_keys SET public_key = 'the thief''s'",
            "SELECT hash FROM api_keys",
            "SELECT * FROM outbox",
            "SELECT * FROM ai_results",
        ):
            await assert_refused(connection, f"SET LOCAL ROLE {role}", forbidden)
        async with connection.transaction():
            await connection.execute("SET LOCAL ROLE tga_tenant")
            assert await connection.fetchval("SELECT count(*) FROM tenants") == 0
        await assert_refused(connection, "SET LOCAL ROLE tga_api", "SELECT * FROM tenants")


async def test_the_worker_reads_no_session_and_no_answer_and_cannot_become_ingest(
    installation: Settings,
) -> None:
    async with connect_as(installation, DatabaseLogin.SYSTEM) as connection:
        await assert_refused(connection, "SET LOCAL ROLE tga_ingest")
        for forbidden in (
            "SELECT session FROM telegram_accounts",
            "SELECT length(session) FROM telegram_accounts",
            "UPDATE telegram_accounts SET state_reason = encode(session, 'hex')",
            "SELECT answer FROM login_attempts",
            "UPDATE login_attempts SET public_key = 'the thief''s'",
            "SELECT sealed FROM telegram_secrets",
            "UPDATE ingest_keys SET public_key = 'the thief''s'",
        ):
            await assert_refused(connection, "SET LOCAL ROLE tga_system", forbidden)


async def test_ingest_reads_sessions_and_does_the_work_of_the_system(
    installation: Settings, system: SystemStores, ingest: IngestStores
) -> None:
    account_id = await ingest.accounts.add(await make_tenant(system))
    await ingest.accounts.save_session(account_id, key_id="k", session=b"sealed")
    await ingest.accounts.set_state(account_id, AccountState.ACTIVE)
    assert b"sealed" in {held.session for held in await ingest.accounts.take("reader#1")}
    async with connect_as(installation, DatabaseLogin.INGEST) as connection, connection.transaction():
        await connection.execute("SET LOCAL ROLE tga_system")
        assert await connection.fetchval("SELECT count(*) FROM tenants") > 0


def with_logins(environ: dict[str, str], **names: str) -> dict[str, str]:
    """The same addresses with other users."""
    return {
        **environ,
        **{
            variable: environ["DATABASE_URL"].replace("tga:tga@", f"{name}:x@") if name else ""
            for variable, name in names.items()
        },
    }


@pytest.fixture
async def names(empty_database: dict[str, str], worker: str) -> AsyncIterator[tuple[str, str, str]]:
    """Users that nobody else has; they go with the database."""
    made = (f"requests_{worker}", f"system_{worker}", f"ingest_{worker}")
    admin = await asyncpg.connect(empty_database["DATABASE_ADMIN_URL"])
    try:
        for name in made:
            await admin.execute(f"DROP ROLE IF EXISTS {name}")
        yield made
        for name in made:
            await admin.execute(f"DROP ROLE IF EXISTS {name}")
    finally:
        await admin.close()


@pytest.mark.turns("DATABASE_SYSTEM_URL", "DATABASE_INGEST_URL")
async def test_migrate_takes_from_one_login_what_others_get(
    empty_database: dict[str, str], names: tuple[str, str, str]
) -> None:
    requests, system, ingest = names
    alone = read_settings(
        with_logins(empty_database, DATABASE_URL=requests, DATABASE_SYSTEM_URL="", DATABASE_INGEST_URL="")
    ).database
    await migrate(alone, tell=silent)
    assert await requests_may_act_as_system(alone)
    apart = with_logins(
        empty_database, DATABASE_URL=requests, DATABASE_SYSTEM_URL=system, DATABASE_INGEST_URL=ingest
    )
    messages: list[str] = []
    await migrate(read_settings(apart).database, tell=messages.append)
    assert f"the login {requests} can no longer become tga_system" in messages
    assert not await requests_may_act_as_system(alone)  # whatever this process was told
    async with connect_as(read_settings(apart), DatabaseLogin.API) as connection:
        await assert_refused(connection, "SET LOCAL ROLE tga_system")


async def test_who_forgets_the_other_logins_does_not_widen_that_of_requests(
    empty_database: dict[str, str], names: tuple[str, str, str]
) -> None:
    requests, system, ingest = names
    apart = with_logins(
        empty_database, DATABASE_URL=requests, DATABASE_SYSTEM_URL=system, DATABASE_INGEST_URL=ingest
    )
    await migrate(read_settings(apart).database, tell=silent)
    forgotten = with_logins(apart, DATABASE_SYSTEM_URL="", DATABASE_INGEST_URL="")
    with pytest.raises(CannotStart, match="serves requests only"):
        await migrate(read_settings(forgotten).database, tell=silent)
