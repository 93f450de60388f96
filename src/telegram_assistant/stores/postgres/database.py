"""Connection pools, and short transactions in one of the database roles."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.errors import Busy, CannotStart, NoRoom
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import DatabaseLogin, DatabaseSettings, location_of

type Pool = asyncpg.Pool[asyncpg.Record]
type Connection = PoolConnectionProxy[asyncpg.Record]

CONNECT_TIMEOUT_SECONDS = 10.0
STATEMENT_TIMEOUT_SECONDS = 60.0
ROLLBACK_TIMEOUT_SECONDS = 5.0
FULL_SECONDS = 5.0
DISK_FULL = Reason("postgres_disk_full", "the disk of PostgreSQL is full: nothing can be stored")
MAX_STATEMENTS = 300
"""Kept prepared on each connection: more than all pages have, which are 110."""

# A pooler in transaction mode hands both of these on; it would refuse others.
SESSION = {"application_name": "telegram-assistant", "timezone": "UTC"}
# Every statement is written for one plan. Planning it again for each parameter costs more than it gains over
# 16 partitions; the one query that needs a custom plan sets that itself.
PLANNING = "SET LOCAL jit = off; SET LOCAL plan_cache_mode = force_generic_plan"

OUTAGES = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    # asyncpg raises it if the server's shutdown message arrives between two statements
    asyncpg.InternalClientError,
)


RELEASED = "released back to the pool"
"""Part of asyncpg's message about a connection that the server closed between two statements:
its pool has already taken it back.
"""


@asynccontextmanager
async def open_pool(
    settings: DatabaseSettings, login: DatabaseLogin = DatabaseLogin.API
) -> AsyncIterator[Pool]:
    """Opens a pool with this login until the block ends. Raises CannotStart if PostgreSQL cannot be used."""
    url = settings.url_of(login)
    try:
        pool = await asyncpg.create_pool(
            url.get_secret_value(),
            min_size=1,
            max_size=settings.pool_size,
            timeout=CONNECT_TIMEOUT_SECONDS,
            command_timeout=STATEMENT_TIMEOUT_SECONDS,
            # Plans stay good as long as the connection; asyncpg would have each statement planned again every
            # five minutes.
            max_cached_statement_lifetime=0,
            statement_cache_size=MAX_STATEMENTS,
            server_settings=SESSION,
            reset=_nothing_to_reset,
        )
    except (*OUTAGES, asyncpg.PostgresError) as error:
        raise CannotStart(
            Reason(
                "postgres_unusable",
                "PostgreSQL at {place} cannot be used ({error})",
                place=location_of(url),
                error=type(error).__name__,
            ),
            remedy=Reason(
                "start_or_correct",
                "Start it or correct {variable}; `tga doctor` shows details",
                variable=login.variable,
            ),
        ) from error
    try:
        yield pool
    finally:
        await pool.close()


async def _nothing_to_reset(_connection: object) -> None:
    """Every setting is local to its transaction, so returning a connection needs no round trip."""


class Transactions:
    """Opens short transactions in one role. Only stores hold one.

    Nothing is set for longer than a transaction, so the next one may run in another process of the server.
    """

    def __init__(self, pool: Pool, opening: str) -> None:
        self._pool = pool
        self._opening = f"BEGIN; {PLANNING}; {opening}"

    def begin(self) -> AbstractAsyncContextManager[Connection]:
        """A transaction that commits at the end of the block, or rolls back if the block raises."""
        return _transaction(self._pool, self._opening)


class ApiTransactions(Transactions):
    """Transactions as tga_api: lookups before a request's tenant is known, and the operator's operations.

    Calls functions, reads no table.
    """

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool, "SET LOCAL ROLE tga_api")


class IngestTransactions(Transactions):
    """Transactions as tga_ingest: all rights of tga_system, and the sessions of accounts."""

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool, "SET LOCAL ROLE tga_ingest")


class SystemTransactions(Transactions):
    """Transactions as tga_system: ingest, workers, jobs.

    `repeatable` is for work that is simply done again if a crash loses it: its commit does not wait for the
    disk. Commits stay in order, so a commit that did wait is never kept without those before it.
    """

    def __init__(self, pool: Pool, *, is_repeatable: bool = False) -> None:
        super().__init__(
            pool,
            "SET LOCAL ROLE tga_system" + ("; SET LOCAL synchronous_commit = off" if is_repeatable else ""),
        )


class TenantTransactions(Transactions):
    """Transactions as tga_tenant, for one tenant: row-level security decides which rows exist.

    New rows remember the actor.
    """

    def __init__(self, pool: Pool, tenant_id: TenantId, *, actor_id: UserId | None = None) -> None:
        by = "" if actor_id is None else f"; SET LOCAL app.actor_id = '{int(actor_id)}'"
        super().__init__(pool, f"SET LOCAL ROLE tga_tenant; SET LOCAL app.tenant_id = '{int(tenant_id)}'{by}")


class PersonTransactions(Transactions):
    """Transactions as tga_tenant, for one person in one tenant: rows of other people do not exist either."""

    def __init__(self, pool: Pool, tenant_id: TenantId, user_id: UserId) -> None:
        tenant, person = int(tenant_id), int(user_id)
        super().__init__(
            pool,
            f"SET LOCAL ROLE tga_tenant; SET LOCAL app.tenant_id = '{tenant}'; "
            f"SET LOCAL app.user_id = '{person}'",
        )


@asynccontextmanager
async def _transaction(pool: Pool, opening: str) -> AsyncIterator[Connection]:
    try:
        async with pool.acquire(timeout=CONNECT_TIMEOUT_SECONDS) as connection:
            try:
                await connection.execute(opening)
                yield connection
                ended_with = await connection.execute("COMMIT")
            except BaseException:
                # also of the first and the last statement: a transaction that stays open is a complaint in
                # the log
                with suppress(asyncpg.InterfaceError, *OUTAGES):  # the connection itself may be lost
                    await connection.execute("ROLLBACK", timeout=ROLLBACK_TIMEOUT_SECONDS)
                raise
            if ended_with != "COMMIT":
                raise RuntimeError(
                    "the transaction had failed before its commit, and an error inside it was swallowed"
                )
    except asyncpg.DiskFullError as error:
        raise NoRoom(DISK_FULL, retry_after_seconds=FULL_SECONDS) from error
    except OUTAGES as error:
        raise Busy(
            Reason("postgres_silent", "PostgreSQL does not answer ({error})", error=type(error).__name__),
            retry_after_seconds=1.0,
        ) from error
    except asyncpg.InterfaceError as error:
        if RELEASED not in str(error):
            raise
        raise Busy(
            Reason("postgres_closed", "PostgreSQL closed the connection"), retry_after_seconds=1.0
        ) from error
