"""The last report of every process about itself.

Each method calls one database function that may do just that.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from telegram_assistant.stores.postgres.database import ApiTransactions
from telegram_assistant.telemetry.health import Fact
from telegram_assistant.telemetry.scraping import Metrics, Sample

type Parts = Mapping[str, Mapping[str, Mapping[str, Fact]]]
"""Health reports by role and part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessReport:
    """The report of a process about itself."""

    instance: str
    roles: tuple[str, ...]
    version: str
    parts: Parts
    metrics: Metrics
    servers_away: Mapping[str, str]
    """The required servers that do not answer this process, each with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownProcess(ProcessReport):
    """A process by its last report.

    PostgreSQL's clock measures the age, so clocks of other machines do not matter.
    """

    started_at: datetime
    at: datetime
    stopped_at: datetime | None
    """Set by a process that has stopped cleanly."""
    age_seconds: float


class Processes:
    """For every process, whatever its database login; needs no rights on tables."""

    def __init__(self, transactions: ApiTransactions) -> None:
        self._transactions = transactions

    async def report(self, report: ProcessReport, *, is_last: bool = False) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(
                "SELECT report_process($1, $2, $3, $4, $5, $6, $7)",
                report.instance,
                list(report.roles),
                report.version,
                json.dumps(report.parts),
                json.dumps(
                    [[sample.name, dict(sample.labels), sample.value] for sample in report.metrics.samples]
                ),
                json.dumps(report.servers_away),
                is_last,
            )

    async def all(self) -> tuple[KnownProcess, ...]:
        """Every process that has reported within the last hour, the oldest first."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch("SELECT * FROM operator_processes()")
        return tuple(_process(row) for row in rows)


def _process(row: asyncpg.Record) -> KnownProcess:
    samples: Sequence[tuple[str, dict[str, str], float]] = json.loads(row["samples"])
    return KnownProcess(
        instance=row["instance"],
        roles=tuple(row["roles"]),
        version=row["version"],
        parts=json.loads(row["parts"]),
        metrics=Metrics(tuple(Sample(name, labels, value) for name, labels, value in samples)),
        servers_away=json.loads(row["servers_away"]),
        started_at=row["started_at"],
        at=row["at"],
        stopped_at=row["stopped_at"],
        age_seconds=max(0.0, row["age_seconds"]),
    )
