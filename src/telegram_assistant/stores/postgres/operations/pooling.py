"""Checks of `tga doctor` on a pooler in front of PostgreSQL: it knows prepared statements, and LISTEN goes
around it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import asyncpg

from telegram_assistant.domain.operations.diagnosis import Finding, bad, ok
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import DatabaseSettings, PostgresUrl, location_of

NOTIFICATIONS, POOLER = "postgres notifications", "postgres pooler"
TIMEOUT_SECONDS = 5
NOTIFY_TIMEOUT_SECONDS = 3.0
CHANNEL = "tga_doctor"
BACKEND = "SELECT pg_backend_pid()"

type Session = asyncpg.Connection[asyncpg.Record]


async def examine_pooling(settings: DatabaseSettings) -> list[Finding]:
    """Nothing if all is well without a pooler in transaction mode; PostgreSQL itself answers already."""
    try:
        async with AsyncExitStack() as stack:
            try:
                listener = await stack.enter_async_context(_session(settings.session_url))
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                return [_direct_address_unusable(settings, error)]
            return [
                *await _examine_prepared_statements(settings),
                *await _examine_notifications(settings, listener),
            ]
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        return [_refuses_more_connections(settings, error)]


@asynccontextmanager
async def _session(url: PostgresUrl) -> AsyncIterator[Session]:
    connection = await asyncpg.connect(
        url.get_secret_value(), timeout=TIMEOUT_SECONDS, command_timeout=TIMEOUT_SECONDS
    )
    try:
        yield connection
    finally:
        await connection.close(timeout=TIMEOUT_SECONDS)


async def _examine_notifications(settings: DatabaseSettings, listener: Session) -> list[Finding]:
    """A pooler in transaction mode accepts LISTEN and delivers nothing."""
    received_event = asyncio.Event()
    await listener.add_listener(CHANNEL, lambda *_: received_event.set())
    async with _session(settings.url) as sender:
        await sender.execute(f"NOTIFY {CHANNEL}")
    try:
        async with asyncio.timeout(NOTIFY_TIMEOUT_SECONDS):
            await received_event.wait()
    except TimeoutError:
        return [_no_notifications(settings)]
    return []


async def _examine_prepared_statements(settings: DatabaseSettings) -> list[Finding]:
    """Reports a pooler in transaction mode, and whether a statement outlives the change of the server's
    process.

    A second client holds the process that was used last, so the first one prepares its statement in another
    process. It then finds itself in the former one. With a single process there is nothing to find out.
    """
    async with _session(settings.url) as first, _session(settings.url) as other:
        try:
            await first.execute(BACKEND)
            async with other.transaction():
                statement = await first.prepare(BACKEND)
                backend = await statement.fetchval()
            is_pooled = any([await statement.fetchval() != backend for _ in range(3)])
        except (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError):
            return [
                bad(
                    POOLER,
                    Reason(
                        "pooler_loses_statements",
                        "the pooler at {where} does not know prepared statements",
                        where=location_of(settings.url),
                    ),
                    remedy=Reason(
                        "newer_pooler",
                        "use PgBouncer 1.21 or newer with max_prepared_statements = 500, "
                        "or a pooler in session mode",
                    ),
                )
            ]
    if not is_pooled:
        return []
    return [
        ok(
            POOLER,
            Reason(
                "pooled_by_transaction",
                "the pooler at {where} pools by transaction, LISTEN goes to {direct}",
                where=location_of(settings.url),
                direct=location_of(settings.session_url),
            ),
        )
    ]


def _no_notifications(settings: DatabaseSettings) -> Finding:
    if settings.direct_url is None:
        reason = Reason("no_notifications", "LISTEN does not work over this connection")
        remedy = Reason(
            "set_direct_url",
            "set DATABASE_DIRECT_URL to the direct port or a session-pooled one "
            "(Supabase: port 5432, not 6543)",
        )
    else:
        reason = Reason(
            "no_direct_notifications", "notifications through DATABASE_URL do not reach DATABASE_DIRECT_URL"
        )
        remedy = Reason(
            "correct_direct_url",
            "let DATABASE_DIRECT_URL lead to the same database, directly or through a session-pooled port",
        )
    return bad(NOTIFICATIONS, reason, remedy=remedy)


def _direct_address_unusable(settings: DatabaseSettings, error: Exception) -> Finding:
    return bad(
        NOTIFICATIONS,
        Reason(
            "postgres_at_silent",
            "PostgreSQL at {where} does not answer ({error})",
            where=location_of(settings.session_url),
            error=type(error).__name__,
        ),
        remedy=Reason(
            "start_postgres", "start PostgreSQL, or correct {variable}", variable=_variable(settings)
        ),
    )


def _refuses_more_connections(settings: DatabaseSettings, error: Exception) -> Finding:
    return bad(
        POOLER,
        Reason(
            "second_connection_refused",
            "{where} does not serve a second connection ({error})",
            where=location_of(settings.url),
            error=type(error).__name__,
        ),
        remedy=Reason(
            "allow_more_connections",
            "allow more connections: max_connections, or the sizes of the pooler's pools",
        ),
    )


def _variable(settings: DatabaseSettings) -> str:
    return "DATABASE_URL" if settings.direct_url is None else "DATABASE_DIRECT_URL"
