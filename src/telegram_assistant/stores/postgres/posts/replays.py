"""Tagging history again: finds outdated results and queues their posts,
in the bulk lane or in `provider_wanted`.
"""

from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.stores.postgres.database import SystemTransactions


@dataclass(frozen=True, slots=True)
class ResultVersion:
    """The version of today's results; a row with another version is outdated."""

    model: str
    prompt_version: str
    work: str
    """The work requested from a provider later: a value of `provider_wanted.work`."""


@dataclass(frozen=True, slots=True)
class Outdated:
    """Outdated posts of one channel: those to tag again locally, and those that a provider may tag."""

    channel_id: ChannelId
    title: str
    local: int
    provider: int
    characters: int
    """Length of the texts that a provider may tag."""


class Replays:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def list_outdated(
        self, version: ResultVersion, *, since: datetime, channel_id: ChannelId | None = None
    ) -> tuple[Outdated, ...]:
        """Channels with posts since then whose tags are missing or outdated;
        channels without any policy for understanding are left out.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(OUTDATED, since, channel_id, version.model, version.prompt_version)
        return tuple(
            Outdated(
                ChannelId(row["channel_id"]), row["title"], row["local"], row["provider"], row["characters"]
            )
            for row in rows
        )

    async def replay(self, version: ResultVersion, channel_id: ChannelId, *, since: datetime) -> int:
        """Sends outdated posts through the pipeline again, after all live ones; returns how many.

        Skips posts already in the outbox.
        """
        async with self._transactions.begin() as connection:
            status = await connection.execute(
                REPLAY, since, channel_id, version.model, version.prompt_version
            )
        return int(status.rpartition(" ")[2])

    async def want(self, version: ResultVersion, channel_id: ChannelId, *, since: datetime) -> int:
        """Queues the posts that a provider may tag. Each of them costs money."""
        async with self._transactions.begin() as connection:
            status = await connection.execute(
                WANT, since, channel_id, version.model, version.prompt_version, version.work
            )
        return int(status.rpartition(" ")[2])


# Decides the policy of a channel like `policy_among`. $1 since, $2 channel (NULL: all), $3 local model, $4
# prompt version.
_POSTS = """
FROM posts p JOIN channels c ON c.channel_id = p.channel_id AND NOT c.ai_blocked
CROSS JOIN LATERAL (
    SELECT CASE WHEN c.is_private THEN bool_and(s.ai_policy <> 'off')
        ELSE bool_or(s.ai_policy <> 'off') END AS wanted,
           CASE WHEN c.is_private THEN bool_and(paid) ELSE bool_or(paid) END AS paid
    FROM subscriptions s CROSS JOIN LATERAL (
        SELECT s.ai_policy = 'provider' AND EXISTS (SELECT 1 FROM ai_consents k
            WHERE k.tenant_id = s.tenant_id) AS paid) k
    WHERE s.channel_id = c.channel_id AND s.active
) a
LEFT JOIN post_enrichment l ON l.channel_id = p.channel_id AND l.message_id = p.message_id AND l.kind = 'tags'
    AND l.tier = 'local'
    AND l.revision = p.revision AND l.model = $3 AND l.prompt_version = $4
LEFT JOIN post_enrichment r ON r.channel_id = p.channel_id AND r.message_id = p.message_id AND r.kind = 'tags'
    AND r.tier = 'provider'
    AND r.revision = p.revision AND r.prompt_version = $4
WHERE p.posted_at >= $1 AND ($2::bigint IS NULL OR p.channel_id = $2) AND p.deleted_at IS NULL AND a.wanted
"""
_OLD_LOCAL = "l.channel_id IS NULL"
_OLD_PAID = "a.paid AND r.channel_id IS NULL AND p.text <> ''"

OUTDATED = f"""
SELECT p.channel_id, c.title, count(*) FILTER (WHERE {_OLD_LOCAL})::int AS local,
    count(*) FILTER (WHERE {_OLD_PAID})::int AS provider,
       coalesce(sum(length(p.text)) FILTER (WHERE {_OLD_PAID}), 0)::bigint AS characters
{_POSTS} AND ({_OLD_LOCAL} OR ({_OLD_PAID})) GROUP BY p.channel_id, c.title ORDER BY p.channel_id
"""

REPLAY = f"""
INSERT INTO outbox (channel_id, message_id, revision, lane)
SELECT p.channel_id, p.message_id, p.revision, 'bulk' {_POSTS} AND {_OLD_LOCAL}
AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.channel_id = p.channel_id AND o.message_id = p.message_id
    AND o.revision = p.revision)
"""

WANT = f"""
INSERT INTO provider_wanted (channel_id, message_id, work, posted_at)
SELECT p.channel_id, p.message_id, $5, p.posted_at {_POSTS} AND {_OLD_PAID}
ORDER BY 1, 2 ON CONFLICT DO NOTHING
"""
