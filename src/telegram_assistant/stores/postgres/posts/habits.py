"""Texts that show how a tenant's channels begin and end their posts, and the habits learnt from them."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.posts.habits import MAX_EDGE
from telegram_assistant.stores.postgres.database import TenantTransactions

MAX_POSTS = 300
"""Of each channel, its newest."""

DUE = """
SELECT channel_id FROM subscriptions WHERE active AND (habits IS NULL OR channel_id % 7 = $1)
ORDER BY channel_id
"""

RECENT = f"""
SELECT f.channel_id, p.text FROM unnest($2::bigint[]) AS f(channel_id) CROSS JOIN LATERAL (
    SELECT CASE WHEN length(text) <= {2 * MAX_EDGE} THEN text
        ELSE left(text, {MAX_EDGE}) || repeat(' ', {MAX_EDGE}) || right(text, {MAX_EDGE}) END AS text
    FROM posts
    WHERE channel_id = f.channel_id AND posted_at >= $1 AND fwd_channel_id IS NULL AND text <> ''
        AND deleted_at IS NULL
    ORDER BY posted_at DESC, message_id DESC LIMIT {MAX_POSTS}
) p
"""
"""$1 since, $2 channels; the middle of a long text is left out."""

KEEP = """
UPDATE subscriptions s SET habits = n.habits FROM (
    SELECT w.channel_id, coalesce(string_to_array(nullif(w.habits, ''), ',')::bigint[], '{}') AS habits
    FROM unnest($1::bigint[], $2::text[]) AS w(channel_id, habits)
) n WHERE n.channel_id = s.channel_id AND s.habits IS DISTINCT FROM n.habits
RETURNING s.channel_id
"""


class ChannelHabits:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def due_channels(self, weekday: int) -> tuple[ChannelId, ...]:
        """A seventh of the followed channels, and those that nothing was learnt of yet."""
        async with self._transactions.begin() as connection:
            return tuple(ChannelId(row["channel_id"]) for row in await connection.fetch(DUE, weekday))

    async def recent_texts(
        self, since: datetime, channel_ids: Sequence[ChannelId]
    ) -> dict[ChannelId, tuple[str, ...]]:
        """The edges of each channel's newest posts, without forwards."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(RECENT, since, list(channel_ids))
        texts: dict[ChannelId, list[str]] = {channel_id: [] for channel_id in channel_ids}
        for row in rows:
            texts[ChannelId(row["channel_id"])].append(row["text"])
        return {channel_id: tuple(channel_texts) for channel_id, channel_texts in texts.items()}

    async def keep(self, habits: Mapping[ChannelId, Sequence[int]]) -> int:
        """Replaces the habits of these channels. Returns for how many they changed."""
        joined_lines = [",".join(map(str, lines)) for lines in habits.values()]
        async with self._transactions.begin() as connection:
            return len(await connection.fetch(KEEP, list(habits), joined_lines))
