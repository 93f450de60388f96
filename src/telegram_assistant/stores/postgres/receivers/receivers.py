"""The receivers of a tenant's alerts and digests, their secrets and codes, and what waits for them."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg

from telegram_assistant.domain.receivers.delivery import (
    MAX_WRONG_CODES,
    AlertReceiver,
    ReceiverKind,
    address_hash,
)
from telegram_assistant.reasons import Reason, dump_reason, load_reason
from telegram_assistant.stores.postgres.database import TenantTransactions

MAX_RECEIVERS = 50
"""Per tenant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewReceiver:
    """A receiver that does not exist yet.

    `sealed_secret` signs the requests of a webhook; an e-mail address has none.
    """

    receiver_id: UUID
    kind: ReceiverKind
    name: str
    address: str
    language: str
    created_by: str
    sealed_secret: str = ""

    def __repr__(self) -> str:
        return f"NewReceiver({self.receiver_id})"


class Receivers:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def all(self) -> tuple[AlertReceiver, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(LIST)
        return tuple(map(_receiver, rows))

    async def create(self, new: NewReceiver) -> bool:
        """Creates the receiver with the delivery of its code.

        Returns False if the name or the address is taken, or the tenant already has as many as it may have.
        """
        async with self._transactions.begin() as connection:
            if not await connection.fetchval(
                CREATE, new.receiver_id, new.kind.value, new.name, new.address, new.language, new.created_by
            ):
                return False
            await connection.execute("INSERT INTO delivery_shares DEFAULT VALUES ON CONFLICT DO NOTHING")
            if new.sealed_secret:
                await connection.execute(INSERT_SEALED, new.receiver_id, new.sealed_secret)
            await connection.execute(SEND_CODE, new.receiver_id)
        return True

    async def replace_secret(self, receiver_id: UUID, sealed_text: str, *, lifetime: timedelta) -> bool:
        """The secret until now stays valid for so long; earlier ones end.

        Returns False if there is no such webhook.
        """
        async with self._transactions.begin() as connection:
            if not await connection.fetchval(
                "SELECT true FROM receivers WHERE receiver_id = $1 AND kind = 'webhook'", receiver_id
            ):
                return False
            await connection.execute(
                "DELETE FROM receiver_secrets WHERE receiver_id = $1 AND ends_at IS NOT NULL", receiver_id
            )
            await connection.execute(
                "UPDATE receiver_secrets SET ends_at = now() + $2 WHERE receiver_id = $1",
                receiver_id,
                lifetime,
            )
            await connection.execute(INSERT_SEALED, receiver_id, sealed_text)
        return True

    async def take_code_attempt(self, receiver_id: UUID) -> int | None:
        """Counts an attempt to type the code.

        Returns the number of the valid code; None if there is none, or after too many attempts.
        """
        async with self._transactions.begin() as connection:
            number: int | None = await connection.fetchval(TAKE_ATTEMPT, receiver_id)
        return number

    async def confirm(self, receiver_id: UUID, code_number: int) -> bool:
        """Returns False if this code is not valid any more."""
        async with self._transactions.begin() as connection:
            is_confirmed: bool = await connection.fetchval(CONFIRM, receiver_id, code_number) or False
            await connection.execute(
                "DELETE FROM deliveries WHERE receiver_id = $1 AND code_number IS NOT NULL", receiver_id
            )
        return is_confirmed

    async def send_code(self, receiver_id: UUID) -> bool:
        """Sends a new code; earlier ones end.

        Returns False if there is no such receiver, or it is confirmed.
        """
        async with self._transactions.begin() as connection:
            await connection.execute(
                "DELETE FROM deliveries WHERE receiver_id = $1 AND code_number IS NOT NULL", receiver_id
            )
            if not await connection.fetchval(NEXT_CODE, receiver_id):
                return False
            await connection.execute(SEND_CODE, receiver_id)
        return True

    async def is_unsubscribed(self, address: str) -> bool:
        """Whether somebody who reads this address wants no more mails of the tenant."""
        async with self._transactions.begin() as connection:
            return bool(
                await connection.fetchval(
                    "SELECT true FROM unsubscribed_addresses WHERE address_hash = $1", address_hash(address)
                )
            )

    async def unsubscribe(self, receiver_id: UUID, reason: Reason) -> str | None:
        """Sends nothing more to this e-mail address, and ends its code.

        Returns the address; None if there is no such receiver.
        """
        async with self._transactions.begin() as connection:
            address: str | None = await connection.fetchval(UNSUBSCRIBE, receiver_id, dump_reason(reason))
            if address is not None:
                await connection.execute(
                    "DELETE FROM deliveries WHERE receiver_id = $1 AND delivered_at IS NULL", receiver_id
                )
                await connection.execute(
                    "INSERT INTO unsubscribed_addresses (address_hash) VALUES ($1) ON CONFLICT DO NOTHING",
                    address_hash(address),
                )
        return address

    async def subscribe_again(self, receiver_id: UUID) -> bool:
        """For the reader of the address. Returns False if there is no such receiver any more."""
        async with self._transactions.begin() as connection:
            address: str | None = await connection.fetchval(SUBSCRIBE_AGAIN, receiver_id)
            if address is not None:
                await connection.execute(
                    "DELETE FROM unsubscribed_addresses WHERE address_hash = $1", address_hash(address)
                )
        return address is not None

    async def resume(self, receiver_id: UUID) -> bool:
        """Ends a pause and a wait; everything that waits is delivered in order.

        Returns False if there is no such receiver.
        """
        async with self._transactions.begin() as connection:
            return await connection.execute(RESUME, receiver_id) == "UPDATE 1"

    async def pause(self, receiver_id: UUID) -> bool:
        async with self._transactions.begin() as connection:
            return (
                await connection.execute(
                    "UPDATE receivers SET paused_at = now() WHERE receiver_id = $1", receiver_id
                )
                == "UPDATE 1"
            )

    async def replay(self, receiver_id: UUID, *, since: datetime) -> int | None:
        """Delivers again, in order and with the same ids, what was delivered since then.

        Returns how many; None if there is no such receiver.
        """
        async with self._transactions.begin() as connection:
            if not await connection.fetchval(
                "SELECT EXISTS (SELECT 1 FROM receivers WHERE receiver_id = $1)", receiver_id
            ):
                return None
            status = await connection.execute(
                "UPDATE deliveries SET delivered_at = NULL WHERE receiver_id = $1 AND delivered_at >= $2 "
                "AND code_number IS NULL",
                receiver_id,
                since,
            )
        return int(status.rpartition(" ")[2])

    async def delete(self, receiver_id: UUID) -> bool:
        """Deletes the receiver, its secrets, what waits for it, and its place in watches."""
        async with self._transactions.begin() as connection:
            await connection.execute("DELETE FROM deliveries WHERE receiver_id = $1", receiver_id)
            await connection.execute("DELETE FROM receiver_secrets WHERE receiver_id = $1", receiver_id)
            await connection.execute(
                "UPDATE watches SET receivers = array_remove(receivers, $1) WHERE $1 = ANY (receivers)",
                receiver_id,
            )
            return (
                await connection.execute("DELETE FROM receivers WHERE receiver_id = $1", receiver_id)
                == "DELETE 1"
            )

    async def attempts_in(self, hour: datetime) -> int:
        """How many deliveries were tried for the tenant in this hour."""
        async with self._transactions.begin() as connection:
            return (
                await connection.fetchval("SELECT attempts FROM delivery_shares WHERE hour = $1", hour) or 0
            )


def _receiver(row: asyncpg.Record) -> AlertReceiver:
    return AlertReceiver(
        **{**dict(row), "kind": ReceiverKind(row["kind"]), "trouble": load_reason(row["trouble"])}
    )


LIST = """
SELECT r.receiver_id, r.kind, r.name, r.address, r.created_by, r.created_at, r.confirmed_at, r.code_number,
    r.failures, r.retry_at,
       r.trouble, r.paused_at, r.delivered_at,
       (SELECT count(*) FROM deliveries d
        WHERE d.receiver_id = r.receiver_id AND d.delivered_at IS NULL AND d.code_number IS NULL) AS waiting,
       (SELECT max(s.ends_at) FROM receiver_secrets s
           WHERE s.receiver_id = r.receiver_id AND s.ends_at > now()) AS old_secret_until
FROM receivers r ORDER BY lower(r.name), r.receiver_id
"""

CREATE = f"""
INSERT INTO receivers (receiver_id, kind, name, address, language, created_by)
SELECT $1, $2, $3, $4, $5, $6 WHERE (SELECT count(*) FROM receivers) < {MAX_RECEIVERS} ON CONFLICT DO NOTHING
    RETURNING true
"""

INSERT_SEALED = "INSERT INTO receiver_secrets (receiver_id, sealed) VALUES ($1, $2)"

SEND_CODE = """
INSERT INTO deliveries (receiver_id, code_number, due_at) SELECT receiver_id, code_number, now()
FROM receivers WHERE receiver_id = $1
"""

NEXT_CODE = """
UPDATE receivers SET code_number = code_number + 1, wrong_codes = 0, paused_at = NULL, retry_at = NULL,
    failures = 0, failing_since = NULL,
    trouble = NULL
WHERE receiver_id = $1 AND confirmed_at IS NULL RETURNING true
"""

TAKE_ATTEMPT = f"""
UPDATE receivers SET wrong_codes = wrong_codes + 1
WHERE receiver_id = $1 AND confirmed_at IS NULL AND wrong_codes < {MAX_WRONG_CODES} RETURNING code_number
"""

CONFIRM = """
UPDATE receivers SET confirmed_at = now(), wrong_codes = 0
WHERE receiver_id = $1 AND confirmed_at IS NULL AND code_number = $2 RETURNING true
"""

UNSUBSCRIBE = """
UPDATE receivers SET confirmed_at = NULL, code_number = code_number + 1, paused_at = now(), trouble = $2
WHERE receiver_id = $1 AND kind = 'email' RETURNING address
"""

SUBSCRIBE_AGAIN = """
UPDATE receivers SET confirmed_at = now(), paused_at = NULL, trouble = NULL, failures = 0,
    failing_since = NULL, retry_at = NULL
WHERE receiver_id = $1 AND kind = 'email' RETURNING address
"""

RESUME = """
UPDATE receivers SET paused_at = NULL, retry_at = NULL, failures = 0, failing_since = NULL, trouble = NULL
WHERE receiver_id = $1
"""
