"""Posts for an index: everything known now, and a version that changes whenever any of it changes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.understanding.embedding_text import Data, PostFacts
from telegram_assistant.domain.understanding.policy import Tier
from telegram_assistant.stores.postgres.database import SystemTransactions
from telegram_assistant.stores.postgres.posts.rows import POST_COLUMNS, StoredPost, stored_post

NOTHING: Data = {}


@dataclass(frozen=True, slots=True)
class StateVersion:
    """The version of a post and of its enrichments together.

    Enrichments do not change a post's own version.
    """

    state: int
    made_at: tuple[datetime, ...]


@dataclass(frozen=True, slots=True)
class PostState:
    """The state of a post at one reading."""

    stored: StoredPost
    version: StateVersion
    facts: PostFacts

    @property
    def is_shown(self) -> bool:
        return self.stored.deleted_at is None


class PostStates:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def load(self, post_ids: Sequence[PostId]) -> Mapping[PostId, PostState]:
        """The posts that exist, deleted ones included."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                LOAD,
                [post_id.channel_id for post_id in post_ids],
                [post_id.message_id for post_id in post_ids],
            )
        return {_id(row): PostState(stored_post(row), _version(row), _facts(row["results"])) for row in rows}

    async def versions(self, post_ids: Sequence[PostId]) -> Mapping[PostId, StateVersion]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                VERSIONS,
                [post_id.channel_id for post_id in post_ids],
                [post_id.message_id for post_id in post_ids],
            )
        return {_id(row): _version(row) for row in rows}

    async def after(self, last_post_id: PostId | None, *, limit: int) -> tuple[PostId, ...]:
        """Pages through all posts that are not deleted, in the order of their ids."""
        channel_id, message_id = (
            (last_post_id.channel_id, last_post_id.message_id) if last_post_id else (0, 0)
        )
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(AFTER, channel_id, message_id, limit)
        return tuple(_id(row) for row in rows)

    async def after_since(
        self, last_post_id: PostId | None, *, since: datetime, limit: int
    ) -> tuple[PostId, ...]:
        """Like `after`, for posts since that time.

        Finds each channel's posts by time, so older ones are never read.
        """
        channel_id, message_id = (
            (last_post_id.channel_id, last_post_id.message_id) if last_post_id else (0, 0)
        )
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(AFTER_SINCE, channel_id, message_id, limit, since)
        return tuple(_id(row) for row in rows)

    async def estimate_count(self) -> int:
        """Estimates from the tables' statistics, because counting millions of posts takes minutes."""
        async with self._transactions.begin() as connection:
            guessed_count = await connection.fetchval(
                "SELECT sum(greatest(reltuples, 0))::bigint FROM pg_inherits "
                "JOIN pg_class c ON c.oid = inhrelid WHERE inhparent = 'posts'::regclass"
            )
            return int(guessed_count or 0) or int(
                await connection.fetchval("SELECT count(*) FROM posts WHERE deleted_at IS NULL")
            )


def _id(row: asyncpg.Record) -> PostId:
    return PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"]))


def _version(row: asyncpg.Record) -> StateVersion:
    return StateVersion(row["state_version"], tuple(row["made_at"] or ()))


def _facts(facts_json: str | None) -> PostFacts:
    rows: dict[str, Data] = json.loads(facts_json) if facts_json else {}
    titles = rows.get("crawl local", NOTHING).get("titles")
    return PostFacts(
        tags={tier: data for tier in Tier if (data := rows.get(f"tags {tier.value}")) is not None},
        seen=rows.get("vision local", NOTHING),
        album=rows.get("album local", NOTHING),
        page_titles=tuple(str(title) for title in titles if title) if isinstance(titles, list) else (),
    )


_POST = "SELECT {columns} FROM posts WHERE channel_id = w.channel_id AND message_id = w.message_id LIMIT 1"

# Enrichments of an earlier text are not used, but every row counts for the version.
LOAD = f"""
SELECT p.*, e.made_at, e.results FROM unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)
CROSS JOIN LATERAL ({_POST.format(columns=f"{POST_COLUMNS}, state_version")}) p
LEFT JOIN LATERAL (
    SELECT array_agg(made_at ORDER BY kind, tier) AS made_at,
           jsonb_object_agg(kind || ' ' || tier, CASE kind
               WHEN 'crawl' THEN jsonb_build_object('titles',
                   jsonb_path_query_array(data, '$.pages[*].title'))
               WHEN 'vision' THEN data - 'files' ELSE data END)
               FILTER (WHERE revision = p.revision OR kind = 'album') AS results
    FROM post_enrichment WHERE channel_id = w.channel_id AND message_id = w.message_id
) e ON true
"""

VERSIONS = f"""
SELECT p.*, e.made_at FROM unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)
CROSS JOIN LATERAL ({_POST.format(columns="channel_id, message_id, state_version")}) p
LEFT JOIN LATERAL (
    SELECT array_agg(made_at ORDER BY kind, tier) AS made_at FROM post_enrichment
    WHERE channel_id = w.channel_id AND message_id = w.message_id
) e ON true
"""

AFTER = """
SELECT channel_id, message_id FROM posts WHERE (channel_id, message_id) > ($1, $2) AND deleted_at IS NULL
ORDER BY channel_id, message_id LIMIT $3
"""

AFTER_SINCE = """
SELECT p.channel_id, p.message_id FROM (SELECT channel_id FROM channels WHERE channel_id >= $1
    ORDER BY channel_id) c
CROSS JOIN LATERAL (
    SELECT channel_id, message_id FROM posts
    WHERE channel_id = c.channel_id AND posted_at >= $4 AND (c.channel_id > $1 OR message_id > $2)
        AND deleted_at IS NULL ORDER BY message_id LIMIT $3
) p ORDER BY c.channel_id, p.message_id LIMIT $3
"""
