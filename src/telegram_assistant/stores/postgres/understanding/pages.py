"""Linked pages: each is read once for all tenants, under a lease,
and its facts are stored with the posts that link to it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

import asyncpg
from pydantic_core import to_json

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.operations.due_work import MAX_ROWS
from telegram_assistant.domain.posts.links import canonical_url
from telegram_assistant.domain.posts.post import Json
from telegram_assistant.domain.understanding.pages import LinkedPage, PageStatus, lifetime_of
from telegram_assistant.reasons import dump_reason, load_reason
from telegram_assistant.stores.postgres.database import SystemTransactions

KIND, TIER = "crawl", "local"


@dataclass(frozen=True, slots=True)
class PageClaim:
    """The result of a claim: `ours` to read, or `known`; with neither, another process is reading it."""

    ours: bool
    attempts: int = 0
    """Failed attempts in a row."""
    known: LinkedPage | None = None


class LinkedPages:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def claim(self, urls: Sequence[str], *, owner: str, lease: timedelta) -> Mapping[str, PageClaim]:
        """Claims the pages that are neither known nor being read.

        The caller calls finish() or release() for each of its own.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(CLAIM, [_hash(url) for url in urls], list(urls), owner, lease)
        return {
            row["asked_url"]: PageClaim(
                row["ours"], row["attempts"] or 0, None if row["ours"] or not row["fresh"] else _page(row)
            )
            for row in rows
        }

    async def load_fresh(self, urls: Sequence[str]) -> Mapping[str, LinkedPage]:
        """The pages whose stored result has not expired."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(KNOWN, [_hash(url) for url in urls], list(urls))
        return {row["asked_url"]: _page(row) for row in rows}

    async def finish(self, url: str, page: LinkedPage, *, owner: str, attempt_count: int) -> None:
        """Stores the result if the lease is still ours, also under the final URL after redirects."""
        has_failed = page.status in {PageStatus.FAILED, PageStatus.TOO_SLOW}
        now_attempts = attempt_count + 1 if has_failed else 0
        values = (
            page.url,
            page.canonical_url,
            page.status.value,
            dump_reason(page.why) or "",
            page.title,
            page.author,
            page.published_at,
            page.lang,
            page.text,
            page.image_url,
            page.by_browser,
            now_attempts,
            lifetime_of(page.status, now_attempts),
        )
        async with self._transactions.begin() as connection:
            is_finished = await connection.fetchval(FINISH, _hash(url), owner, *values)
            found_at = canonical_url(page.url)
            if is_finished and page.status is PageStatus.READ and found_at != url:
                await connection.execute(ALSO_AT, _hash(found_at), found_at, *values)

    async def release(self, urls: Sequence[str], *, owner: str) -> None:
        """Ends the leases without a result, so that another process may read the pages."""
        async with self._transactions.begin() as connection:
            await connection.execute(RELEASE, [_hash(url) for url in urls], owner)

    async def note(self, noted: Sequence[tuple[PostId, int, Mapping[str, Json]]]) -> None:
        """Adds facts from links to posts of these revisions;
        an older revision never overwrites a newer one.
        """
        post_ids = [post_id for post_id, _, _ in noted]
        async with self._transactions.begin() as connection:
            await connection.execute(
                NOTE,
                [post_id.channel_id for post_id in post_ids],
                [post_id.message_id for post_id in post_ids],
                [revision for _, revision, _ in noted],
                [to_json(facts).decode() for _, _, facts in noted],
            )

    async def select_read(self, post_revisions: Sequence[tuple[PostId, int]]) -> set[PostId]:
        """The posts whose links were read for exactly this revision."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                READ_FOR,
                [post_id.channel_id for post_id, _ in post_revisions],
                [post_id.message_id for post_id, _ in post_revisions],
                [revision for _, revision in post_revisions],
            )
        return {PostId(row["channel_id"], row["message_id"]) for row in rows}

    async def forget(self, before: datetime, *, limit: int = MAX_ROWS) -> int:
        """Deletes so many pages that expired before then; posts keep their excerpts. Returns how many."""
        async with self._transactions.begin() as connection:
            status = await connection.execute(
                "DELETE FROM pages WHERE ctid = ANY (ARRAY(SELECT ctid FROM pages WHERE expires_at < $1 "
                "LIMIT $2))",
                before,
                limit,
            )
        return int(status.rpartition(" ")[2])


def _hash(url: str) -> bytes:
    return sha256(url.encode()).digest()


