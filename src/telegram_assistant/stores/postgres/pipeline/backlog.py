"""The backlog in PostgreSQL, the last runs of jobs, and parked channels, over all tenants.

For the operator.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from telegram_assistant.stores.postgres.channels.schedule import Parked, parked_channel
from telegram_assistant.stores.postgres.database import ApiTransactions, SystemTransactions
from telegram_assistant.stores.postgres.operations.job_runs import JobRun


class Queue(StrEnum):
    """A queue of waiting entries."""

    OUTBOX = "outbox"
    """Post revisions that have not passed the pipeline, by lane."""
    BACKFILLS = "backfills"
    """Open backfills, by kind."""
    DEAD_LETTERS = "dead_letters"
    """Dead letters, by stage."""
    PARKED = "parked"
    """Parked channels."""


@dataclass(frozen=True, slots=True)
class BacklogEntry:
    """How much waits in a queue, and since when the oldest does; None where that is not known."""

    queue: Queue
    kind: str
    entries: int
    oldest_at: datetime | None


class Backlog:
    """Needs no rights on tables. The worker measures what waits, the operator reads it."""

    def __init__(self, transactions: ApiTransactions | SystemTransactions) -> None:
        self._transactions = transactions

    async def entries(self) -> tuple[BacklogEntry, ...]:
        """Everything that waits. A queue without entries is left out."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch("SELECT * FROM operator_backlog()")
        return tuple(
            BacklogEntry(Queue(row["queue"]), row["kind"], row["entries"], row["oldest_at"]) for row in rows
        )


class OperatorBacklog(Backlog):
    """For the operator, by name: jobs and parked channels."""

    def __init__(self, transactions: ApiTransactions) -> None:
        super().__init__(transactions)

    async def job_runs(self) -> dict[str, JobRun]:
        """The last run of every job."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch("SELECT * FROM operator_job_runs()")
        return {
            row["job"]: JobRun(**{name: value for name, value in row.items() if name != "job"})
            for row in rows
        }

    async def list_parked_channels(self, *, limit: int) -> tuple[Parked, ...]:
        """Parked channels, the next to be retried first."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch("SELECT * FROM operator_parked_channels($1)", limit)
        return tuple(parked_channel(row) for row in rows)
