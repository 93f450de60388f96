"""`tga migrate`: creates or updates roles, grants and the schema, from nothing or from any earlier release.

Idempotent.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from urllib.parse import unquote, urlsplit

import asyncpg
from alembic import command
from alembic.config import Config

from telegram_assistant.errors import CannotStart
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import DatabaseLogin, DatabaseSettings, location_of
from telegram_assistant.stores.postgres.database_logins import (
    API,
    INGEST,
    SYSTEM,
    load_granted_roles,
    roles_by_user,
)
from telegram_assistant.stores.postgres.schema import MIGRATIONS, Connection, Schema, schema_at

ONE_AT_A_TIME = 7_315_001
"""The advisory lock that lets one migration run at a time."""
LOOK_AGAIN_SECONDS = 0.1

ROLES = """
DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['tga_owner', 'tga_system', 'tga_ingest', 'tga_tenant', 'tga_api'] LOOP
        IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = wanted) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
        END IF;
    END LOOP;
    IF NOT pg_has_role(current_user, 'tga_owner', 'MEMBER') THEN
        EXECUTE format('GRANT tga_owner TO %I', current_user);
    END IF;
    IF NOT pg_has_role('tga_ingest', 'tga_system', 'MEMBER') THEN
        GRANT tga_system TO tga_ingest;
    END IF;
END $$;
GRANT USAGE, CREATE ON SCHEMA public TO tga_owner;
GRANT USAGE ON SCHEMA public TO tga_system, tga_tenant, tga_api;
"""


async def migrate(settings: DatabaseSettings, *, tell: Callable[[str], None]) -> Schema:
    """Brings the database up to this release; `tell` gets one sentence per step."""
    admin_url = settings.migration_url.get_secret_value()
    try:
        connection = await asyncpg.connect(admin_url, timeout=10)
    except (OSError, asyncpg.PostgresError) as error:
        location = location_of(settings.migration_url)
        raise CannotStart(
            Reason(
                "postgres_unusable",
                "PostgreSQL at {place} cannot be used ({error})",
                place=location,
                error=type(error).__name__,
            ),
            remedy=Reason("run_doctor", "Run `tga doctor` for details"),
        ) from error
    try:
        # Polls for the lock: a waiting statement would hold a snapshot, and a concurrent index build waits
        # for all snapshots.
        try_lock = partial(connection.fetchval, "SELECT pg_try_advisory_lock($1)", ONE_AT_A_TIME)
        while not await try_lock():  # noqa: ASYNC110 -- another process holds it
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
        await connection.execute(ROLES)
        await _create_logins(connection, settings, tell)
        before = await _schema(connection)
        if before.is_behind:
            tell(f"migrating the schema from {before.revision or 'nothing'} to {before.head}")
            await asyncio.to_thread(command.upgrade, _config(admin_url), "head")
        await connection.execute(
            "SET ROLE tga_owner; INSERT INTO tenants (name, is_operator) VALUES ('default', true) "
            "ON CONFLICT (name) DO NOTHING; RESET ROLE"
        )
        return await _schema(connection)
    except asyncpg.InsufficientPrivilegeError as error:
        raise CannotStart(
            Reason(
                "login_may_not_migrate",
                "this login is not allowed to migrate the schema ({error})",
                error=str(error),
            ),
            remedy=Reason(
                "set_admin_url", "Set DATABASE_ADMIN_URL to a login that may create roles and tables"
            ),
        ) from error
    finally:
        await connection.close()


async def _schema(connection: Connection) -> Schema:
    """Reads the revision as the owner:
    the function for the working roles is itself created by a migration.
    """
    if await connection.fetchval("SELECT to_regclass('alembic_version')") is None:
        return schema_at(None)
    async with connection.transaction():
        await connection.execute("SET LOCAL ROLE tga_owner")
        return schema_at(await connection.fetchval("SELECT version_num FROM alembic_version"))


async def _create_logins(
    connection: Connection, settings: DatabaseSettings, tell: Callable[[str], None]
) -> None:
    """Creates the missing logins.

    Each becomes a member of its working roles, without inheriting them, and of no others.
    """
    urls = {settings.name_of(login): settings.url_of(login).get_secret_value() for login in DatabaseLogin}
    for name, wanted_roles in roles_by_user(settings).items():
        if not await connection.fetchval("SELECT 1 FROM pg_roles WHERE rolname = $1", name):
            password = unquote(urlsplit(urls[name]).password or "")
            create = "SELECT format('CREATE ROLE %I LOGIN NOINHERIT PASSWORD %L', $1::text, $2::text)"
            await connection.execute(await connection.fetchval(create, name, password))
            tell(f"created the login {name}")
        granted_roles = await load_granted_roles(connection, name)
        _refuse_to_widen(name, granted_roles=granted_roles, wanted_roles=wanted_roles)
        for role in sorted(wanted_roles - granted_roles):
            if not await connection.fetchval("SELECT rolsuper FROM pg_roles WHERE rolname = $1", name):
                await connection.execute(
                    await connection.fetchval(
                        "SELECT format('GRANT %I TO %I', $1::text, $2::text)", role, name
                    )
                )
        for role in sorted(granted_roles - wanted_roles):
            await connection.execute(
                await connection.fetchval(
                    "SELECT format('REVOKE %I FROM %I', $1::text, $2::text)", role, name
                )
            )
            tell(f"the login {name} can no longer become {role}")


def _refuse_to_widen(name: str, *, granted_roles: frozenset[str], wanted_roles: frozenset[str]) -> None:
    """Keeps a login for requests restricted even if the settings do not name the other logins."""
    if API in granted_roles and SYSTEM not in granted_roles and SYSTEM in wanted_roles:
        raise CannotStart(
            Reason(
                "login_serves_requests_only",
                "the login {login} serves requests only, and no DATABASE_SYSTEM_URL is set",
                login=name,
            ),
            remedy=Reason(
                "set_system_url",
                "Set DATABASE_SYSTEM_URL, or give up the separation with: {command}",
                command=f"GRANT {SYSTEM}, {INGEST} TO {name}",
            ),
        )


def _config(url: str | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["url"] = url
    return config
