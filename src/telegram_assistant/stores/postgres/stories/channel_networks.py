"""Signs that channels have one owner: texts that a tenant sees in several of them, and signatures."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from telegram_assistant.domain.channels.networks import CopiedPost, SignedChannel
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.stores.postgres.database import TenantTransactions

MAX_LINKED = 20_000
"""Linked posts that are looked at, shared equally by the channels, of each the newest."""
MAX_SIGNED = 20_000
"""Posts in which signatures are looked for, likewise."""
MIN_PER_CHANNEL = 20
MAX_SIGNED_PER_CHANNEL = 100
MAX_LETTERS = 2_000

COPIED = f"""
WITH followed AS MATERIALIZED (SELECT channel_id FROM subscriptions WHERE active),
linked AS MATERIALIZED (
    SELECT r.* FROM followed f CROSS JOIN LATERAL (
        SELECT channel_id, message_id FROM story_posts
        WHERE channel_id = f.channel_id AND link IS NOT NULL AND posted_at >= $1 ORDER BY posted_at DESC
        LIMIT (SELECT greatest({MIN_PER_CHANNEL}, {MAX_LINKED} / greatest(count(*), 1)) FROM followed)
    ) r
),
copies AS MATERIALIZED (
    SELECT l.channel_id, l.message_id, l.other_channel_id, l.other_message_id
    FROM linked p JOIN story_links l USING (channel_id, message_id)
    WHERE l.kind = 'copy' AND l.other_channel_id <> l.channel_id
),
ends AS MATERIALIZED (
    SELECT channel_id, message_id FROM copies
    UNION SELECT other_channel_id, other_message_id FROM copies
)
SELECT p.* FROM ends e CROSS JOIN LATERAL (
    SELECT channel_id, posted_at, left(text, {MAX_LETTERS}) AS text FROM posts
    WHERE channel_id = e.channel_id AND message_id = e.message_id AND fwd_channel_id IS NULL
        AND posted_at >= $1 AND length(text) >= $2 LIMIT 1
) p ORDER BY p.posted_at, p.channel_id
"""
"""$1 since, $2 the least letters. Posts that the tenant does not see are left out by row-level security."""

COUNTS = """
SELECT f.channel_id, count(*) AS posts FROM unnest($2::bigint[]) AS f(channel_id)
JOIN posts p ON p.channel_id = f.channel_id AND p.posted_at >= $1 GROUP BY f.channel_id
"""

SIGNED = rf"""
WITH followed AS MATERIALIZED (SELECT channel_id FROM subscriptions WHERE active),
recent AS MATERIALIZED (
    SELECT r.* FROM followed f CROSS JOIN LATERAL (
        SELECT channel_id, message_id, right(text, {MAX_LETTERS}) || coalesce(entities::text, '') AS written
        FROM posts WHERE channel_id = f.channel_id AND posted_at >= $1 AND fwd_channel_id IS NULL
        ORDER BY posted_at DESC
        LIMIT (SELECT least({MAX_SIGNED_PER_CHANNEL}, greatest({MIN_PER_CHANNEL},
            {MAX_SIGNED} / greatest(count(*), 1))) FROM followed)
    ) r
)
SELECT r.channel_id, i.invitation, count(DISTINCT r.message_id) AS signed, n.posts
FROM recent r
CROSS JOIN LATERAL (
    SELECT (regexp_matches(r.written, 't\.me/(?:\+|joinchat/)([A-Za-z0-9_-]{{8,40}})', 'g'))[1] AS invitation
) i
JOIN (SELECT channel_id, count(*) AS posts FROM recent GROUP BY channel_id) n USING (channel_id)
GROUP BY r.channel_id, i.invitation, n.posts
"""

KEEP = """
UPDATE subscriptions s SET network = n.network FROM (
    SELECT o.channel_id, w.network FROM subscriptions o
    LEFT JOIN unnest($1::bigint[], $2::bigint[]) AS w(channel_id, network) ON w.channel_id = o.channel_id
) n WHERE n.channel_id = s.channel_id AND s.network IS DISTINCT FROM n.network
RETURNING s.channel_id
"""


class ChannelNetworks:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def copied_posts(self, since: datetime, *, min_letters: int) -> tuple[CopiedPost, ...]:
        """Posts that copy another channel's, and the copied ones, without forwards; oldest first."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(COPIED, since, min_letters)
        return tuple(CopiedPost(ChannelId(row["channel_id"]), row["posted_at"], row["text"]) for row in rows)

    async def post_counts(self, since: datetime, channels: Sequence[ChannelId]) -> dict[ChannelId, int]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(COUNTS, since, list(channels))
        return {ChannelId(row["channel_id"]): row["posts"] for row in rows}

    async def signed_channels(self, since: datetime) -> tuple[SignedChannel, ...]:
        """How many of a channel's newest posts have which invitation link."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(SIGNED, since)
        return tuple(
            SignedChannel(ChannelId(row["channel_id"]), row["invitation"], row["signed"], row["posts"])
            for row in rows
        )

    async def keep(self, networks: Mapping[ChannelId, ChannelId]) -> int:
        """Replaces the tenant's networks. Returns for how many channels they changed."""
        async with self._transactions.begin() as connection:
            return len(await connection.fetch(KEEP, list(networks), list(networks.values())))