def _page(row: asyncpg.Record) -> LinkedPage:
    return LinkedPage(
        url=row["found_at"],
        status=PageStatus(row["status"]),
        title=row["title"],
        author=row["author"],
        published_at=row["published_at"],
        lang=row["lang"],
        text=row["text"],
        image_url=row["image_url"],
        canonical_url=row["canonical_url"],
        why=load_reason(row["why"] or None),
        by_browser=row["by_browser"],
    )


# Rows are locked in one order, so that two posts with the same links cannot deadlock.
CLAIM = """
WITH wanted AS (SELECT DISTINCT ON (url_hash) * FROM unnest($1::bytea[], $2::text[]) AS w(url_hash, asked_url)
    ORDER BY url_hash),
taken AS (
    INSERT INTO pages (url_hash, url, leased_by, leased_until)
    SELECT url_hash, asked_url, $3, now() + $4::interval FROM wanted
    ON CONFLICT (url_hash) DO UPDATE SET leased_by = excluded.leased_by, leased_until = excluded.leased_until
    WHERE (pages.expires_at IS NULL OR pages.expires_at <= now())
        AND (pages.leased_until IS NULL OR pages.leased_until <= now())
    RETURNING url_hash
)
SELECT w.asked_url, t.url_hash IS NOT NULL AS ours, coalesce(p.expires_at > now(), false) AS fresh, p.*
FROM wanted w LEFT JOIN taken t USING (url_hash) LEFT JOIN pages p USING (url_hash)
"""

KNOWN = """
SELECT w.asked_url, p.* FROM unnest($1::bytea[], $2::text[]) AS w(url_hash, asked_url)
JOIN pages p USING (url_hash) WHERE p.expires_at > now()
"""

# $3 final URL, $4 canonical URL, $5 status, $6 reason, $7 title, $8 author, $9 published at, $10 language,
# $11 text, $12 image URL, $13 whether a browser read it, $14 failed attempts, $15 how long the result holds.
# FINISH: $1 URL hash, $2 lease owner. ALSO_AT: $1 URL hash, $2 URL.
_SET = """
    found_at = $3, canonical_url = $4, status = $5, why = $6, title = $7, author = $8, published_at = $9,
    lang = $10, text = $11, image_url = $12, by_browser = $13, attempts = $14, fetched_at = now(),
    expires_at = now() + $15::interval, leased_by = NULL, leased_until = NULL
"""

FINISH = f"UPDATE pages SET {_SET} WHERE url_hash = $1 AND leased_by = $2 RETURNING true"

ALSO_AT = f"""
INSERT INTO pages (url_hash, url, found_at, canonical_url, status, why, title, author, published_at, lang,
    text, image_url, by_browser,
                   attempts, fetched_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, now(), now() + $15::interval)
ON CONFLICT (url_hash) DO UPDATE SET {_SET} WHERE pages.leased_by IS NULL
"""

RELEASE = """
UPDATE pages p SET leased_by = NULL, leased_until = NULL FROM unnest($1::bytea[]) AS w(url_hash)
WHERE p.url_hash = w.url_hash AND p.leased_by = $2
"""

NOTE = f"""
INSERT INTO post_enrichment (channel_id, message_id, kind, tier, content_hash, revision, data)
SELECT p.channel_id, p.message_id, '{KIND}', '{TIER}', p.content_hash, n.revision, n.data
FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::jsonb[]) AS n(channel_id, message_id, revision, data)
JOIN posts p ON p.channel_id = n.channel_id AND p.message_id = n.message_id AND p.revision = n.revision
    AND p.deleted_at IS NULL
ORDER BY 1, 2
ON CONFLICT (channel_id, message_id, kind, tier) DO UPDATE SET
    data = CASE WHEN post_enrichment.revision = excluded.revision THEN post_enrichment.data || excluded.data
        ELSE excluded.data END,
    content_hash = excluded.content_hash, revision = excluded.revision, made_at = now()
WHERE post_enrichment.revision <= excluded.revision
"""

READ_FOR = f"""
SELECT e.channel_id, e.message_id
FROM unnest($1::bigint[], $2::bigint[], $3::int[]) AS w(channel_id, message_id, revision)
JOIN post_enrichment e ON e.channel_id = w.channel_id AND e.message_id = w.message_id AND e.kind = '{KIND}'
    AND e.tier = '{TIER}'
    AND e.revision = w.revision AND e.data ? 'pages'
"""
