"""A tenant's choices about understanding: the policy per channel, the default for new channels,
and consent to providers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.stores.postgres.database import TenantTransactions


@dataclass(frozen=True, slots=True)
class ChannelPolicy:
    """The policy that the tenant has chosen for a channel."""

    channel_id: ChannelId
    title: str
    chosen: AiPolicy
    is_blocked: bool
    """The operator has blocked understanding of this channel."""


@dataclass(frozen=True, slots=True)
class ConsentRecord:
    """An owner's recorded consent."""

    given_by: str
    given_at: datetime


@dataclass(frozen=True, slots=True)
class AiDefaults:
    """Settings of the whole tenant."""

    default: AiPolicy
    consent: ConsentRecord | None


POLICIES = """
SELECT s.channel_id, coalesce(c.title, '') AS title, s.ai_policy, coalesce(c.ai_blocked, false) AS is_blocked
FROM subscriptions s LEFT JOIN channels c ON c.channel_id = s.channel_id
WHERE $1::bigint IS NULL OR s.channel_id > $1
ORDER BY s.channel_id LIMIT $2
"""
CHOOSE = """
WITH chosen AS (UPDATE subscriptions SET ai_policy = $2 WHERE channel_id = ANY($1)
    RETURNING channel_id, ai_policy)
SELECT s.channel_id, coalesce(c.title, '') AS title, s.ai_policy, coalesce(c.ai_blocked, false) AS is_blocked
FROM chosen s LEFT JOIN channels c ON c.channel_id = s.channel_id ORDER BY s.channel_id
"""
SENDABLE = """
WITH wanted AS (SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS w (channel_id, message_id))
SELECT p.channel_id, p.message_id FROM wanted w JOIN posts p USING (channel_id, message_id)
WHERE p.channel_id IN (SELECT channels_for_provider($1))
    AND NOT coalesce((p.facts->>'noforwards')::boolean, false)
"""


def _policy(row: asyncpg.Record) -> ChannelPolicy:
    return ChannelPolicy(
        ChannelId(row["channel_id"]), row["title"], AiPolicy(row["ai_policy"]), row["is_blocked"]
    )


class AiChoices:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def stance(self) -> AiDefaults:
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(
                "SELECT t.default_ai_policy, k.given_by, k.given_at FROM tenants t LEFT "
                "JOIN ai_consents k USING (tenant_id)"
            )
        if row is None:
            return AiDefaults(AiPolicy.LOCAL, None)
        consent = None if row["given_by"] is None else ConsentRecord(row["given_by"], row["given_at"])
        return AiDefaults(AiPolicy(row["default_ai_policy"]), consent)

    async def policies(
        self, *, limit: int = 1000, after: ChannelId | None = None
    ) -> tuple[ChannelPolicy, ...]:
        """The policies of all subscriptions, suspended ones included, by channel id."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(POLICIES, after, limit)
        return tuple(_policy(row) for row in rows)

    async def choose(self, channel_ids: Sequence[ChannelId], policy: AiPolicy) -> tuple[ChannelPolicy, ...]:
        """Sets the policy of these channels; returns those that the tenant follows, by id.

        The others stay unchanged.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(CHOOSE, list(channel_ids), policy.value)
        return tuple(_policy(row) for row in rows)

    async def sendable(self, post_ids: Sequence[PostId]) -> frozenset[PostId]:
        """Those of the posts that may be sent to a provider: neither they nor their channels are protected,
        and the policy is `provider`.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                SENDABLE,
                [post_id.channel_id for post_id in post_ids],
                [post_id.message_id for post_id in post_ids],
            )
        return frozenset(PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"])) for row in rows)

    async def choose_default(self, policy: AiPolicy) -> None:
        """Sets the policy of channels that are followed from now on without a policy of their own."""
        async with self._transactions.begin() as connection:
            await connection.execute("UPDATE tenants SET default_ai_policy = $1", policy.value)

    async def consent(self, *, given_by: str) -> None:
        """Records the consent; the first record stays."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                "INSERT INTO ai_consents (given_by) VALUES ($1) ON CONFLICT (tenant_id) DO NOTHING", given_by
            )

    async def withdraw(self) -> bool:
        """Withdraws the consent. Returns False if there was none."""
        async with self._transactions.begin() as connection:
            return bool(await connection.execute("DELETE FROM ai_consents") == "DELETE 1")
