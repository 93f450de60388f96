"""The feed: the newest posts of everything a tenant subscribes to, in exact order, page by page."""

from dataclasses import dataclass
from datetime import UTC, datetime

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.stores.postgres.database import TenantTransactions
from telegram_assistant.stores.postgres.posts.rows import OWN_POST_COLUMNS, StoredPost, stored_post


@dataclass(frozen=True, slots=True)
class Cursor:
    """The last post of a page; the next page holds the posts before it."""

    posted_at: datetime
    channel_id: ChannelId
    message_id: MessageId


LAST = 2**63 - 1
BEFORE_ALL = Cursor(datetime.max.replace(tzinfo=UTC), ChannelId(LAST), MessageId(LAST))

# The query is exact in two steps: the N newest posts lie in the N channels with the newest heads, and none of
# them is older than the N-th head. So most channels cost one index entry (or none, if `channels` knows the
# head) and only N channels are read. The query names the channels; row-level security only checks them. A
# head may be a post that the tenant does not see (it was deleted before the tenant followed), so a first page
# that is not full is read again with the query of later pages.
_REST_OF_PAGE = f"""
bound AS MATERIALIZED (
    SELECT CASE WHEN count(*) = $1 THEN min(posted_at) ELSE '-infinity' END AS oldest FROM heads
),
chosen AS MATERIALIZED (
    SELECT f.* FROM heads h CROSS JOIN LATERAL (
        SELECT channel_id, message_id, posted_at FROM posts
        WHERE channel_id = h.channel_id AND posted_at >= (SELECT oldest FROM bound) {{before}}
        ORDER BY posted_at DESC, message_id DESC LIMIT $1
    ) f
    ORDER BY posted_at DESC, channel_id DESC, message_id DESC LIMIT $1
)
SELECT p.* FROM chosen k CROSS JOIN LATERAL (
    SELECT {OWN_POST_COLUMNS} FROM posts WHERE channel_id = k.channel_id AND message_id = k.message_id
) p
ORDER BY k.posted_at DESC, k.channel_id DESC, k.message_id DESC
"""

_BEFORE = "AND posted_at <= $2 AND (posted_at, channel_id, message_id) < ($2, $3, $4)"

FIRST_PAGE = f"""
WITH heads AS MATERIALIZED (
    SELECT c.channel_id, c.newest_posted_at AS posted_at
    FROM subscriptions s JOIN channels c ON c.channel_id = s.channel_id
    WHERE s.active AND c.newest_posted_at >= s.visible_from
    ORDER BY c.newest_posted_at DESC, c.channel_id DESC LIMIT $1
),
{_REST_OF_PAGE.format(before="")}
"""

LATER_PAGE = f"""
WITH heads AS MATERIALIZED (
    SELECT s.channel_id, h.posted_at FROM subscriptions s CROSS JOIN LATERAL (
        SELECT posted_at FROM posts
        WHERE channel_id = s.channel_id {_BEFORE}
        ORDER BY posted_at DESC, message_id DESC LIMIT 1
    ) h
    WHERE s.active
    ORDER BY h.posted_at DESC, s.channel_id DESC LIMIT $1
),
{_REST_OF_PAGE.format(before=_BEFORE)}
"""


class Feed:
    """Reads posts. A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def newest(self, *, limit: int = 50, before: Cursor | None = None) -> tuple[StoredPost, ...]:
        """The newest posts, deleted ones included and marked; `before` is the cursor of the previous page."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(FIRST_PAGE, limit) if before is None else []
            if len(rows) < limit:
                before_position = before or BEFORE_ALL
                rows = await connection.fetch(
                    LATER_PAGE,
                    limit,
                    before_position.posted_at,
                    before_position.channel_id,
                    before_position.message_id,
                )
        return tuple(stored_post(row) for row in rows)

    async def post(self, post_id: PostId) -> StoredPost | None:
        """One post, or None if it does not exist for this tenant."""
        query = f"SELECT {OWN_POST_COLUMNS} FROM posts WHERE channel_id = $1 AND message_id = $2"
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(query, post_id.channel_id, post_id.message_id)
        return stored_post(row) if row else None


def cursor_of(last: StoredPost) -> Cursor:
    """The cursor that continues after this post."""
    return Cursor(last.post.posted_at, last.post.channel_id, last.post.message_id)
