"""No tenant sees, counts or changes what is another's: proven from the catalogue,
then through every store method.
"""

import re
from dataclasses import fields
from datetime import UTC, datetime
from inspect import getmembers, iscoroutinefunction
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from telegram_assistant.domain.ids import ChannelId, TenantId, UserId
from telegram_assistant.settings import Settings
from telegram_assistant.stores.postgres.database import (
    PersonTransactions,
    Pool,
    SystemTransactions,
    TenantTransactions,
)
from testkit.factories import World
from tests.conftest import Admin
from tests.stores.postgres.cases import METHODS, prepare
from tests.stores.postgres.catalogue import DEFINER_FUNCTIONS, Table, complaints, insert_row, tables
from tests.stores.postgres.more_cases import park

NOBODY = TenantId(0)


async def test_the_catalogue_has_nothing_to_complain_about(admin: Admin) -> None:
    assert await complaints(admin) == []


@pytest.mark.parametrize(
    ("offence", "complaint"),
    [
        ("CREATE TABLE stray (tenant_id bigint)", "table stray has no class in its comment"),
        ("CREATE VIEW stray AS SELECT * FROM posts", "table stray has no class in its comment"),
        (
            "CREATE TABLE stray (tenant_id bigint); COMMENT ON TABLE stray IS 'class: tenant. x'",
            "table stray does not force row-level security",
        ),
        (
            """
            CREATE TABLE stray (tenant_id bigint); COMMENT ON TABLE stray IS 'class: tenant. x';
            ALTER TABLE stray ENABLE ROW LEVEL SECURITY; ALTER TABLE stray FORCE ROW LEVEL SECURITY
            """,
            "tenant table stray has no policy for tga_tenant",
        ),
        ("ALTER TABLE posts NO FORCE ROW LEVEL SECURITY", "table posts does not force row-level security"),
        ("DROP POLICY own ON posts", "subscribed table posts has no policy for tga_tenant"),
        (
            (
                "DROP POLICY own ON post_links; CREATE POLICY own ON post_links TO tga_tenant "
                "USING (channel_id = current_tenant())"
            ),
            "subscribed table post_links tells of posts from before a tenant's window",
        ),
        (
            "CREATE POLICY open ON posts TO tga_tenant USING (true)",
            "subscribed table posts has a policy that does not ask for the tenant",
        ),
        (
            "CREATE POLICY open ON posts USING (true)",
            "subscribed table posts has a policy that does not ask for the tenant",
        ),
        ("GRANT SELECT ON outbox TO tga_tenant", "system table outbox is open to tga_tenant"),
        ("GRANT SELECT (lane) ON outbox TO PUBLIC", "system table outbox is open to tga_tenant"),
        (
            "GRANT SELECT ON posts_p03 TO tga_tenant",
            "partition posts_p03 can be reached by tga_tenant around its parent's policy",
        ),
        (
            "CREATE FUNCTION stray() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'",
            "function stray runs with its owner's rights and is not on the list",
        ),
        (
            "GRANT EXECUTE ON FUNCTION drop_partitions TO tga_tenant",
            "function drop_partitions may be called by tga_tenant",
        ),
        (
            "GRANT EXECUTE ON FUNCTION find_caller TO PUBLIC",
            "function find_caller may be called by tga_tenant",
        ),
        ("GRANT SELECT (name) ON tenants TO tga_api", "tga_api can reach the table tenants"),
        ("GRANT SELECT ON telegram_accounts TO tga_system", "tga_system can read telegram_accounts.session"),
    ],
)
async def test_the_catalogue_check_finds_each_offence(admin: Admin, offence: str, complaint: str) -> None:
    transaction = admin.transaction()
    await transaction.start()
    try:
        await admin.execute(offence)
        assert complaint in await complaints(admin)
    finally:
        await transaction.rollback()


async def in_tenant(pool: Pool, tenant_id: TenantId, query: str, *values: Any) -> Any:
    async with TenantTransactions(pool, tenant_id).begin() as connection:
        return await connection.fetchval(query, *values)


