import asyncio
from importlib import resources
from pathlib import Path

import asyncpg
import pytest
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import create_async_engine
from typer.testing import CliRunner

from telegram_assistant.cli import app
from telegram_assistant.domain.operations.diagnosis import Severity
from telegram_assistant.errors import CannotStart
from telegram_assistant.settings import read_settings
from telegram_assistant.stores.postgres.database import open_pool
from telegram_assistant.stores.postgres.migrating import migrate
from telegram_assistant.stores.postgres.migrations.indexes import add_index
from telegram_assistant.stores.postgres.operations.diagnostics import examine
from telegram_assistant.stores.postgres.operations.pooling import POOLER
from telegram_assistant.stores.postgres.schema import MIGRATIONS, require_schema, revisions


def silent(_sentence: str) -> None:
    pass


async def test_migrating_again_changes_nothing_and_says_nothing(empty_database: dict[str, str]) -> None:
    installation = read_settings(empty_database).database
    messages: list[str] = []
    first = await migrate(installation, tell=messages.append)
    assert messages
    assert not first.is_behind
    messages.clear()
    assert await migrate(installation, tell=messages.append) == first
    assert messages == []


async def test_a_schema_of_a_newer_release_is_named_and_left_as_it_is(empty_database: dict[str, str]) -> None:
    """The older program runs on it; whoever has rolled back must know why its migrations do nothing."""
    installation = read_settings(empty_database).database
    await migrate(installation, tell=silent)
    await execute(empty_database, "UPDATE alembic_version SET version_num = '9999'")
    messages: list[str] = []
    schema = await migrate(installation, tell=messages.append)
    assert (schema.revision, schema.is_behind, schema.is_newer) == ("9999", False, True)
    assert messages == []
    findings = {finding.subject: finding for finding in await examine(installation)}
    assert findings["postgres schema"].verdict is Severity.WARNING
    assert (
        str(findings["postgres schema"].what)
        == f"the schema is at 9999, newer than this program ({revisions()[-1]})"
    )
    assert [finding.verdict for subject, finding in findings.items() if subject != "postgres schema"] == [
        Severity.OK
    ] * (len(findings) - 1)
    assert {"postgres", "postgres api", "postgres system", "postgres ingest"} <= findings.keys()
    one_login = installation.model_copy(
        update={"url": installation.url, "system_url": None, "ingest_url": None}
    )
    subjects = [finding.subject for finding in await examine(one_login)]
    assert [subject for subject in subjects if subject != POOLER] == [
        "postgres",
        "postgres size",
        "postgres schema",
        "postgres login",
    ]


async def test_tga_migrate_says_that_the_schema_is_newer(empty_database: dict[str, str]) -> None:
    await migrate(read_settings(empty_database).database, tell=silent)
    await execute(empty_database, "UPDATE alembic_version SET version_num = '9999'")
    done = await asyncio.to_thread(CliRunner().invoke, app, ["migrate"], env=empty_database)
    assert done.exit_code == 0
    assert f"the schema is at 9999, newer than this program ({revisions()[-1]})" in " ".join(
        done.stdout.split()
    )
    quiet = await asyncio.to_thread(CliRunner().invoke, app, ["migrate", "--quiet"], env=empty_database)
    assert (quiet.exit_code, quiet.stdout) == (0, "")


async def execute(environ: dict[str, str], statement: str) -> None:
    connection = await asyncpg.connect(environ["DATABASE_ADMIN_URL"])
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


def test_migrations_are_named_after_the_chain_that_they_form() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    chain = [step.revision for step in ScriptDirectory.from_config(config).walk_revisions()]
    assert tuple(reversed(chain)) == revisions()


async def test_the_default_tenant_is_the_operator(empty_database: dict[str, str]) -> None:
    await migrate(read_settings(empty_database).database, tell=silent)
    connection = await asyncpg.connect(empty_database["DATABASE_ADMIN_URL"])
    try:
        assert [tuple(row) for row in await connection.fetch("SELECT name, is_operator FROM tenants")] == [
            ("default", True)
        ]
    finally:
        await connection.close()


