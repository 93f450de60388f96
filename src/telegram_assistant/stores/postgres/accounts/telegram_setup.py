"""The installation's connection to Telegram: tenants see how far it is,
the operator's tenant enters secrets, only ingest reads them.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.accounts.setup import EnteredSecret, TelegramSecret, TelegramSetup
from telegram_assistant.stores.postgres.database import IngestTransactions, TenantTransactions

NOTHING_YET = TelegramSetup(None, None, None, frozenset(), {})


class OwnTelegramSetup:
    """A tenant store. Only the operator's tenant can change anything, and nobody reads a secret back."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def get(self) -> TelegramSetup:
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow("SELECT * FROM telegram_setup()")
        if row is None:
            return NOTHING_YET
        entered_secrets = {
            TelegramSecret(load["name"]): EnteredSecret(
                load["shown"], load["entered_by"], datetime.fromisoformat(load["entered_at"])
            )
            for load in json.loads(row["entered"])
        }
        from_environment = frozenset(TelegramSecret(name) for name in row["from_environment"] or ())
        return TelegramSetup(
            row["key_id"], row["public_key"], row["reported_at"], from_environment, entered_secrets
        )

    async def enter(
        self, name: TelegramSecret, *, display: str, key_id: str, sealed_bytes: bytes, entered_by: str
    ) -> bool:
        """Stores a sealed secret. Returns False if this is not the operator's tenant."""
        async with self._transactions.begin() as connection:
            return bool(
                await connection.fetchval(
                    "SELECT enter_telegram_secret($1, $2, $3, $4, $5)",
                    name.value,
                    display,
                    key_id,
                    sealed_bytes,
                    entered_by,
                )
            )

    async def forget(self, name: TelegramSecret) -> bool:
        """Deletes a secret. Returns False if there is none, or this is not the operator's tenant."""
        async with self._transactions.begin() as connection:
            return bool(await connection.fetchval("SELECT forget_telegram_secret($1)", name.value))


@dataclass(frozen=True, slots=True)
class SealedSecret:
    """A secret for ingest, and the id of the key that opens it."""

    key_id: str
    content: bytes


class TelegramSecrets:
    """Reads the secrets, and says for which key they are to be sealed. Only ingest has it."""

    def __init__(self, transactions: IngestTransactions) -> None:
        self._transactions = transactions

    async def report(
        self, *, key_id: str, public_key: bytes, from_environment: Collection[TelegramSecret]
    ) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(
                """
                INSERT INTO ingest_keys (key_id, public_key, from_environment, reported_at)
                    VALUES ($1, $2, $3, now())
                ON CONFLICT (is_only) DO UPDATE SET key_id = excluded.key_id,
                    public_key = excluded.public_key,
                    from_environment = excluded.from_environment, reported_at = excluded.reported_at
                """,
                key_id,
                public_key,
                sorted(secret.value for secret in from_environment),
            )

    async def all(self) -> dict[TelegramSecret, SealedSecret]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch("SELECT name, key_id, sealed FROM telegram_secrets")
        return {
            TelegramSecret(row["name"]): SealedSecret(row["key_id"], bytes(row["sealed"])) for row in rows
        }

    async def reseal(self, name: TelegramSecret, before: SealedSecret, after: SealedSecret) -> None:
        """Replaces a secret that was sealed with an old key, unless another one was entered meanwhile."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                "UPDATE telegram_secrets SET key_id = $3, sealed = $4 WHERE name = $1 AND sealed = $2",
                name.value,
                before.content,
                after.key_id,
                after.content,
            )
