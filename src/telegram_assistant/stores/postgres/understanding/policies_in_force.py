"""The policies in force of a tenant's channels, and where the tenant's window of each channel begins."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.stores.postgres.schema import Connection

IN_FORCE = """
SELECT channel_id, CASE WHEN ai_policy <> 'provider' OR EXISTS (SELECT 1 FROM ai_consents) THEN ai_policy ELSE 'local' END AS policy,
       nullif(visible_from, '-infinity') AS since
FROM subscriptions WHERE active
"""


@dataclass(frozen=True, slots=True)
class PoliciesInForce:
    """The state of every followed channel."""

    policies: Mapping[ChannelId, AiPolicy]
    """The policy of each channel; `provider` without the owner's consent counts as `local`."""
    since: Mapping[ChannelId, datetime]
    """Where the window of a channel begins; a channel without an entry is visible from its beginning."""


async def in_force(connection: Connection) -> PoliciesInForce:
    """Loads the policies inside a tenant's transaction."""
    rows = await connection.fetch(IN_FORCE)
    policies = {ChannelId(row["channel_id"]): AiPolicy(row["policy"]) for row in rows}
    return PoliciesInForce(policies, {ChannelId(row["channel_id"]): row["since"] for row in rows if row["since"] is not None})
