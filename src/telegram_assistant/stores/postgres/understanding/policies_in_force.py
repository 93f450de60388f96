"""The policies in force of a tenant's channels, and where the tenant's window of each channel begins."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.stores.postgres.schema import Connection

IN_FORCE = """
SELECT CASE WHEN ai_policy <> 'provider' OR EXISTS (SELECT 1 FROM ai_consents) THEN ai_policy
    ELSE 'local' END AS policy,
       nullif(visible_from, '-infinity') AS since, array_agg(channel_id) AS channel_ids
FROM subscriptions WHERE active GROUP BY 1, 2
"""
"""Windows begin at midnight, so a tenant with thousands of channels has few groups."""


@dataclass(frozen=True, slots=True)
class PoliciesInForce:
    """The state of every followed channel."""

    policies: Mapping[ChannelId, AiPolicy]
    """The policy of each channel; `provider` without the owner's consent counts as `local`."""
    since: Mapping[ChannelId, datetime]
    """The beginning of a channel's window; a channel without an entry is visible from its beginning."""


async def in_force(connection: Connection) -> PoliciesInForce:
    """Loads the policies inside a tenant's transaction."""
    policies: dict[ChannelId, AiPolicy] = {}
    since: dict[ChannelId, datetime] = {}
    for row in await connection.fetch(IN_FORCE):
        policies |= dict.fromkeys(row["channel_ids"], AiPolicy(row["policy"]))
        if row["since"] is not None:
            since |= dict.fromkeys(row["channel_ids"], row["since"])
    return PoliciesInForce(policies, since)
