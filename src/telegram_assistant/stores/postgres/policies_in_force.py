"""What may understand the channels that a tenant follows, as it holds now."""

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.understanding import AiPolicy
from telegram_assistant.stores.postgres.schema import Connection

IN_FORCE = """
SELECT channel_id, CASE WHEN ai_policy <> 'provider' OR EXISTS (SELECT 1 FROM ai_consents) THEN ai_policy ELSE 'local' END AS policy
FROM subscriptions WHERE active
"""


async def policies_in_force(connection: Connection) -> dict[ChannelId, AiPolicy]:
    """Inside a tenant's transaction; `provider` without the owner's consent is `local`."""
    return {ChannelId(row["channel_id"]): AiPolicy(row["policy"]) for row in await connection.fetch(IN_FORCE)}