@pytest.mark.turns("DATABASE_ADMIN_URL")
async def test_migrate_uses_the_admin_login_and_makes_the_plain_one(
    empty_database: dict[str, str], worker: str
) -> None:
    login = f"reader_{worker}"
    plain = {
        "DATABASE_URL": empty_database["DATABASE_URL"].replace("tga:tga@", f"{login}:p%40ss'word@"),
        "DATABASE_SYSTEM_URL": "",
        "DATABASE_INGEST_URL": "",
        "DATABASE_DIRECT_URL": "",
    }
    with pytest.raises(CannotStart, match="cannot be used"):
        await migrate(
            read_settings({**empty_database, **plain, "DATABASE_ADMIN_URL": ""}).database, tell=silent
        )
    admin = await asyncpg.connect(empty_database["DATABASE_ADMIN_URL"])
    try:
        await admin.execute(f"DROP ROLE IF EXISTS {login}")
        await migrate(read_settings({**empty_database, **plain}).database, tell=silent)
        async with open_pool(read_settings({**empty_database, **plain}).database) as pool:
            await require_schema(pool, role="tga_system")
        role = await admin.fetchrow(
            "SELECT rolinherit, rolsuper, rolbypassrls, rolcreaterole FROM pg_roles WHERE rolname = $1", login
        )
        assert role is not None
        assert not any(role)
    finally:
        await admin.execute(f"DROP ROLE IF EXISTS {login}")
        await admin.close()


async def test_a_login_that_may_not_migrate_is_told_what_to_do(empty_database: dict[str, str]) -> None:
    await migrate(read_settings(empty_database).database, tell=silent)
    without_admin = read_settings({**empty_database, "DATABASE_ADMIN_URL": ""}).database
    with pytest.raises(CannotStart, match="DATABASE_ADMIN_URL"):
        await migrate(without_admin, tell=silent)


async def test_two_migrations_at_once_end_well(empty_database: dict[str, str]) -> None:
    installation = read_settings(empty_database).database
    first, second = await asyncio.gather(
        migrate(installation, tell=silent), migrate(installation, tell=silent)
    )
    assert first == second


async def test_the_program_refuses_an_older_schema_and_accepts_a_newer_one(
    empty_database: dict[str, str],
) -> None:
    installation = read_settings(empty_database).database
    await migrate(installation, tell=silent)
    admin = await asyncpg.connect(empty_database["DATABASE_ADMIN_URL"])
    try:
        async with open_pool(installation) as pool:
            await admin.execute("UPDATE alembic_version SET version_num = '9999'")
            await require_schema(pool, role="tga_api")
            await admin.execute("DELETE FROM alembic_version")
            with pytest.raises(CannotStart, match="tga migrate"):
                await require_schema(pool, role="tga_api")
    finally:
        await admin.close()


def test_migrations_go_forward_only() -> None:
    for file in Path(str(resources.files("telegram_assistant.stores.postgres") / "migrations/versions")).glob(
        "[0-9]*.py"
    ):
        assert "def downgrade" not in file.read_text(encoding="utf-8"), file.name


async def test_an_index_is_added_while_writers_write_and_after_an_interruption(
    empty_database: dict[str, str],
) -> None:
    await migrate(read_settings(empty_database).database, tell=silent)
    admin = await asyncpg.connect(empty_database["DATABASE_ADMIN_URL"])
    engine = create_async_engine(
        empty_database["DATABASE_ADMIN_URL"].replace("postgresql://", "postgresql+asyncpg://")
    )

    def build(connection: Connection) -> None:
        context = MigrationContext.configure(connection, opts={"transaction_per_migration": True})
        with context.begin_transaction(_per_migration=True), Operations.context(context):
            add_index("posts", "posts_author", "(author) WHERE author IS NOT NULL")

    writing = asyncio.Event()

    async def write() -> int:
        written = 0
        while not writing.is_set():
            written += 1
            await admin.execute(
                """
                INSERT INTO posts (channel_id, message_id, posted_at, stored_at, content_hash, kind, text,
                    author)
                VALUES ($1, 1, now(), now(), '', 'text', '', 'a')
                """,
                written,
            )
        return written

    writer = asyncio.create_task(write())
    try:
        for _ in range(2):  # the second time as after an interruption: nothing is left to do
            async with engine.connect() as connection:
                await connection.run_sync(build)
        writing.set()
        assert await writer > 0
        valid = await admin.fetchval(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = 'posts_author'::regclass"
        )
        parts = await admin.fetchval(
            "SELECT count(*) FROM pg_inherits WHERE inhparent = 'posts_author'::regclass"
        )
        assert (valid, parts) == (True, 16)
    finally:
        writing.set()
        await engine.dispose()
        await admin.close()
