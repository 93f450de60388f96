"""Several runs on the same servers do not meet: databases have names of their own,
and are dropped however a test ends.
"""

import asyncpg
import pytest

from tests.conftest import Admin, redis_url, scratch_database


async def name_of_database(environ: dict[str, str]) -> str:
    connection = await asyncpg.connect(environ["DATABASE_ADMIN_URL"])
    try:
        name: str = await connection.fetchval("SELECT current_database()")
        return name
    finally:
        await connection.close()


async def test_two_runs_that_ask_for_the_same_name_get_databases_of_their_own(
    environ: dict[str, str],
) -> None:
    async with (
        scratch_database(environ, "tga_shared") as first,
        scratch_database(environ, "tga_shared") as other,
    ):
        assert await name_of_database(first) != await name_of_database(other)


async def test_the_database_of_a_failed_test_is_dropped(environ: dict[str, str], admin: Admin) -> None:
    name = ""
    with pytest.raises(RuntimeError):
        async with scratch_database(environ, "tga_failing") as own:
            name = await name_of_database(own)
            raise RuntimeError
    assert name.startswith("tga_failing_")
    assert not await admin.fetchval("SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)", name)


@pytest.mark.parametrize(
    ("given", "offset", "expected"),
    [
        ("redis://127.0.0.1:6379/0", -1, "redis://127.0.0.1:6379/15"),
        ("redis://127.0.0.1:6379", 2, "redis://127.0.0.1:6379/2"),
        ("redis://:secret@127.0.0.1:6379/13", 1, "redis://:secret@127.0.0.1:6379/14"),
    ],
)
def test_the_number_of_a_redis_database_is_counted_from_the_given_one(
    given: str, offset: int, expected: str
) -> None:
    assert redis_url({"REDIS_URL": given}, offset) == expected
