"""Counts of each stage for each minute of the last day."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.operations.due_work import MAX_ROWS
from telegram_assistant.stores.postgres.database import ApiTransactions, SystemTransactions


@dataclass(frozen=True, slots=True)
class StageMinute:
    """A stage in one minute: entries that it finished, failed attempts,
    and the most entries that waited for it.
    """

    minute: datetime
    stage: str
    processed: int
    failed: int
    lag: int


class StageMinutes:
    """A system store: workers write, each its own share."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def save(self, minutes: Sequence[StageMinute], *, instance: str) -> None:
        """Writes what this instance did so far in these minutes.

        May be repeated: later values replace earlier ones.
        """
        async with self._transactions.begin() as connection:
            await connection.execute(
                """
                INSERT INTO stage_minutes (minute, stage, instance, processed, failed, lag)
                SELECT m.minute, m.stage, $1, m.processed, m.failed, m.lag
                FROM unnest($2::timestamptz[], $3::text[], $4::bigint[], $5::bigint[],
                    $6::bigint[]) AS m(minute, stage, processed, failed, lag)
                ON CONFLICT (minute, stage, instance) DO UPDATE
                SET processed = excluded.processed, failed = excluded.failed, lag = excluded.lag
                """,
                instance,
                [minute.minute for minute in minutes],
                [minute.stage for minute in minutes],
                [minute.processed for minute in minutes],
                [minute.failed for minute in minutes],
                [minute.lag for minute in minutes],
            )

    async def forget(self, before: datetime, *, limit: int = MAX_ROWS) -> int:
        """Deletes so many older minutes, and the reports of processes that ended before; returns how many
        minutes.
        """
        async with self._transactions.begin() as connection:
            status = await connection.execute(
                "DELETE FROM stage_minutes WHERE ctid = ANY (ARRAY(SELECT ctid FROM stage_minutes "
                "WHERE minute < $1 LIMIT $2))",
                before,
                limit,
            )
            await connection.execute("DELETE FROM processes WHERE at < $1", before)
        return int(status.rpartition(" ")[2])


class Throughput:
    """For the operator; needs no rights on tables."""

    def __init__(self, transactions: ApiTransactions) -> None:
        self._transactions = transactions

    async def since(self, moment: datetime) -> tuple[StageMinute, ...]:
        """Every minute since then, added up over processes, in order."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch("SELECT * FROM operator_stage_minutes($1)", moment)
        return tuple(StageMinute(**dict(row)) for row in rows)
