"""The database roles of each login: `tga migrate` grants them, `tga doctor` checks them."""

from collections.abc import Mapping

import asyncpg

from telegram_assistant.errors import CannotStart
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import DatabaseLogin, DatabaseSettings, location_of
from telegram_assistant.stores.postgres.schema import Connection

TENANT, API, SYSTEM, INGEST = WORKING_ROLES = ("tga_tenant", "tga_api", "tga_system", "tga_ingest")
ROLES_OF = {
    DatabaseLogin.API: frozenset({TENANT, API}),
    DatabaseLogin.SYSTEM: frozenset({SYSTEM}),
    DatabaseLogin.INGEST: frozenset({INGEST}),
}
"""A login that serves several purposes has the roles of all of them. tga_ingest is a member of tga_system."""


def roles_by_user(settings: DatabaseSettings) -> Mapping[str, frozenset[str]]:
    """Every database user in the settings, with exactly the roles that it needs."""
    roles: dict[str, frozenset[str]] = {}
    for login in DatabaseLogin:
        name = settings.name_of(login)
        roles[name] = roles.get(name, frozenset()) | ROLES_OF[login]
    return roles


async def load_granted_roles(connection: Connection, name: str) -> frozenset[str]:
    """The working roles granted directly to a login."""
    rows = await connection.fetch(
        """
        SELECT r.rolname FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid
        JOIN pg_roles u ON u.oid = m.member
        WHERE u.rolname = $1 AND r.rolname = ANY($2)
        """,
        name,
        list(WORKING_ROLES),
    )
    return frozenset(row["rolname"] for row in rows)


async def may_take(connection: Connection, role: str) -> bool:
    """Whether the login of this connection may take the role; False if there is no such role."""
    return bool(
        await connection.fetchval(
            "SELECT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = $1 "
            "AND pg_has_role(session_user, oid, 'MEMBER'))",
            role,
        )
    )


async def requests_may_act_as_system(settings: DatabaseSettings) -> bool:
    """Whether one login serves all purposes.

    Asks the server, because the api role may be given DATABASE_URL only.
    """
    if settings.separates_system:
        return False
    try:
        connection = await asyncpg.connect(settings.url.get_secret_value(), timeout=10)
    except (OSError, asyncpg.PostgresError) as error:
        raise CannotStart(
            Reason(
                "postgres_unusable",
                "PostgreSQL at {place} cannot be used ({error})",
                place=location_of(settings.url),
                error=type(error).__name__,
            ),
            remedy=Reason(
                "start_or_correct",
                "Start it or correct {variable}; `tga doctor` shows details",
                variable="DATABASE_URL",
            ),
        ) from error
    try:
        return await may_take(connection, SYSTEM)
    finally:
        await connection.close()
