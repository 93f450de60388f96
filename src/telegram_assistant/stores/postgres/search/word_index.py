"""Rebuild of the word index beside the one that is searched; posts stored meanwhile go into both."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

from asyncpg import DeadlockDetectedError, LockNotAvailableError

from telegram_assistant.domain.search.query import bits_of
from telegram_assistant.stores.postgres.database import SystemTransactions
from telegram_assistant.stores.postgres.operations.partitions import slices_of
from telegram_assistant.stores.postgres.posts.posts import LEARN_WORDS, derived_of, marked_names
from telegram_assistant.stores.postgres.posts.rows import StoredPost

TELEGRAM_BEGAN = datetime(2013, 8, 1, tzinfo=UTC)
SWITCH_PAUSES = (0.2, 1.0, 5.0)
"""Seconds between attempts: whoever searches or writes may hold one table of the index and wait for another.

"""


class WordIndex:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def begin(self, now: datetime) -> None:
        """Creates an empty, partitioned index and drops an unfinished one.

        New posts reach it only after all partitions exist.
        """
        async with self._transactions.begin() as connection:
            oldest = await connection.fetchval("SELECT min(posted_at) FROM post_search")
        async with self._transactions.begin() as connection:
            await connection.execute("SELECT begin_post_search()")
        for begins, ends in slices_of(max(oldest or now, TELEGRAM_BEGAN), now):
            async with self._transactions.begin() as connection:
                await connection.execute("SELECT make_partition('post_search_next', $1, $2)", begins, ends)
        async with self._transactions.begin() as connection:
            await connection.execute("SELECT follow_post_search_from_now()")

    async def is_begun(self) -> bool:
        async with self._transactions.begin() as connection:
            return bool(
                await connection.fetchval(
                    "SELECT EXISTS (SELECT 1 FROM pg_trigger WHERE tgrelid = 'post_search'::regclass "
                    "AND tgname = 'follow')"
                )
            )

    async def fill(self, posts: Sequence[StoredPost]) -> None:
        """Adds posts.

        Existing rows are newer and stay. Posts deleted between reading and writing are removed again.
        """
        ids = [post.post.channel_id for post in posts], [post.post.message_id for post in posts]
        derived_posts = []
        for post in posts:
            derived_posts.append(derived_of(post))
            await asyncio.sleep(0)
        async with self._transactions.begin() as connection:
            await connection.execute(
                FILL,
                *ids,
                [post.revision for post in posts],
                [derived_post.lang for derived_post in derived_posts],
                [bits_of(derived_post.has) for derived_post in derived_posts],
                [marked_names(derived_post.names) for derived_post in derived_posts],
            )
        async with self._transactions.begin() as connection:
            await connection.execute(CLEAN, *ids)
        async with self._transactions.begin() as connection:
            await connection.execute(LEARN_WORDS.format(index="post_search_next"), *ids)

    async def switch(self) -> None:
        """Atomically replaces the searched index by the new one; tried again while others hold its tables."""
        for pause_seconds in SWITCH_PAUSES:
            with suppress(DeadlockDetectedError, LockNotAvailableError):
                return await self._switch()
            await asyncio.sleep(pause_seconds)
        return await self._switch()

    async def _switch(self) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute("SELECT switch_post_search()")


# A post that was edited meanwhile is skipped: the pipeline stores its words into both indexes.
FILL = """
INSERT INTO post_search_next (channel_id, message_id, posted_at, words, lang, has)
SELECT p.channel_id, p.message_id, p.posted_at, to_tsvector('russian', p.text)
    || array_to_tsvector(string_to_array(n.names, ' ')), n.lang, n.has
FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::text[], $5::smallint[], $6::text[])
    AS n(channel_id, message_id, revision, lang, has, names)
JOIN posts p ON p.channel_id = n.channel_id AND p.message_id = n.message_id AND p.revision = n.revision
    AND p.deleted_at IS NULL
ORDER BY 1, 2 ON CONFLICT DO NOTHING
"""

CLEAN = """
DELETE FROM post_search_next s USING unnest($1::bigint[], $2::bigint[]) AS n(channel_id, message_id)
WHERE s.channel_id = n.channel_id AND s.message_id = n.message_id AND NOT EXISTS (
    SELECT 1 FROM posts p WHERE p.channel_id = n.channel_id AND p.message_id = n.message_id
        AND p.deleted_at IS NULL)
"""
