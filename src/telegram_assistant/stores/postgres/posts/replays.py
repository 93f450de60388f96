"""History that is to be tagged again: what is outdated, and putting it into the bulk lane or on a provider's list."""

from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.stores.postgres.database import SystemTransactions


@dataclass(frozen=True, slots=True)
class ResultVersion:
    """What results of today are made with: a row that says otherwise is outdated."""

    model: str
    prompt_version: str
    work: str
    """What a provider is asked for later, in the words of provider_wanted."""


@dataclass(frozen=True, slots=True)
class Outdated:
    """Of one channel: posts to tag again here, and those that a provider may tag."""

    channel_id: ChannelId
    title: str
    local: int
    provider: int
    characters: int
    """Of the latter."""


class Replays:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def outdated(self, version: ResultVersion, *, since: datetime, channel_id: ChannelId | None = None) -> tuple[Outdated, ...]:
        """Channels with posts since then whose tags are missing or made otherwise; those that nobody wants understood are left out."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(OUTDATED, since, channel_id, version.model, version.prompt_version)
        return tuple(Outdated(ChannelId(row["channel_id"]), row["title"], row["local"], row["provider"], row["characters"]) for row in rows)

    async def replay(self, version: ResultVersion, channel_id: ChannelId, *, since: datetime) -> int:
        """Send the outdated through the pipeline again, after all news; how many. What is on its way already is left alone."""
        async with self._transactions.begin() as connection:
            done = await connection.execute(REPLAY, since, channel_id, version.model, version.prompt_version)
        return int(done.rpartition(" ")[2])

    async def want(self, version: ResultVersion, channel_id: ChannelId, *, since: datetime) -> int:
        """Put those that a provider may tag on its list: this is paid for."""
        async with self._transactions.begin() as connection:
            done = await connection.execute(WANT, since, channel_id, version.model, version.prompt_version, version.work)
        return int(done.rpartition(" ")[2])


# Who may have what understood is decided as everywhere: see domain.understanding.policy_among. $3 is the local model.
_POSTS = """
FROM posts p JOIN channels c ON c.channel_id = p.channel_id AND NOT c.ai_blocked
CROSS JOIN LATERAL (
    SELECT CASE WHEN c.is_private THEN bool_and(s.ai_policy <> 'off') ELSE bool_or(s.ai_policy <> 'off') END AS wanted,
           CASE WHEN c.is_private THEN bool_and(paid) ELSE bool_or(paid) END AS paid
    FROM subscriptions s CROSS JOIN LATERAL (
        SELECT s.ai_policy = 'provider' AND EXISTS (SELECT 1 FROM ai_consents k WHERE k.tenant_id = s.tenant_id) AS paid) k
    WHERE s.channel_id = c.channel_id AND s.active
) a
LEFT JOIN post_enrichment l ON l.channel_id = p.channel_id AND l.message_id = p.message_id AND l.kind = 'tags' AND l.tier = 'local'
    AND l.revision = p.revision AND l.model = $3 AND l.prompt_version = $4
LEFT JOIN post_enrichment r ON r.channel_id = p.channel_id AND r.message_id = p.message_id AND r.kind = 'tags' AND r.tier = 'provider'
    AND r.revision = p.revision AND r.prompt_version = $4
WHERE p.posted_at >= $1 AND ($2::bigint IS NULL OR p.channel_id = $2) AND p.deleted_at IS NULL AND a.wanted
"""
_OLD_LOCAL = "l.channel_id IS NULL"
_OLD_PAID = "a.paid AND r.channel_id IS NULL AND p.text <> ''"

OUTDATED = f"""
SELECT p.channel_id, c.title, count(*) FILTER (WHERE {_OLD_LOCAL})::int AS local, count(*) FILTER (WHERE {_OLD_PAID})::int AS provider,
       coalesce(sum(length(p.text)) FILTER (WHERE {_OLD_PAID}), 0)::bigint AS characters
{_POSTS} AND ({_OLD_LOCAL} OR ({_OLD_PAID})) GROUP BY p.channel_id, c.title ORDER BY p.channel_id
"""

REPLAY = f"""
INSERT INTO outbox (channel_id, message_id, revision, lane)
SELECT p.channel_id, p.message_id, p.revision, 'bulk' {_POSTS} AND {_OLD_LOCAL}
AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.channel_id = p.channel_id AND o.message_id = p.message_id AND o.revision = p.revision)
"""

WANT = f"""
INSERT INTO provider_wanted (channel_id, message_id, work, posted_at)
SELECT p.channel_id, p.message_id, $5, p.posted_at {_POSTS} AND {_OLD_PAID} ORDER BY 1, 2 ON CONFLICT DO NOTHING
"""
