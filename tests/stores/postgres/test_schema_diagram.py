"""docs/schema.md shows the tables that the migrations make."""

import asyncpg

from telegram_assistant.settings import read_settings
from telegram_assistant.stores.postgres.migrating import migrate
from testkit.schema_diagram import PAGE, draw_page, read_schema


async def test_the_schema_page_shows_a_freshly_migrated_database(empty_database: dict[str, str]) -> None:
    """A database of its own: other tests leave half-made projections behind."""
    await migrate(read_settings(empty_database).database, tell=lambda _: None)
    connection = await asyncpg.connect(empty_database["DATABASE_ADMIN_URL"])
    try:
        text = draw_page(*await read_schema(connection))
    finally:
        await connection.close()
    assert PAGE.read_text(encoding="utf-8") == text, "run `python -m testkit.schema_diagram` with DATABASE_ADMIN_URL of a migrated database"
