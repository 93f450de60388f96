from urllib.parse import urlsplit

import asyncpg
import pytest

from telegram_assistant.domain.operations.diagnosis import Severity, clock_skew
from telegram_assistant.settings import read_settings
from telegram_assistant.stores.postgres.operations.diagnostics import examine
from tests.conftest import unique_name


async def bad_subjects(environ: dict[str, str]) -> dict[str, str]:
    findings = await examine(read_settings(environ).database)
    return {finding.subject: str(finding.remedy) for finding in findings if finding.verdict is Severity.BAD}


async def test_a_migrated_database_and_a_plain_login_are_fine(database: dict[str, str]) -> None:
    assert await bad_subjects(database) == {}


@pytest.mark.parametrize(
    ("variable", "subject"),
    [
        ("DATABASE_URL", "postgres api"),
        ("DATABASE_SYSTEM_URL", "postgres system"),
        ("DATABASE_INGEST_URL", "postgres ingest"),
    ],
)
async def test_a_superuser_is_too_strong_for_the_running_program(
    database: dict[str, str], variable: str, subject: str
) -> None:
    assert list(await bad_subjects({**database, variable: database["DATABASE_ADMIN_URL"]})) == [subject]


@pytest.mark.parametrize("attribute", ["BYPASSRLS", "IN ROLE tga_owner"])
async def test_a_login_that_row_level_security_does_not_bind_is_found(
    database: dict[str, str], worker: str, attribute: str
) -> None:
    login = unique_name(f"strong_{worker}")
    admin = await asyncpg.connect(database["DATABASE_ADMIN_URL"])
    try:
        await admin.execute(f"DROP ROLE IF EXISTS {login}")
        await admin.execute(f"CREATE ROLE {login} LOGIN NOINHERIT PASSWORD 'x' {attribute}")
        await admin.execute(f"GRANT tga_api, tga_tenant TO {login}")
        assert list(
            await bad_subjects(
                {**database, "DATABASE_URL": database["DATABASE_URL"].replace("tga:tga@", f"{login}:x@")}
            )
        ) == ["postgres api"]
    finally:
        await admin.execute(f"DROP ROLE IF EXISTS {login}")
        await admin.close()


async def test_each_login_has_its_line_that_says_what_it_may_do(database: dict[str, str]) -> None:
    findings = {
        finding.subject: str(finding.what) for finding in await examine(read_settings(database).database)
    }
    assert "serves requests" in findings["postgres api"]
    assert "no session" in findings["postgres system"]
    assert "the only one to read sessions" in findings["postgres ingest"]


@pytest.mark.parametrize(
    ("login", "too_much"),
    [("API", "tga_system"), ("API", "tga_ingest"), ("SYSTEM", "tga_ingest"), ("SYSTEM", "tga_tenant")],
)
async def test_a_login_that_can_do_more_than_it_should_is_red(
    database: dict[str, str], worker: str, login: str, too_much: str
) -> None:
    variable, own = (
        ("DATABASE_URL", "tga_api, tga_tenant") if login == "API" else ("DATABASE_SYSTEM_URL", "tga_system")
    )
    name = unique_name(f"wide_{worker}")
    admin = await asyncpg.connect(database["DATABASE_ADMIN_URL"])
    try:
        await admin.execute(f"DROP ROLE IF EXISTS {name}")
        await admin.execute(f"CREATE ROLE {name} LOGIN NOINHERIT PASSWORD 'x'")
        await admin.execute(f"GRANT {own}, {too_much} TO {name}")
        subjects = await bad_subjects(
            {**database, variable: database["DATABASE_URL"].replace("tga:tga@", f"{name}:x@")}
        )
        assert subjects == {f"postgres {login.lower()}": "run `tga migrate`: it removes this right"}
    finally:
        await admin.execute(f"DROP ROLE IF EXISTS {name}")
        await admin.close()


async def test_one_login_for_everything_is_told_what_it_costs_and_that_of_requests_what_it_cannot(
    database: dict[str, str], worker: str
) -> None:
    name = unique_name(f"alone_{worker}")
    alone = {
        "DATABASE_URL": database["DATABASE_URL"].replace("tga:tga@", f"{name}:x@"),
        "DATABASE_SYSTEM_URL": "",
        "DATABASE_INGEST_URL": "",
    }
    admin = await asyncpg.connect(database["DATABASE_ADMIN_URL"])
    try:
        await admin.execute(f"DROP ROLE IF EXISTS {name}")
        await admin.execute(f"CREATE ROLE {name} LOGIN NOINHERIT PASSWORD 'x' IN ROLE tga_api, tga_tenant")
        findings = {
            finding.subject: finding
            for finding in await examine(read_settings({**database, **alone}).database)
        }
        assert findings["postgres login"].verdict is Severity.OK
        assert "serves requests only" in str(findings["postgres login"].what)
        await admin.execute(f"GRANT tga_system, tga_ingest TO {name}")
        findings = {
            finding.subject: finding
            for finding in await examine(read_settings({**database, **alone}).database)
        }
        assert findings["postgres login"].verdict is Severity.WARNING
        assert "exposes every tenant and the sealed sessions" in str(findings["postgres login"].what)
    finally:
        await admin.execute(f"DROP ROLE IF EXISTS {name}")
        await admin.close()


async def test_a_database_that_was_never_migrated_is_found(empty_database: dict[str, str]) -> None:
    assert await bad_subjects(empty_database) == {"postgres schema": "run `tga migrate`"}


@pytest.mark.parametrize(
    ("changed", "remedy"),
    [
        ("tga:wrong@", "correct user and password"),
        ("/missing", "create it"),
        ("127.0.0.1:1", "start PostgreSQL"),
    ],
)
async def test_each_way_of_not_getting_in_has_its_own_remedy(
    database: dict[str, str], changed: str, remedy: str
) -> None:
    url = urlsplit(database["DATABASE_URL"])
    wrong = {
        "tga:wrong@": url._replace(netloc=url.netloc.replace("tga:tga@", "tga:wrong@")),
        "/missing": url._replace(path="/missing"),
        "127.0.0.1:1": url._replace(netloc="tga:tga@127.0.0.1:1"),
    }[changed]
    subjects = await bad_subjects({**database, "DATABASE_URL": wrong.geturl()})
    assert list(subjects) == ["postgres"]
    assert remedy in subjects["postgres"]


def test_clocks_that_are_apart_are_found() -> None:
    assert clock_skew("redis", 4.0) == []
    assert "12 s ahead of ours" in str(clock_skew("redis", 12.0)[0].what)
    assert "12 s behind ours" in str(clock_skew("redis", -12.0)[0].what)
