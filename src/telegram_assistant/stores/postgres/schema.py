"""Compares a database's schema revision with the one this release needs,
without loading the migration code.
"""

from dataclasses import dataclass
from functools import cache
from importlib import resources

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from telegram_assistant.errors import CannotStart
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.database import Pool

type Connection = asyncpg.Connection[asyncpg.Record] | PoolConnectionProxy[asyncpg.Record]

MIGRATIONS = resources.files("telegram_assistant.stores.postgres") / "migrations"


@dataclass(frozen=True, slots=True)
class Schema:
    """The revision of a database, and the head revision of this release."""

    revision: str | None
    head: str
    is_behind: bool

    @property
    def is_newer(self) -> bool:
        """Whether a newer release has migrated the database.

        This one runs on it, and has nothing to migrate.
        """
        return self.revision is not None and self.revision not in revisions()

    @property
    def place(self) -> Reason:
        """The state of the schema, for people."""
        if self.is_newer:
            return Reason(
                "schema_newer",
                "the schema is at {revision}, newer than this program ({head})",
                revision=self.revision or "",
                head=self.head,
            )
        return Reason("schema_at", "the schema is at {revision}", revision=self.revision or "–")


@cache
def revisions() -> tuple[str, ...]:
    """All revisions that this release knows, in order: the numbers in the names of the migrations."""
    return tuple(
        sorted(
            file.name.partition("_")[0]
            for file in (MIGRATIONS / "versions").iterdir()
            if file.name[0].isdigit()
        )
    )


async def load_schema(connection: Connection, *, role: str) -> Schema:
    """Reads the database's revision as a role that the login may take."""
    async with connection.transaction():
        await connection.execute(f"SET LOCAL ROLE {role}")
        if await connection.fetchval("SELECT to_regproc('schema_revision')") is None:
            return schema_at(None)  # older than this function, or empty
        return schema_at(await connection.fetchval("SELECT schema_revision()"))


def schema_at(revision: str | None) -> Schema:
    known_revisions, head_revision = revisions(), revisions()[-1]
    # An unknown revision belongs to a newer release, and older code runs on it.
    return Schema(
        revision,
        head_revision,
        is_behind=revision is None or (revision in known_revisions and revision != head_revision),
    )


async def require_schema(pool: Pool, *, role: str) -> None:
    """Raises CannotStart if this release cannot run on the database as it is."""
    remedy = Reason("run_migrate", "Run `tga migrate`")
    try:
        async with pool.acquire() as connection:
            schema = await load_schema(connection, role=role)
    except asyncpg.PostgresError as error:
        reason = Reason(
            "login_may_not_work",
            "the login has no rights in this database ({error})",
            error=type(error).__name__,
        )
        raise CannotStart(reason, remedy=remedy) from error
    if schema.is_behind:
        reason = Reason(
            "schema_behind",
            "the schema is at {revision}, this version needs {head}",
            revision=schema.revision or "–",
            head=schema.head,
        )
        raise CannotStart(reason, remedy=remedy)
