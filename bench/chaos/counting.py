"""Compares the posts that each ingest process counts as parsed with the posts that it inserted, at the last
scrape of the process.

A trigger notes for every inserted post which process inserted it, by a setting in that process's
DATABASE_URL. The last scrape of a process that was killed or stopped may leave out posts inserted shortly
before. For a process that lives until the end, when all is quiet, the count must be exact.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import httpx
from prometheus_client.parser import text_string_to_metric_families

WITNESS = """
CREATE TABLE inserted_by (life text, txid xid8 DEFAULT pg_current_xact_id(),
    at timestamptz DEFAULT clock_timestamp());
GRANT INSERT ON inserted_by TO PUBLIC;
CREATE FUNCTION witness() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO inserted_by (life) VALUES (current_setting('bench.life', true)); RETURN NULL; END $$;
CREATE TRIGGER witness AFTER INSERT ON posts FOR EACH ROW EXECUTE FUNCTION witness();
"""
INSERTED = (
    "SELECT life, count(*) AS posts, extract(epoch FROM max(at))::float8 AS at FROM inserted_by "
    "GROUP BY life, txid ORDER BY 3"
)
SCRAPE_SECONDS = 0.5
UNDER_WAY_SECONDS = 1.0
"""A page may be inserted before a scrape, and committed after it."""
MAY_BE_LATE_SECONDS = 10.0
"""How long before its last scrape an ended process may have inserted posts that it had not counted:
PostgreSQL was away, and came back.
"""


@dataclass
class Life:
    """One process from its start to its end."""

    name: str
    port: int
    counted: int = 0
    scraped_at: float = 0.0
    """When the last scrape began. Zero: it never answered."""


@dataclass
class Counting:
    """Scrapes all processes until it is stopped."""

    lives: list[Life] = field(default_factory=list)

    def environ(self, environ: dict[str, str], port: int) -> dict[str, str]:
        """The environment of a process that starts now."""
        life = Life(f"life-{len(self.lives)}", port)
        self.lives.append(life)
        urls = {
            name: _with_life(value, life.name)
            for name, value in environ.items()
            if name.startswith("DATABASE_") and name.endswith("URL")
        }
        return {**environ, **urls, "INGEST_PORT": str(port)}

    async def run(self) -> None:
        async with httpx.AsyncClient(timeout=2.0, trust_env=False) as client:
            while True:
                await asyncio.gather(*(_scrape(client, life) for life in self.lives))
                await asyncio.sleep(SCRAPE_SECONDS)

    async def judge(self, admin: "asyncpg.Connection[asyncpg.Record]", *, alive: Sequence[str]) -> "Counted":
        """`alive` are the lives that have not ended."""
        inserted: dict[str, list[tuple[int, float]]] = {life.name: [] for life in self.lives}
        for row in await admin.fetch(INSERTED):
            inserted[row["life"]].append((row["posts"], row["at"]))
        result = Counted()
        for life in self.lives:
            pages = inserted[life.name]
            total = sum(posts for posts, _ in pages)
            result.posts_inserted += total
            result.posts_counted += life.counted
            result.left_out += total - life.counted
            certain_until = life.scraped_at - (
                UNDER_WAY_SECONDS if life.name in alive else MAY_BE_LATE_SECONDS
            )
            late = [posts for posts, at in pages if at > certain_until]
            if life.counted not in _sums(total - sum(late), late):
                result.wrong.append(
                    f"{life.name}: {life.counted} counted, {total} inserted, {sum(late)} of them late"
                )
        return result


@dataclass
class Counted:
    """The counts over all lives."""

    posts_counted: int = 0
    posts_inserted: int = 0
    left_out: int = 0
    """Inserted by processes that ended before the next scrape."""
    wrong: list[str] = field(default_factory=list)


async def _scrape(client: httpx.AsyncClient, life: Life) -> None:
    began = time.time()
    try:
        answer = await client.get(f"http://127.0.0.1:{life.port}/metrics")
    except httpx.HTTPError:
        return
    families = text_string_to_metric_families(answer.text)
    counted = sum(
        sample.value
        for family in families
        for sample in family.samples
        if sample.name == "posts_parsed_total"
    )
    life.counted, life.scraped_at = int(counted), began


def _with_life(url: str, life: str) -> str:
    address = urlsplit(url)
    return urlunsplit(address._replace(query=f"{address.query}&bench.life={life}".lstrip("&")))


def _sums(certain: int, late: Sequence[int]) -> set[int]:
    """The totals that a correct counter may show: the certain posts plus any of the late pages."""
    sums = {certain}
    for posts in late:
        sums |= {total + posts for total in sums}
    return sums
