"""Alembic's entry point. The only file that imports SQLAlchemy, just to give Alembic a connection."""

import asyncio

from alembic import context
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

OWNER_SESSION = ("SET ROLE tga_owner", "SET lock_timeout = '5s'", "SET timezone = 'UTC'")
"""A migration that cannot get its lock gives up instead of queueing every reader behind itself."""


async def migrate(url: str) -> None:
    engine = create_async_engine(
        url.replace("postgres://", "postgresql://", 1).replace("postgresql://", "postgresql+asyncpg://", 1),
        poolclass=NullPool,
    )
    async with engine.connect() as connection:
        for statement in OWNER_SESSION:
            await connection.execute(text(statement))
        await connection.commit()
        await connection.run_sync(run)
    await engine.dispose()


def run(connection: Connection) -> None:
    context.configure(connection=connection, transaction_per_migration=True)
    with context.begin_transaction():
        context.run_migrations()


url = context.config.attributes["url"]
asyncio.run(migrate(url))
