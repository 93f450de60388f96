"""The queue of requests to follow: which one an account serves next.

The queue is round-robin: of the tenants and kinds that an account may serve, the one served longest ago is
next. So a tenant with thousands of names delays another tenant's single name by one turn, and names delay
neither folders nor invitations.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from telegram_assistant.domain.channels.channel_requests import RequestKind, RequestState
from telegram_assistant.domain.ids import AccountId, ChannelId, TenantId
from telegram_assistant.domain.operations.due_work import MAX_ROWS
from telegram_assistant.reasons import Reason, dump_reason
from telegram_assistant.stores.postgres.channels.channel_requests import subscription_of
from telegram_assistant.stores.postgres.channels.channels import Subscription
from telegram_assistant.stores.postgres.database import SystemTransactions

TAKEN_FOR = timedelta(minutes=2)
"""A request without an answer after this time is served again."""
LOOKAHEAD = 1000
"""While no lookups are allowed, the queue searches this many of a tenant's oldest names for one that is
stored.
"""


@dataclass(frozen=True, slots=True)
class ClaimedRequest:
    """A request that is being served. Without a tenant it only opens the channel to the account itself."""

    request_id: UUID
    tenant_id: TenantId | None
    kind: RequestKind
    reference: str
    subscription: Subscription
    progress: str | None
    """The place at which reading a long list continues."""


# An account serves all kinds for its own tenant, and requests for its own access. An operator's account also
# resolves names for tenants without an account. Tenant 0 stands for no tenant.
OF_ACCOUNT = """
SELECT a.tenant_id, kind, true AS is_own
FROM telegram_accounts a, unnest($2::text[]) AS kind
WHERE a.account_id = $1 AND a.state = 'active' AND kind <> 'access'
UNION ALL
SELECT 0, kind, false FROM unnest($2::text[]) AS kind WHERE kind = 'access'
UNION ALL
SELECT other.tenant_id, kind, false
FROM telegram_accounts a JOIN tenants t USING (tenant_id), tenants other, unnest($2::text[]) AS kind
WHERE a.account_id = $1 AND a.state = 'active' AND t.is_operator AND other.tenant_id <> a.tenant_id
    AND other.suspended_at IS NULL
  AND kind = 'username'
  AND NOT EXISTS (SELECT 1 FROM telegram_accounts o
      WHERE o.tenant_id = other.tenant_id AND o.state = 'active')
"""

# Public names of tenants that no account serves.
OF_PREVIEWS = """
SELECT t.tenant_id, kind, false AS is_own FROM tenants t, unnest($2::text[]) AS kind
WHERE t.suspended_at IS NULL AND NOT EXISTS (
    SELECT 1 FROM telegram_accounts a JOIN tenants o USING (tenant_id)
    WHERE a.state = 'active' AND (o.is_operator OR o.tenant_id = t.tenant_id))
