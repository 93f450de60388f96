"""`tga migrate`: roles, grants and the schema, from nothing or from any earlier release, as often as one likes."""

import asyncio
from collections.abc import Callable
from urllib.parse import unquote, urlsplit

import asyncpg
from alembic import command
from alembic.config import Config

from telegram_assistant.errors import CannotStart
from telegram_assistant.settings import DatabaseSettings, location_of
from telegram_assistant.stores.postgres.schema import MIGRATIONS, Connection, Schema, schema_of

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
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["url"] = url
    return config
