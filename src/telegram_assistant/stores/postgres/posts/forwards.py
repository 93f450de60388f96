"""Forwards between channels, for one tenant, answered by PostgreSQL;
and the part of the graph that a tenant may see.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time

from telegram_assistant.domain.graph.graph_facts import Appearance, Forwarding, Visible
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.stores.postgres.database import TenantTransactions
from telegram_assistant.stores.postgres.understanding.policies_in_force import in_force


class Forwards:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def visible(self) -> Visible:
        """A tenant that pays for a provider sees the provider's results, others the local ones;
        with the policy `off`, none.
        """
        async with self._transactions.begin() as connection:
            policies_in_force = await in_force(connection)
        policies = policies_in_force.policies
        local_channel_ids, provider_channel_ids = (
            frozenset(channel_id for channel_id, policy in policies.items() if policy is tier)
            for tier in (AiPolicy.LOCAL, AiPolicy.PROVIDER)
        )
        return Visible(
            frozenset(policies),
            local_channel_ids,
            provider_channel_ids,
            since={
                channel_id: moment.astimezone(UTC).date()
                for channel_id, moment in policies_in_force.since.items()
            },
        )

    async def forwardings(
        self, *, since: date, of_channel_id: ChannelId | None, limit: int
    ) -> tuple[Forwarding, ...]:
        """Pairs of channels, the most forwards first; `of` matches either side."""
        async with self._transactions.begin() as connection:
            fetching = (
                connection.fetch(FORWARDINGS, _begin(since), limit)
                if of_channel_id is None
                else connection.fetch(FORWARDINGS_OF, _begin(since), limit, of_channel_id)
            )
            rows = await fetching
        return tuple(Forwarding(**dict(row)) for row in rows)

    async def list_forwards(
        self, origin_post_id: PostId, *, since: date, limit: int
    ) -> tuple[Appearance, ...]:
        """Forwards of one post, the oldest first."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                FORWARDS_OF, origin_post_id.channel_id, origin_post_id.message_id, _begin(since), limit
            )
        return tuple(
            Appearance(PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"])), row["posted_at"])
            for row in rows
        )

    async def appearances(self, post_ids: Sequence[PostId]) -> tuple[Appearance, ...]:
        """Those of these posts that exist for the tenant, the oldest first."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                APPEARANCES,
                [post_id.channel_id for post_id in post_ids],
                [post_id.message_id for post_id in post_ids],
            )
        return tuple(
            Appearance(PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"])), row["posted_at"])
            for row in rows
        )


def _begin(day: date) -> datetime:
    return datetime.combine(day, time.min, UTC)


# The query names the channels; row-level security only checks them. A deleted post counts as no forward.
_SHOWN = """
CROSS JOIN LATERAL (
    SELECT 1 FROM posts p
    WHERE p.channel_id = f.channel_id AND p.message_id = f.message_id AND p.deleted_at IS NULL
        AND p.fwd_channel_id = f.from_channel_id LIMIT 1
) shown
"""

_PAIRS = """
SELECT f.channel_id, f.from_channel_id AS source_id, count(*) AS posts,
       min((f.posted_at AT TIME ZONE 'UTC')::date) AS first_day,
       max((f.posted_at AT TIME ZONE 'UTC')::date) AS last_day
"""
_MOST_FIRST = (
    "GROUP BY f.channel_id, f.from_channel_id ORDER BY posts DESC, f.channel_id, f.from_channel_id LIMIT $2"
)

FORWARDINGS = f"""
WITH followed AS MATERIALIZED (SELECT channel_id FROM subscriptions WHERE active)
{_PAIRS}
FROM followed w CROSS JOIN LATERAL (SELECT * FROM forwards
    WHERE channel_id = w.channel_id AND posted_at >= $1 OFFSET 0) f {_SHOWN}
{_MOST_FIRST}
"""
FORWARDINGS_OF = f"""
{_PAIRS}
FROM (SELECT * FROM forwards WHERE channel_id = $3 AND posted_at >= $1
      UNION ALL
      SELECT * FROM forwards WHERE from_channel_id = $3 AND channel_id <> $3 AND posted_at >= $1) f {_SHOWN}
{_MOST_FIRST}
"""
"""Two indexes instead of all forwards of all followed channels."""

FORWARDS_OF = f"""
SELECT f.channel_id, f.message_id, f.posted_at
FROM (SELECT * FROM forwards WHERE from_channel_id = $1 AND from_message_id = $2
    AND posted_at >= $3 OFFSET 0) f {_SHOWN}
ORDER BY f.posted_at, f.channel_id, f.message_id LIMIT $4
"""

APPEARANCES = """
SELECT p.* FROM unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id) CROSS JOIN LATERAL (
    SELECT channel_id, message_id, posted_at FROM posts
    WHERE channel_id = w.channel_id AND message_id = w.message_id AND deleted_at IS NULL LIMIT 1) p
ORDER BY p.posted_at, p.channel_id, p.message_id
"""
