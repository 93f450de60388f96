"""docs/schema.md shows the tables that the migrations make."""

import asyncpg

from testkit.schema_diagram import SCHEMA_PAGE, draw_page, read_schema


async def test_the_schema_page_shows_a_freshly_migrated_database(migrated_database: dict[str, str]) -> None:
    """A database of its own: other tests leave half-made projections behind."""
    connection = await asyncpg.connect(migrated_database["DATABASE_ADMIN_URL"])
    try:
        text = draw_page(*await read_schema(connection))
    finally:
        await connection.close()
    assert SCHEMA_PAGE.read_text(encoding="utf-8") == text, (
        "run `python -m testkit.schema_diagram` with DATABASE_ADMIN_URL of a migrated database"
    )
