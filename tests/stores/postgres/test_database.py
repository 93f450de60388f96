import asyncio
from contextlib import suppress

import asyncpg
import pytest

from telegram_assistant.errors import Busy, CannotStart
from telegram_assistant.settings import DatabaseLogin, Settings, read_settings
from telegram_assistant.stores.postgres.database import Pool, SystemTransactions, open_pool
from testkit.factories import fresh_number
from tests.conftest import Admin


async def test_a_block_that_raises_leaves_nothing_behind(system_pool: Pool, admin: Admin) -> None:
    name = f"tenant {fresh_number()}"
    with pytest.raises(ZeroDivisionError):
        async with SystemTransactions(system_pool).begin() as connection:
            await connection.execute("INSERT INTO tenants (name) VALUES ($1)", name)
            raise ZeroDivisionError
    assert await admin.fetchval("SELECT count(*) FROM tenants WHERE name = $1", name) == 0


async def test_a_cancelled_block_leaves_nothing_behind_and_the_connection_is_usable(
    system_pool: Pool, admin: Admin
) -> None:
    name = f"tenant {fresh_number()}"

    async def write_and_wait() -> None:
        async with SystemTransactions(system_pool).begin() as connection:
            await connection.execute("INSERT INTO tenants (name) VALUES ($1)", name)
            await connection.execute("SELECT pg_sleep(30)")

    task = asyncio.create_task(write_and_wait())
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await admin.fetchval("SELECT count(*) FROM tenants WHERE name = $1", name) == 0
    async with SystemTransactions(system_pool).begin() as connection:
        assert await connection.fetchval("SELECT current_user") == "tga_system"


async def test_a_block_that_is_cancelled_while_it_rolls_back_leaves_nothing_to_the_next_one(
    installation: Settings, admin: Admin
) -> None:
    name, settings = f"tenant {fresh_number()}", installation.database.model_copy(update={"pool_size": 1})
    async with open_pool(settings, DatabaseLogin.SYSTEM) as own:

        async def write_and_wait() -> None:
            async with SystemTransactions(own).begin() as connection:
                await connection.execute("INSERT INTO tenants (name) VALUES ($1)", name)
                await asyncio.sleep(30)

        task = asyncio.create_task(write_and_wait())
        await asyncio.sleep(0.1)
        task.cancel()
        for _ in range(3):
            await asyncio.sleep(0)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with SystemTransactions(own).begin() as connection:
            await connection.execute("SELECT 1")
    assert await admin.fetchval("SELECT count(*) FROM tenants WHERE name = $1", name) == 0


async def test_an_error_that_is_swallowed_inside_a_block_is_not_taken_for_success(system_pool: Pool) -> None:
    with pytest.raises(RuntimeError, match="swallowed"):
        async with SystemTransactions(system_pool).begin() as connection:
            with pytest.raises(asyncpg.DivisionByZeroError):
                await connection.execute("SELECT 1/0")


async def test_a_connection_comes_back_with_no_role_and_no_tenant(system_pool: Pool) -> None:
    async with SystemTransactions(system_pool).begin() as connection:
        assert await connection.fetchval("SELECT current_user") == "tga_system"
    async with system_pool.acquire() as connection:
        assert await connection.fetchval("SELECT current_user") == "tga_worker"
        assert await connection.fetchval("SELECT current_setting('app.tenant_id', true)") in {None, ""}


async def test_a_lost_server_is_busy_not_broken(installation: Settings, admin: Admin) -> None:
    async with open_pool(installation.database, DatabaseLogin.SYSTEM) as own:
        with pytest.raises(Busy, match="PostgreSQL"):
            async with SystemTransactions(own).begin() as connection:
                await admin.execute(
                    "SELECT pg_terminate_backend($1)", await connection.fetchval("SELECT pg_backend_pid()")
                )
                await connection.fetchval("SELECT 1")
        async with SystemTransactions(own).begin() as connection:
            assert await connection.fetchval("SELECT 1") == 1


async def test_a_server_that_is_not_there_is_said_in_words(database: dict[str, str]) -> None:
    nowhere = read_settings({**database, "DATABASE_URL": "postgresql://tga:geheim@127.0.0.1:1/tga"})
    with pytest.raises(CannotStart, match=r"127\.0\.0\.1:1/tga") as refusal:
        async with open_pool(nowhere.database):
            pass
    assert "geheim" not in str(refusal.value)


@pytest.mark.turns("DATABASE_POOL_SIZE")
async def test_a_pool_of_two_lets_two_in_and_the_third_wait(database: dict[str, str]) -> None:
    small = read_settings({**database, "DATABASE_POOL_SIZE": "2"})
    async with open_pool(small.database) as own, own.acquire(), own.acquire():
        with pytest.raises(TimeoutError):
            await own.acquire(timeout=0.05)


@pytest.mark.turns("DATABASE_URL")
async def test_the_pool_speaks_to_the_database_it_is_told(
    environ: dict[str, str], database: dict[str, str]
) -> None:
    for variables in (environ, database):
        async with open_pool(read_settings(variables).database) as own:
            assert (
                await own.fetchval("SELECT current_database()")
                == variables["DATABASE_URL"].rpartition("/")[2]
            )


async def test_a_transaction_that_is_cut_off_at_any_moment_is_rolled_back_without_a_complaint(
    system_pool: Pool,
) -> None:
    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _loop, context: complaints.append(context["message"])
    )

    async def work() -> None:
        async with SystemTransactions(system_pool).begin() as connection:
            await connection.fetchval("SELECT pg_sleep(0.001)")

    for number in range(150):
        with suppress(TimeoutError, Busy):
            async with asyncio.timeout(number * 0.00004):
                await work()
    await work()
    assert complaints == []
