"""Tables partitioned by month: creates future partitions ahead of time and drops expired ones whole."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from telegram_assistant.stores.postgres.database import SystemTransactions


@dataclass(frozen=True, slots=True)
class MonthlyTable:
    """A table partitioned by month. `keep` is the retention of its rows; None means for ever."""

    table: str
    keep: timedelta | None = None


BY_MONTH = (
    MonthlyTable("post_raw", keep=timedelta(days=30)),
    MonthlyTable("post_search"),
    MonthlyTable("post_counts"),
    MonthlyTable("usage"),
    MonthlyTable("audit_log"),
)

MONTHS_AHEAD = 3


@dataclass(frozen=True, slots=True)
class PartitionWork:
    """The partitions that one pass created and dropped."""

    made: tuple[str, ...]
    dropped: tuple[str, ...]


class Partitions:
    """A system store.

    It calls two database functions, which run with the owner's rights and do nothing else.
    """

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def keep_up(self, now: datetime) -> PartitionWork:
        """Creates the partitions of the coming months,
        and drops those whose last row is older than the table's retention.
        """
        created_partitions: list[str] = []
        dropped_partitions: list[str] = []
        for table in BY_MONTH:
            for begin, end in months_from(now, MONTHS_AHEAD):
                async with self._transactions.begin() as connection:
                    name = await connection.fetchval(
                        "SELECT make_partition($1::text, $2, $3)", table.table, begin, end
                    )
                created_partitions.extend([name] if name else [])
            if table.keep is not None:
                async with self._transactions.begin() as connection:
                    names = await connection.fetchval(
                        "SELECT drop_partitions($1::text, $2)", table.table, now - table.keep
                    )
                dropped_partitions.extend(names)
        return PartitionWork(tuple(created_partitions), tuple(dropped_partitions))


def months_from(now: datetime, ahead: int) -> Iterator[tuple[datetime, datetime]]:
    """The month of `now` and the next `ahead` months, each as [begin, end) in UTC."""
    begin = now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    for _ in range(ahead + 1):
        end = (begin + timedelta(days=32)).replace(day=1)
        yield begin, end
        begin = end


def slices_of(oldest: datetime, now: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Partitions of the search index: months for this year, the last one and the months ahead;
    years for older posts.
    """
    recent = datetime(now.year - 1, 1, 1, tzinfo=UTC)
    for year in range(oldest.year, recent.year):
        yield datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)
    begin = max(recent, oldest)
    months = (now.year - begin.year) * 12 + now.month - begin.month
    yield from months_from(begin, months + MONTHS_AHEAD)
