"""Channels that somebody wants and that an account must find first."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from telegram_assistant.domain.ids import AccountId, ChannelId, TenantId
from telegram_assistant.domain.priority import Priority
from telegram_assistant.domain.understanding import AiPolicy
from telegram_assistant.stores.postgres.channels import NOT_KNOWN_YET, Subscription
from telegram_assistant.stores.postgres.database import SystemTransactions


class WishKind(StrEnum):
    """How a channel is named."""

    USERNAME = "username"
    INVITE = "invite"
    DIALOGS = "dialogs"
    """All channels that the account has joined."""
    LIST = "list"
    """Whatever is in a folder that somebody shares by a link."""
    FOLDER = "folder"
    """Whatever is in a folder of the account, now and later."""


class WishState(StrEnum):
    """How far it has come."""

    OPEN = "open"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Wish:
    """One of them. Without a subscription, only the account's access is wanted."""

    wish_id: int
    tenant_id: TenantId
    account_id: AccountId | None
    kind: WishKind
    reference: str
    subscription: Subscription | None
    state: WishState
    channel_id: ChannelId | None
    answer: str | None


# The tenant's own account; for a public name also one of the operator's. Who has least to do is asked.
GIVE = """
UPDATE channel_wishes w SET account_id = (
    SELECT a.account_id FROM telegram_accounts a JOIN tenants t USING (tenant_id)
    WHERE a.state = 'active' AND (a.tenant_id = w.tenant_id OR (w.kind = 'username' AND t.is_operator))
    ORDER BY a.tenant_id = w.tenant_id DESC,
             (SELECT count(*) FROM channel_wishes o WHERE o.account_id = a.account_id AND o.state = 'open'), a.account_id LIMIT 1)
WHERE w.state = 'open' AND NOT EXISTS (SELECT 1 FROM telegram_accounts a WHERE a.account_id = w.account_id AND a.state = 'active')
"""

COLUMNS = "wish_id, tenant_id, account_id, kind, reference, subscription, state, channel_id, answer"


class Wishes:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def add(
        self, tenant_id: TenantId, kind: WishKind, reference: str, subscription: Subscription | None, *, account_id: AccountId | None = None
    ) -> int:
        plain = None if subscription is None else json.dumps(plain_of(subscription))
        async with self._transactions.begin() as connection:
            number = await connection.fetchval(
                """
                INSERT INTO channel_wishes (tenant_id, account_id, kind, reference, subscription) VALUES ($1, $2, $3, $4, $5) RETURNING wish_id
                """,
                tenant_id,
                account_id,
                kind.value,
                reference,
                plain,
            )
            await connection.execute(GIVE)
        return int(number)

    async def claim(self, account_id: AccountId) -> Wish | None:
        """The next one that this account shall see to; it comes back after two minutes unless it is answered."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(
                f"""
                UPDATE channel_wishes SET next_try_at = now() + interval '2 minutes'
                WHERE wish_id = (
                    SELECT wish_id FROM channel_wishes WHERE account_id = $1 AND state = 'open' AND next_try_at <= now()
                    ORDER BY subscription IS NULL, wish_id LIMIT 1 FOR UPDATE SKIP LOCKED)
                RETURNING {COLUMNS}
                """,
                account_id,
            )
        return None if row is None else _wish(dict(row))

    async def claim_public(self) -> Wish | None:
        """The next public name that no account was given, for who reads previews; else as `claim`."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(
                f"""
                UPDATE channel_wishes SET next_try_at = now() + interval '2 minutes'
                WHERE wish_id = (
                    SELECT wish_id FROM channel_wishes
                    WHERE account_id IS NULL AND kind = 'username' AND state = 'open' AND next_try_at <= now()
                    ORDER BY wish_id LIMIT 1 FOR UPDATE SKIP LOCKED)
                RETURNING {COLUMNS}
                """
            )
        return None if row is None else _wish(dict(row))

    async def answer(self, wish_id: int, state: WishState, answer: str, *, channel_id: ChannelId | None = None) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(
                "UPDATE channel_wishes SET state = $2, answer = $3, channel_id = $4 WHERE wish_id = $1", wish_id, state.value, answer, channel_id
            )

    async def postpone(self, wish_id: int, why: str, *, pause: timedelta) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute("UPDATE channel_wishes SET next_try_at = now() + $3, answer = $2 WHERE wish_id = $1", wish_id, why, pause)

    async def go_on_from(self, wish_id: int, reference: str) -> None:
        """A long list was read so far."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                "UPDATE channel_wishes SET reference = $2, next_try_at = now() + interval '2 minutes' WHERE wish_id = $1", wish_id, reference
            )

    async def of(self, wish_ids: Sequence[int]) -> tuple[Wish, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(f"SELECT {COLUMNS} FROM channel_wishes WHERE wish_id = ANY($1) ORDER BY wish_id", list(wish_ids))
        return tuple(_wish(dict(row)) for row in rows)


def _wish(row: dict[str, Any]) -> Wish:
    plain = row["subscription"]
    subscription = None if plain is None else subscription_of(json.loads(plain))
    return Wish(**{**row, "kind": WishKind(row["kind"]), "state": WishState(row["state"]), "subscription": subscription})


def plain_of(wanted: Subscription) -> dict[str, object]:
    """As JSON can hold it."""
    return {
        "folder": wanted.folder,
        "priority": wanted.priority.value,
        "ai_policy": wanted.ai_policy and wanted.ai_policy.value,
        "history_days": wanted.history_days,
        "wants_media": wanted.wants_media,
    }


def subscription_of(plain: dict[str, Any]) -> Subscription:
    """Which channel it is for is not known yet."""
    values = {**plain, "priority": Priority(plain["priority"]), "ai_policy": AiPolicy(plain["ai_policy"]) if plain["ai_policy"] else None}
    return Subscription(channel_id=NOT_KNOWN_YET, **values)
