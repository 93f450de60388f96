"""Runs of periodic jobs: one row per job and period, claimed once across all replicas."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from telegram_assistant.stores.postgres.database import SystemTransactions


@dataclass(frozen=True, slots=True)
class JobRun:
    """A job's last run anywhere in the installation."""

    period_start: datetime
    instance: str
    started_at: datetime
    finished_at: datetime | None
    error: str | None


class JobRuns:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def claim(self, job: str, period_start: datetime, *, instance: str, lease: timedelta) -> bool:
        """Returns True for exactly one caller per period, and for another one after that caller's lease has ended."""
        async with self._transactions.begin() as connection:
            claimed = await connection.execute(
                """
                INSERT INTO job_runs AS r (job, period_start, instance, lease_until) VALUES ($1, $2, $3, now() + $4)
                ON CONFLICT (job, period_start) DO UPDATE
                SET instance = excluded.instance, lease_until = excluded.lease_until, started_at = now()
                WHERE r.finished_at IS NULL AND r.lease_until < now()
                """,
                job,
                period_start,
                instance,
                lease,
            )
        return claimed == "INSERT 0 1"

    async def finish(self, job: str, period_start: datetime, *, error: str | None) -> None:
        """Records the result, and deletes all but the last thousand runs."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                "UPDATE job_runs SET finished_at = now(), error = $3 WHERE job = $1 AND period_start = $2", job, period_start, error
            )
            await connection.execute(
                """
                DELETE FROM job_runs WHERE job = $1 AND period_start < (
                    SELECT period_start FROM job_runs WHERE job = $1 ORDER BY period_start DESC OFFSET 999 LIMIT 1)
                """,
                job,
            )

    async def last(self, job: str) -> JobRun | None:
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(
                """
                SELECT period_start, instance, started_at, finished_at, error FROM job_runs
                WHERE job = $1 ORDER BY period_start DESC LIMIT 1
                """,
                job,
            )
        return JobRun(**dict(row)) if row else None
