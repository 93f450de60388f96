from urllib.parse import urlsplit

import asyncpg
import pytest

from telegram_assistant.domain.finding import Verdict, clock_skew
from telegram_assistant.settings import read_settings
from telegram_assistant.stores.postgres.examination import examine


async def bad_subjects(environ: dict[str, str]) -> dict[str, str]:
    found = await examine(read_settings(environ).database)
    return {finding.subject: finding.remedy for finding in found if finding.verdict is Verdict.BAD}


async def test_a_migrated_database_and_a_plain_login_are_fine(database: dict[str, str]) -> None:
    assert await bad_subjects(database) == {}


async def test_a_superuser_is_too_strong_for_the_running_program(database: dict[str, str]) -> None:
    assert list(await bad_subjects({**database, "DATABASE_URL": database["DATABASE_ADMIN_URL"]})) == ["postgres login"]


@pytest.mark.parametrize("attribute", ["BYPASSRLS", "IN ROLE tga_owner"])
async def test_a_login_that_row_level_security_does_not_bind_is_found(database: dict[str, str], worker: str, attribute: str) -> None:
    login = f"strong_{worker}"
    admin = await asyncpg.connect(database["DATABASE_ADMIN_URL"])
    try:
        await admin.execute(f"DROP ROLE IF EXISTS {login}")
        await admin.execute(f"CREATE ROLE {login} LOGIN NOINHERIT PASSWORD 'x' {attribute}")
        await admin.execute(f"GRANT tga_system, tga_tenant TO {login}")
        assert list(await bad_subjects({**database, "DATABASE_URL": database["DATABASE_URL"].replace("tga:tga@", f"{login}:x@")})) == [
            "postgres login"
        ]
    finally:
        await admin.execute(f"DROP ROLE IF EXISTS {login}")
        await admin.close()


async def test_a_database_that_was_never_migrated_is_found(empty_database: dict[str, str]) -> None:
    assert await bad_subjects(empty_database) == {"postgres schema": "run `tga migrate`"}


@pytest.mark.parametrize(
    ("changed", "remedy"),
    [("tga:wrong@", "correct user and password"), ("/missing", "create it"), ("127.0.0.1:1", "start PostgreSQL")],
)
async def test_each_way_of_not_getting_in_has_its_own_remedy(database: dict[str, str], changed: str, remedy: str) -> None:
    url = urlsplit(database["DATABASE_URL"])
    wrong = {
        "tga:wrong@": url._replace(netloc=url.netloc.replace("tga:tga@", "tga:wrong@")),
        "/missing": url._replace(path="/missing"),
        "127.0.0.1:1": url._replace(netloc="tga:tga@127.0.0.1:1"),
    }[changed]
    found = await bad_subjects({**database, "DATABASE_URL": wrong.geturl()})
    assert list(found) == ["postgres"]
    assert remedy in found["postgres"]


def test_clocks_that_are_apart_are_found() -> None:
    assert clock_skew("redis", 4.0) == []
    assert "12 s ahead of ours" in clock_skew("redis", 12.0)[0].what
    assert "12 s behind ours" in clock_skew("redis", -12.0)[0].what
