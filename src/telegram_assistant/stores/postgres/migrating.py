"""`tga migrate`: roles, grants and the schema, from nothing or from any earlier release, as often as one likes."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from urllib.parse import unquote, urlsplit

import asyncpg
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from asyncpg.pool import PoolConnectionProxy

from telegram_assistant.errors import CannotStart
from telegram_assistant.settings import DatabaseSettings, location_of
from telegram_assistant.stores.postgres.database import Pool

type Connection = asyncpg.Connection[asyncpg.Record] | PoolConnectionProxy[asyncpg.Record]

ONE_AT_A_TIME = 7_315_001
"""The advisory lock that two migrations at once fight for."""
LOOK_AGAIN_SECONDS = 0.1

ROLES = """
DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['tga_owner', 'tga_system', 'tga_tenant'] LOOP
        IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = wanted) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
        END IF;
    END LOOP;
    IF NOT pg_has_role(current_user, 'tga_owner', 'MEMBER') THEN
        EXECUTE format('GRANT tga_owner TO %I', current_user);
    END IF;
END $$;
GRANT USAGE, CREATE ON SCHEMA public TO tga_owner;
GRANT USAGE ON SCHEMA public TO tga_system, tga_tenant;
"""


@dataclass(frozen=True, slots=True)
class Schema:
    """How far a database has come, against what this release needs."""

    revision: str | None
    head: str
    is_behind: bool


async def migrate(settings: DatabaseSettings, *, tell: Callable[[str], None]) -> Schema:
    """Bring the database up to this release; `tell` hears one sentence per step."""
    admin_url = (settings.admin_url or settings.url).get_secret_value()
    try:
        connection = await asyncpg.connect(admin_url, timeout=10)
    except (OSError, asyncpg.PostgresError) as error:
        where = location_of(settings.admin_url or settings.url)
        raise CannotStart(f"PostgreSQL at {where} cannot be used ({type(error).__name__})", remedy="Run `tga doctor`; it says more") from error
    try:
        # Asked for again and again: a statement that waits would hold a snapshot, and who builds an index waits for that.
        while not await connection.fetchval("SELECT pg_try_advisory_lock($1)", ONE_AT_A_TIME):  # noqa: ASYNC110 -- the other one is another process
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
        await connection.execute(ROLES)
        await _login(connection, settings.url.get_secret_value(), tell)
        before = await schema_of(connection)
        if before.is_behind:
            tell(f"migrating the schema from {before.revision or 'nothing'} to {before.head}")
            await asyncio.to_thread(command.upgrade, _config(admin_url), "head")
        await connection.execute(
            "SET ROLE tga_system; INSERT INTO tenants (name, is_operator) VALUES ('default', true) ON CONFLICT (name) DO NOTHING; RESET ROLE"
        )
        return await schema_of(connection)
    except asyncpg.InsufficientPrivilegeError as error:
        remedy = "Set DATABASE_ADMIN_URL to a login that may create roles and tables"
        raise CannotStart(f"this login may not migrate ({error})", remedy=remedy) from error
    finally:
        await connection.close()


async def schema_of(connection: Connection) -> Schema:
    """Read how far the database has come."""
    revision = None
    if await connection.fetchval("SELECT to_regclass('alembic_version')") is not None:
        async with connection.transaction():
            await connection.execute("SET LOCAL ROLE tga_system")
            revision = await connection.fetchval("SELECT version_num FROM alembic_version")
    script = ScriptDirectory.from_config(_config())
    head = script.get_current_head() or ""
    # A revision that this release does not know belongs to a newer one: older code runs on it.
    known = {step.revision for step in script.walk_revisions()}
    return Schema(revision, head, is_behind=revision is None or (revision in known and revision != head))


async def require_schema(pool: Pool) -> None:
    """CannotStart where this release would not run on the database as it is."""
    remedy = "Run `tga migrate`"
    try:
        async with pool.acquire() as connection:
            schema = await schema_of(connection)
    except asyncpg.PostgresError as error:
        raise CannotStart(f"the login may not work in this database ({type(error).__name__})", remedy=remedy) from error
    if schema.is_behind:
        raise CannotStart(f"the schema is at {schema.revision or 'nothing'}, this version needs {schema.head}", remedy=remedy)


async def _login(connection: Connection, url: str, tell: Callable[[str], None]) -> None:
    """The running program's login: made if missing, and a member of the two working roles without inheriting them."""
    parts = urlsplit(url)
    name = unquote(parts.username or "")
    if not await connection.fetchval("SELECT 1 FROM pg_roles WHERE rolname = $1", name):
        await connection.execute(
            await connection.fetchval(
                "SELECT format('CREATE ROLE %I LOGIN NOINHERIT PASSWORD %L', $1::text, $2::text)", name, unquote(parts.password or "")
            )
        )
        tell(f"created the login {name}")
    for role in ("tga_system", "tga_tenant"):
        if not await connection.fetchval("SELECT pg_has_role($1, $2, 'MEMBER')", name, role):
            await connection.execute(await connection.fetchval("SELECT format('GRANT %I TO %I', $1::text, $2::text)", role, name))


def _config(url: str | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(resources.files("telegram_assistant.stores.postgres") / "migrations"))
    config.attributes["url"] = url
    return config
