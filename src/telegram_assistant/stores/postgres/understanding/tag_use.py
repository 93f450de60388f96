"""Tags for one tenant: the vocabulary, how many of its posts have each tag, and which posts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.stores.postgres.database import TenantTransactions
from telegram_assistant.stores.postgres.feed.tenant_feed import Cursor


@dataclass(frozen=True, slots=True)
class KnownTag:
    """A tag of the installation's vocabulary."""

    language: str
    tag: str
    topic: str
    is_retired: bool = False
    """No new post gets this tag."""


@dataclass(frozen=True, slots=True)
class TagCount:
    """The number of posts and channels with a tag, among those that the tenant sees."""

    tag: str
    posts: int
    channels: int


CARRYING = """
-- $1 tags, $2 since, $3-$5 cursor: posted at, channel, message (NULL: the first page), $6 page size
SELECT posted_at, channel_id, message_id FROM posts_with_tags($1, $2, $3, $4, $5, $6)
ORDER BY 1 DESC, 2 DESC, 3 DESC
"""


class TagUse:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def vocabulary(self) -> tuple[KnownTag, ...]:
        """The tags by language, topic and name."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT lang, tag, topic, is_retired FROM vocabulary_tags() ORDER BY lang, topic, tag"
            )
        return tuple(KnownTag(row["lang"], row["tag"], row["topic"], row["is_retired"]) for row in rows)

    async def most_used(self, since: datetime, until: datetime, *, limit: int) -> tuple[TagCount, ...]:
        """The most used tags of posts from `since` to before `until`, under the vocabulary's own names."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT tag, posts, channels FROM tags_in_use($1, $2, $3) ORDER BY posts DESC, tag",
                since,
                until,
                limit,
            )
        return tuple(TagCount(**dict(row)) for row in rows)

    async def places(
        self, tags: Sequence[str], *, since: datetime, limit: int, before: Cursor | None = None
    ) -> tuple[Cursor, ...]:
        """The places of the posts with any of these tags, the newest first; `before` is the cursor of the
        previous page.
        """
        before_values = (
            (None, None, None) if before is None else (before.posted_at, before.channel_id, before.message_id)
        )
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(CARRYING, list(tags), since, *before_values, limit)
        return tuple(Cursor(*row) for row in rows)
