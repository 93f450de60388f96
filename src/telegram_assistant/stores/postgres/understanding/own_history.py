"""A tenant's stored posts whose tags are missing or outdated, and the order to tag them."""

from datetime import datetime

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.stores.postgres.database import TenantTransactions
from telegram_assistant.stores.postgres.posts.replays import Outdated, ResultVersion

OLD_LOCAL = "l.channel_id IS NULL"
OLD_PAID = (
    "s.ai_policy = 'provider' AND EXISTS (SELECT 1 FROM ai_consents) AND r.channel_id IS NULL "
    "AND p.text <> ''"
)
OUTDATED = f"""
SELECT p.channel_id, c.title, count(*) FILTER (WHERE {OLD_LOCAL})::int AS local,
    count(*) FILTER (WHERE {OLD_PAID})::int AS provider,
       coalesce(sum(length(p.text)) FILTER (WHERE {OLD_PAID}), 0)::bigint AS characters
FROM subscriptions s JOIN channels c ON c.channel_id = s.channel_id AND NOT c.ai_blocked
JOIN posts p ON p.channel_id = s.channel_id AND p.posted_at >= $1 AND p.deleted_at IS NULL
LEFT JOIN post_enrichment l ON l.channel_id = p.channel_id AND l.message_id = p.message_id AND l.kind = 'tags'
    AND l.tier = 'local'
    AND l.revision = p.revision AND l.model = $2 AND l.prompt_version = $3
LEFT JOIN post_enrichment r ON r.channel_id = p.channel_id AND r.message_id = p.message_id AND r.kind = 'tags'
    AND r.tier = 'provider'
    AND r.revision = p.revision AND r.prompt_version = $3
WHERE s.active AND s.ai_policy <> 'off' AND ({OLD_LOCAL} OR ({OLD_PAID}))
GROUP BY p.channel_id, c.title ORDER BY p.channel_id
"""
ANSWERED = """
SELECT count(*) FROM subscriptions s
JOIN posts p ON p.channel_id = s.channel_id AND p.posted_at >= $1
JOIN post_enrichment r ON r.channel_id = p.channel_id AND r.message_id = p.message_id AND r.kind = 'tags'
    AND r.tier = 'provider'
WHERE s.active AND s.ai_policy = 'provider'
"""


class OwnHistory:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def list_outdated(self, version: ResultVersion, *, since: datetime) -> tuple[Outdated, ...]:
        """The tenant's channels with posts since then whose tags are missing or outdated;
        those with the policy `off` are left out.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(OUTDATED, since, version.model, version.prompt_version)
        return tuple(
            Outdated(
                ChannelId(row["channel_id"]), row["title"], row["local"], row["provider"], row["characters"]
            )
            for row in rows
        )

    async def want(self, version: ResultVersion, *, since: datetime, is_paid: bool) -> tuple[int, int]:
        """Queues these posts, each once, after all live ones;
        returns how many this machine and how many a provider will tag.
        """
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(
                "SELECT local, provider FROM want_own_history($1, $2, $3, $4, $5)",
                since,
                version.model,
                version.prompt_version,
                version.work,
                is_paid,
            )
        assert row is not None  # the function returns one row
        return row["local"], row["provider"]

    async def count_answered(self, since: datetime) -> int:
        """The tenant's posts since then with tags by a provider, whoever was asked first."""
        async with self._transactions.begin() as connection:
            return int(await connection.fetchval(ANSWERED, since))
