"""A database that the program creates for itself on a given server, and drops again: for the demo."""

from collections.abc import Sequence

import asyncpg

from telegram_assistant.errors import CannotStart
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import PostgresUrl, location_of
from telegram_assistant.stores.postgres.database import CONNECT_TIMEOUT_SECONDS, OUTAGES
from telegram_assistant.stores.postgres.schema import Connection


async def accepts_connections(admin_url: PostgresUrl) -> bool:
    try:
        connection = await asyncpg.connect(admin_url.get_secret_value(), timeout=CONNECT_TIMEOUT_SECONDS)
    except OUTAGES:
        return False
    await connection.close()
    return True


async def create_database(admin_url: PostgresUrl, name: str) -> None:
    """Creates the database unless it exists. Raises CannotStart if this login may not."""
    connection = await _connect(admin_url)
    try:
        if not await connection.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", name):
            await connection.execute(await _format(connection, "CREATE DATABASE %I", name))
    except asyncpg.InsufficientPrivilegeError as error:
        raise CannotStart(
            Reason(
                "database_not_created",
                "this login is not allowed to create a database ({error})",
                error=str(error),
            ),
            remedy=Reason(
                "give_creating_login", "Set DATABASE_ADMIN_URL to a login that may create databases and roles"
            ),
        ) from error
    finally:
        await connection.close()


async def drop_database(admin_url: PostgresUrl, name: str, *, logins: Sequence[str]) -> None:
    """Drops the database and its logins, if they exist. Ends connections to the database."""
    connection = await _connect(admin_url)
    try:
        await connection.execute(await _format(connection, "DROP DATABASE IF EXISTS %I WITH (FORCE)", name))
        for login in logins:
            await connection.execute(await _format(connection, "DROP ROLE IF EXISTS %I", login))
    except asyncpg.InsufficientPrivilegeError as error:
        raise CannotStart(
            Reason(
                "database_not_dropped",
                "this login is not allowed to drop the database {name} ({error})",
                name=name,
                error=str(error),
            ),
            remedy=Reason("give_creator_login", "Set DATABASE_ADMIN_URL to the login that created it"),
        ) from error
    finally:
        await connection.close()


async def _connect(admin_url: PostgresUrl) -> "asyncpg.Connection[asyncpg.Record]":
    try:
        return await asyncpg.connect(admin_url.get_secret_value(), timeout=CONNECT_TIMEOUT_SECONDS)
    except (*OUTAGES, asyncpg.PostgresError) as error:
        raise CannotStart(
            Reason(
                "postgres_unusable",
                "PostgreSQL at {place} cannot be used ({error})",
                place=location_of(admin_url),
                error=type(error).__name__,
            ),
            remedy=Reason(
                "start_postgres_or_correct_urls", "Start it, or correct DATABASE_URL and DATABASE_ADMIN_URL"
            ),
        ) from error


async def _format(connection: Connection, statement: str, name: str) -> str:
    return str(await connection.fetchval("SELECT format($1, $2::text)", statement, name))
