"""Which tier may process a channel's texts: policies of subscriptions, consents of owners."""

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

import asyncpg

from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.domain.understanding.policy import AiPolicy, Allowed, Consent, policy_among
from telegram_assistant.stores.postgres.database import SystemTransactions


class AiPolicies:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def of_channel(self, channel_id: ChannelId) -> Allowed:
        """The policy among all active subscribers.

        `provider` without the owner's consent counts as `local`.
        """
        return (await self.of_channels([channel_id]))[channel_id]

    async def of_channels(self, channel_ids: Collection[ChannelId]) -> Mapping[ChannelId, Allowed]:
        """Like `of_channel` for many channels; a channel that nobody follows is `off`."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                """
                SELECT c.channel_id, c.is_private, c.ai_blocked, s.tenant_id,
                       CASE WHEN s.ai_policy = 'provider' AND k.tenant_id IS NULL THEN 'local'
                           ELSE s.ai_policy END AS policy
                FROM channels c JOIN subscriptions s ON s.channel_id = c.channel_id AND s.active
                LEFT JOIN ai_consents k ON k.tenant_id = s.tenant_id
                WHERE c.channel_id = ANY ($1) ORDER BY c.channel_id, s.tenant_id
                """,
                list(channel_ids),
            )
        allowed_by_channel = {
            ChannelId(channel_id): _combine_policies(list(channel_rows))
            for channel_id, channel_rows in groupby(rows, key=itemgetter("channel_id"))
        }
        return {
            channel_id: allowed_by_channel.get(channel_id, Allowed(AiPolicy.OFF))
            for channel_id in channel_ids
        }

    async def consent(self, tenant_id: TenantId, *, given_by: str) -> None:
        """Records the consent; the first record stays."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                "INSERT INTO ai_consents (tenant_id, given_by) VALUES ($1, $2) "
                "ON CONFLICT (tenant_id) DO NOTHING",
                tenant_id,
                given_by,
            )

    async def withdraw(self, tenant_id: TenantId) -> bool:
        """Withdraws the consent. Returns False if there was none."""
        async with self._transactions.begin() as connection:
            return bool(
                await connection.execute("DELETE FROM ai_consents WHERE tenant_id = $1", tenant_id)
                == "DELETE 1"
            )

    async def consents(self) -> tuple[Consent, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT tenant_id, given_by, given_at FROM ai_consents ORDER BY tenant_id"
            )
        return tuple(Consent(**dict(row)) for row in rows)


def _combine_policies(rows: Sequence[asyncpg.Record]) -> Allowed:
    policies = tuple(AiPolicy(row["policy"]) for row in rows)
    policy = policy_among(policies, is_private=rows[0]["is_private"], is_blocked=rows[0]["ai_blocked"])
    payer_ids = tuple(TenantId(row["tenant_id"]) for row in rows if row["policy"] == AiPolicy.PROVIDER)
    return Allowed(policy, payer_ids if policy is AiPolicy.PROVIDER else ())
