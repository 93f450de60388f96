"""How rare terms are among recent posts: tables of counts, each for the posts from one day on.

each day     a table for tomorrow, which weighs no post yet
growth       when stored posts have doubled, a table instead of all others: what was rare among few is not
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from telegram_assistant.domain.stories.dated_weights import DatedWeights
from telegram_assistant.domain.stories.terms import TermWeights
from telegram_assistant.stores.postgres.database import Connection

COUNTED_TEXTS = 50_000
MAX_COUNTED_TERMS = 100_000
MIN_COUNT = 3
COUNTING = 41_002
"""The number of the lock of who counts; nobody waits for it."""


@dataclass(frozen=True, slots=True)
class CountedTable:
    """A stored table; its counts are loaded where they are needed."""

    number: int
    day: date
    texts: int
    weights: TermWeights | None


def table_of(tables: Sequence[CountedTable], day: date) -> CountedTable | None:
    """The table that weighs the posts of a day."""
    earlier = [table for table in tables if table.day <= day]
    return earlier[-1] if earlier else next(iter(tables), None)


async def load_tables(
    connection: Connection, loaded: Mapping[int, TermWeights], since: datetime, until: datetime
) -> list[CountedTable]:
    """All tables, the oldest first, with the weights of those that weigh posts of this period."""
    rows = await connection.fetch(TABLES, list(loaded), _day_of(since), _day_of(until))
    return [
        CountedTable(
            row["number"],
            row["day"],
            row["texts"],
            loaded.get(row["number"])
            if row["terms"] is None
            else TermWeights.from_counts(row["texts"], dict(zip(row["terms"], row["counts"], strict=True))),
        )
        for row in rows
    ]


def dated_weights(tables: Sequence[CountedTable]) -> DatedWeights:
    """Those tables of which the weights are loaded."""
    loaded = [(table.day, table.weights) for table in tables if table.weights is not None]
    return DatedWeights(tuple(day for day, _ in loaded), tuple(weights for _, weights in loaded))


async def count_again(connection: Connection, now: datetime) -> bool:
    """Counts for tomorrow if nothing is counted for it, or for all days if posts have doubled.

    Returns whether it did. One process counts at a time, and the others go on.
    """
    if not await connection.fetchval("SELECT pg_try_advisory_xact_lock($1)", COUNTING):
        return False
    rows = await connection.fetch("SELECT number, day, texts FROM term_counts ORDER BY day")
    tables = [CountedTable(row["number"], row["day"], row["texts"], None) for row in rows]
    today = _day_of(now)
    current = table_of(tables, today)
    texts = current.texts if current is not None else 0
    if texts < COUNTED_TEXTS:
        stored: int = await connection.fetchval(STORED_TEXTS, COUNTED_TEXTS)
        if stored >= max(2 * texts, 1):
            await connection.execute(COUNT, now, today, COUNTED_TEXTS, MIN_COUNT, MAX_COUNTED_TERMS)
            await connection.execute("DELETE FROM term_counts WHERE number <= $1", _newest(tables))
            return True
    if current is None or any(table.day > today for table in tables):
        return False
    await connection.execute(
        COUNT, now, today + timedelta(days=1), COUNTED_TEXTS, MIN_COUNT, MAX_COUNTED_TERMS
    )
    return True


def _newest(tables: Sequence[CountedTable]) -> int:
    return max((table.number for table in tables), default=0)


def _day_of(moment: datetime) -> date:
    return moment.astimezone(UTC).date()


TABLES = """
-- $1 tables that are loaded, $2 and $3 the first and last day of the posts
SELECT number, day, texts, CASE WHEN is_wanted THEN terms END AS terms,
    CASE WHEN is_wanted THEN counts END AS counts
FROM (
    SELECT t.*, t.number <> ALL ($1::int[])
        AND (lead(t.day) OVER days IS NULL OR lead(t.day) OVER days > $2::date)
        AND (t.day <= $3::date OR lag(t.day) OVER days IS NULL) AS is_wanted
    FROM term_counts t WINDOW days AS (ORDER BY t.day)
) t ORDER BY day
"""

STORED_TEXTS = "SELECT count(*) FROM (SELECT 1 FROM post_terms WHERE NOT is_private LIMIT $1) s"

COUNT = """
-- $1 now, $2 the first day of the posts that it weighs, $3 the most texts, $4 the least posts of a term, $5
-- the most terms
WITH newest AS MATERIALIZED (
    SELECT terms || names || numbers AS terms FROM post_terms WHERE NOT is_private
    ORDER BY posted_at DESC LIMIT $3
),
counted AS (
    SELECT term, count(*)::int AS posts FROM (SELECT unnest(terms) AS term FROM newest) t
    GROUP BY term HAVING count(*) >= $4 ORDER BY count(*) DESC, term LIMIT $5
)
INSERT INTO term_counts (number, made_at, day, texts, terms, counts)
SELECT (SELECT coalesce(max(number), 0) + 1 FROM term_counts), $1, $2, (SELECT count(*)::int FROM newest),
    coalesce(array_agg(term), '{}'), coalesce(array_agg(posts), '{}') FROM counted
"""

FORGET_TABLES = """
DELETE FROM term_counts
WHERE day < (SELECT max(day) FROM term_counts WHERE day <= $1::timestamptz::date)
"""
"""All that weigh no post from this moment on."""