async def row_for(admin: Admin, table: Table, tenant_id: TenantId, channel_id: ChannelId) -> None:
    """One row of the table that belongs to that tenant,
    or to the newest post of a channel that only this tenant follows, seen just now.
    """
    if table.name in {"tenants", "subscriptions", "channels"} or (table.name == "coverage"):
        return  # the world has made them
    known: dict[str, Any] = (
        {"tenant_id": tenant_id} if table.table_class == "tenant" else {"channel_id": channel_id}
    )
    if {"channel_id", "message_id"} <= set(table.columns):
        known["channel_id"] = channel_id
    known |= {"message_id": 8 if table.name == "posts" else 7} if "message_id" in table.columns else {}
    known |= {
        moment: datetime.now(UTC)
        for moment in ("posted_at", "other_posted_at", "replaced_at", "seen_at")
        if moment in table.columns
    }
    known |= {"other_channel_id": channel_id} if "other_channel_id" in table.columns else {}
    if table.name == "memberships":
        known |= {
            "user_id": await admin.fetchval(
                "INSERT INTO users (name) VALUES ($1) RETURNING user_id", f"anna {tenant_id}"
            ),
            "role": "owner",
        }
    if table.name == "joined_channels":
        known["account_id"] = await admin.fetchval(
            "INSERT INTO telegram_accounts (tenant_id) VALUES ($1) RETURNING account_id", tenant_id
        )
    if table.name == "list_items":
        known["list_id"] = await admin.fetchval(
            "INSERT INTO lists (tenant_id, name, created_by) VALUES ($1, 'list', 'test') RETURNING list_id",
            tenant_id,
        )
    await insert_row(admin, table.name, **known)


async def test_every_table_shows_each_tenant_its_own_rows_and_nobody_none(
    admin: Admin, pool: Pool, world: World
) -> None:
    seen_tables = 0
    for table in await tables(admin):
        if table.table_class in {"system", "person"}:
            continue
        seen_tables += 1
        await row_for(admin, table, world.a, world.only_a[0])
        await row_for(admin, table, world.b, world.only_b[0])
        key, own_a, own_b = (
            ("tenant_id", [world.a], [world.b])
            if table.table_class == "tenant"
            else ("channel_id", list(world.of_a), list(world.of_b))
        )
        for tenant_id, own in ((world.a, own_a), (world.b, own_b)):
            really = await admin.fetchval(f"SELECT count(*) FROM {table.name} WHERE {key} = ANY($1)", own)
            assert really > 0, table.name
            assert await in_tenant(pool, tenant_id, f"SELECT count(*) FROM {table.name}") == really, (
                table.name
            )
        assert await in_tenant(pool, NOBODY, f"SELECT count(*) FROM {table.name}") == 0, table.name
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute("SET LOCAL ROLE tga_tenant")  # and no tenant is named at all
            assert await connection.fetchval(f"SELECT count(*) FROM {table.name}") == 0, table.name
    assert seen_tables >= 9


async def test_every_table_of_people_shows_each_person_their_own_rows_in_one_tenant(
    admin: Admin, pool: Pool, world: World
) -> None:
    anna, boris = [
        await admin.fetchval("INSERT INTO users (name) VALUES ($1) RETURNING user_id", f"{name} {world.a}")
        for name in ("anna", "boris")
    ]
    known = {"channel_id": world.shared[0], "message_id": 7, "word": ""}
    of_people = [table for table in await tables(admin) if table.table_class == "person"]
    for table in of_people:
        for tenant_id, user_id in ((world.a, anna), (world.a, boris), (world.b, anna)):
            values = {name: value for name, value in known.items() if name in table.columns}
            await insert_row(admin, table.name, tenant_id=tenant_id, user_id=user_id, **values)
        for tenant_id, user_id, rows in (
            (world.a, anna, 1),
            (world.a, boris, 1),
            (world.b, anna, 1),
            (world.b, boris, 0),
        ):
            async with PersonTransactions(pool, tenant_id, UserId(user_id)).begin() as connection:
                assert await connection.fetchval(f"SELECT count(*) FROM {table.name}") == rows, table.name
        assert await in_tenant(pool, world.a, f"SELECT count(*) FROM {table.name}") == 0, table.name
    assert len(of_people) >= 5


