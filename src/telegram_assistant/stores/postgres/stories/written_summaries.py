"""Summaries that a provider has written, each under the hash of what it was written from."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import TypeAdapter

from telegram_assistant.domain.operations.due_work import MAX_ROWS
from telegram_assistant.stores.postgres.database import SystemTransactions, TenantTransactions
from telegram_assistant.summaries.values import WrittenSummary

CONTENT = TypeAdapter(WrittenSummary)


class WrittenSummaries:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def find(self, materials: Sequence[bytes]) -> Mapping[bytes, WrittenSummary]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT material, content::text FROM written_summaries WHERE material = ANY ($1)",
                list(materials),
            )
        return {row["material"]: CONTENT.validate_json(row["content"]) for row in rows}

    async def keep(self, material: bytes, summary: WrittenSummary) -> None:
        """Keeps what was written first."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                "INSERT INTO written_summaries (material, content) VALUES ($1, $2::text::jsonb) "
                "ON CONFLICT DO NOTHING",
                material,
                CONTENT.dump_json(summary).decode(),
            )


class SummaryUpkeep:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def forget(self, before: datetime, *, limit: int = MAX_ROWS) -> int:
        """Deletes so many that were written before then. Returns how many."""
        async with self._transactions.begin() as connection:
            status = await connection.execute(
                "DELETE FROM written_summaries WHERE ctid = ANY (ARRAY(SELECT ctid FROM written_summaries "
                "WHERE written_at < $1 LIMIT $2))",
                before,
                limit,
            )
        return int(status.removeprefix("DELETE "))
