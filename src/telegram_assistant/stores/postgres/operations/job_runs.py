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

    async def claim(
        self, job: str, period_start: datetime, *, instance: str, lease: timedelta
    ) -> datetime | None:
        """Returns the period to work for, to exactly one instance: one that a lost process left unfinished,
        else this one; None if nothing is to do.

        An instance gets again what it left unfinished itself, so it must not claim a job that it runs.
        """
        async with self._transactions.begin() as connection:
            abandoned_at: datetime | None = await connection.fetchval(
                TAKE_OVER, job, period_start, instance, lease
            )
            return abandoned_at or await connection.fetchval(CLAIM, job, period_start, instance, lease)

    async def finish(self, job: str, period_start: datetime, *, instance: str, error: str | None) -> bool:
        """Records the result, and deletes all but the last thousand runs.

        Returns False if another instance has taken over meanwhile.
        """
        async with self._transactions.begin() as connection:
            finished_text = await connection.execute(
                "UPDATE job_runs SET finished_at = now(), error = $4 WHERE job = $1 AND period_start = $2 "
                "AND instance = $3 AND finished_at IS NULL",
                job,
                period_start,
                instance,
                error,
            )
            await connection.execute(
                """
                DELETE FROM job_runs WHERE job = $1 AND period_start < (
                    SELECT period_start FROM job_runs WHERE job = $1
                    ORDER BY period_start DESC OFFSET 999 LIMIT 1)
                """,
                job,
            )
        return finished_text == "UPDATE 1"

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


TAKE_OVER = """
UPDATE job_runs SET instance = $3, lease_until = now() + $4, started_at = now()
WHERE (job, period_start) = (
    SELECT job, period_start FROM job_runs
    WHERE job = $1 AND period_start < $2 AND finished_at IS NULL AND (lease_until < now() OR instance = $3)
    ORDER BY period_start LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING period_start
"""
"""$1 job, $2 the current period, $3 instance, $4 lease."""

CLAIM = """
INSERT INTO job_runs AS r (job, period_start, instance, lease_until) VALUES ($1, $2, $3, now() + $4)
ON CONFLICT (job, period_start) DO UPDATE
SET instance = excluded.instance, lease_until = excluded.lease_until, started_at = now()
WHERE r.finished_at IS NULL AND (r.lease_until < now() OR r.instance = excluded.instance)
RETURNING period_start
"""
"""$1 job, $2 the current period, $3 instance, $4 lease."""