def test_security_md_lists_every_function_with_the_owners_rights_and_its_callers() -> None:
    rows = re.findall(
        r"^\| (`tga_\w+`(?: and `tga_\w+`)*) \| (.*) \|$",
        Path("SECURITY.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    listed = {
        name: " ".join(re.findall(r"tga_(\w+)", callers))
        for callers, names in rows
        for name in re.findall(r"`(\w+)`", names)
    }
    assert listed == DEFINER_FUNCTIONS


async def test_system_tables_and_partitions_refuse_tenants(admin: Admin, pool: Pool, world: World) -> None:
    partitions = await admin.fetch(
        "SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r' "
        "AND relnamespace = 'public'::regnamespace"
    )
    closed = [table.name for table in await tables(admin) if table.table_class == "system"] + [
        row[0] for row in partitions
    ]
    assert len(closed) > 70
    for name in closed:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await in_tenant(pool, world.a, f"SELECT count(*) FROM {name}")


async def test_a_tenant_cannot_write_for_another_nor_read_a_session(pool: Pool, world: World) -> None:
    async with TenantTransactions(pool, world.a).begin() as connection:
        assert (
            await connection.execute("UPDATE subscriptions SET folder = 'x' WHERE tenant_id = $1", world.b)
            == "UPDATE 0"
        )
        assert (
            await connection.execute("DELETE FROM subscriptions WHERE tenant_id = $1", world.b) == "DELETE 0"
        )
    for forbidden in (
        f"INSERT INTO subscriptions (tenant_id, channel_id) VALUES ({world.a}, {world.only_b[0]})",
        f"UPDATE subscriptions SET channel_id = {world.only_b[0]}",
        f"UPDATE subscriptions SET tenant_id = {world.b}",
        "UPDATE subscriptions SET active = true",
        "UPDATE posts SET text = ''",
        "DELETE FROM channels",
        "SELECT session FROM telegram_accounts",
        "SELECT payers FROM usage",
        "SELECT call_micro FROM usage",
        "SELECT access_hash FROM joined_channels",
        "UPDATE joined_channels SET account_id = 1",
        "SELECT drop_partitions('post_raw', now())",
        "CREATE TABLE mine (x int)",
        "SET LOCAL ROLE tga_owner",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await in_tenant(pool, world.a, forbidden)


async def test_a_tenant_session_can_be_talked_into_another_tenant_only_by_our_own_code(
    pool: Pool, world: World
) -> None:
    """The wall stands between tenants' data and our queries; SQL never comes from tenants,
    and parameters cannot change the setting.
    """
    hostile = f"1'; SET LOCAL app.tenant_id = '{world.b}"
    with pytest.raises(ValueError, match="invalid literal"):
        TenantTransactions(pool, hostile)  # type: ignore[arg-type]  # a wrong type is the point of the test


async def test_the_system_role_may_not_change_tables(system_pool: Pool) -> None:
    for forbidden in (
        "CREATE TABLE mine (x int)",
        "ALTER TABLE posts ADD x int",
        "DROP TABLE posts",
        "TRUNCATE posts",
        "SET LOCAL ROLE tga_owner",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with SystemTransactions(system_pool).begin() as connection:
                await connection.execute(forbidden)


@pytest.mark.parametrize("method", METHODS)
async def test_every_store_method_shows_each_tenant_its_own_channels(
    admin: Admin, world: World, method: str
) -> None:
    await prepare(admin, world)
    await park(admin, world)
    assert await METHODS[method](world.stores_a, world) == world.of_a
    await park(admin, world)
    assert await METHODS[method](world.stores_b, world) == world.of_b
    assert await METHODS[method](world.stores_nobody, world) == set()


def test_every_method_of_a_tenant_store_has_its_isolation_test(world: World) -> None:
    methods = {
        f"{field.name}.{name}"
        for field in fields(world.stores_a)
        for name, _ in getmembers(type(getattr(world.stores_a, field.name)), iscoroutinefunction)
        if not name.startswith("_")
    }
    assert methods == set(METHODS)


async def test_the_plain_login_sees_nothing_before_it_takes_a_role(installation: Settings) -> None:
    connection = await asyncpg.connect(installation.database.url.get_secret_value())
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.fetch("SELECT * FROM tenants")
    finally:
        await connection.close()