"""

# OFFSET 0 keeps this one index probe per request.
IS_STORED = (
    "EXISTS (SELECT 1 FROM channels c WHERE lower(c.username) = lower(r.reference) "
    "AND NOT c.is_private OFFSET 0)"
)

# Both lookups cost one index probe per party, however many requests it has. If two accounts choose the same
# request at the same moment, the second finds it taken and tries again.
CLAIM = """
WITH parties AS MATERIALIZED ({parties}),
next AS (
    SELECT first.request_id
    FROM parties p
    CROSS JOIN LATERAL (
        SELECT r.request_id, r.created_at FROM (
            SELECT r.request_id, r.created_at, r.kind, r.reference FROM channel_requests r
            WHERE r.state = 'open' AND r.party = p.tenant_id AND r.kind = p.kind AND r.next_try_at <= now()
              AND (r.account_id IS NULL OR r.account_id = $1)
            ORDER BY r.created_at, r.request_id LIMIT {LOOKAHEAD}) r
        WHERE {condition} ORDER BY r.created_at, r.request_id LIMIT 1) first
    LEFT JOIN LATERAL (
        SELECT r.taken_at FROM channel_requests r
        WHERE r.party = p.tenant_id AND r.kind = p.kind AND r.taken_at IS NOT NULL
        ORDER BY r.taken_at DESC LIMIT 1) last ON true
    ORDER BY last.taken_at NULLS FIRST, p.is_own DESC, first.created_at, first.request_id LIMIT 1
)
UPDATE channel_requests r SET taken_at = clock_timestamp(), next_try_at = now() + $3, outcome = NULL
FROM next WHERE r.request_id = next.request_id AND r.state = 'open' AND r.next_try_at <= now()
RETURNING r.request_id, r.tenant_id, r.kind, r.reference, r.options, r.progress
"""


class RequestQueue:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def claim(
        self, account_id: AccountId, kinds: Collection[RequestKind], *, only_stored_names: bool = False
    ) -> ClaimedRequest | None:
        """Claims the next request of these kinds for this account.

        The claim expires after two minutes without an answer.
        """
        return await self._claim(
            OF_ACCOUNT,
            account_id,
            kinds,
            condition=f"(r.kind <> 'username' OR {IS_STORED})" if only_stored_names else "true",
        )

    async def claim_public(self) -> ClaimedRequest | None:
        """Claims the next public name that no account can resolve, for the preview reader;
        otherwise like `claim`.
        """
        return await self._claim(OF_PREVIEWS, None, [RequestKind.USERNAME])

    async def _claim(
        self,
        parties: str,
        account_id: AccountId | None,
        kinds: Collection[RequestKind],
        *,
        condition: str = "true",
    ) -> ClaimedRequest | None:
        query = CLAIM.format(parties=parties, condition=condition, LOOKAHEAD=LOOKAHEAD)
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(query, account_id, [kind.value for kind in kinds], TAKEN_FOR)
        if row is None:
            return None
        subscription = subscription_of(json.loads(row["options"]))
        return ClaimedRequest(
            row["request_id"],
            row["tenant_id"],
            RequestKind(row["kind"]),
            row["reference"],
            subscription,
            row["progress"],
        )

    async def answer(
        self,
        request_id: UUID,
        state: RequestState,
        outcome: Reason,
        *,
        channel_id: ChannelId | None = None,
        was_followed: bool = False,
    ) -> None:
        """Closes a request as done or failed; `outcome` says what was found, or why not."""
        change = "state = $2, outcome = $3, channel_id = $4, was_followed = $5, answered_at = now()"
        await self._update(request_id, change, state.value, dump_reason(outcome), channel_id, was_followed)

    async def give_back(self, request_id: UUID) -> None:
        """Returns a request that cannot be served now: it keeps its position,
        and its tenant keeps the turn.
        """
        await self._update(request_id, "next_try_at = now(), taken_at = NULL")

    async def postpone(self, request_id: UUID, reason: Reason, *, pause: timedelta) -> None:
        await self._update(request_id, "next_try_at = now() + $3, outcome = $2", dump_reason(reason), pause)

    async def keep_progress(self, request_id: UUID, progress: str) -> None:
        """Stores how far a long list has been read."""
        await self._update(request_id, "progress = $2, next_try_at = now() + $3", progress, TAKEN_FOR)

    async def forget(self, before: datetime, *, limit: int = MAX_ROWS) -> int:
        """Deletes so many requests answered before that time; returns how many."""
        async with self._transactions.begin() as connection:
            status = await connection.execute(
                "DELETE FROM channel_requests WHERE ctid = ANY (ARRAY(SELECT ctid FROM channel_requests "
                "WHERE state <> 'open' AND answered_at < $1 LIMIT $2))",
                before,
                limit,
            )
        return int(status.removeprefix("DELETE "))

    async def _update(self, request_id: UUID, change: str, *values: object) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(
                f"UPDATE channel_requests SET {change} WHERE request_id = $1", request_id, *values
            )
