"""Requests to follow channels, as their tenant makes and sees them.

`request_queue` decides which is served next.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg

from telegram_assistant.domain.accounts.budget import SavedMeter, budget_of
from telegram_assistant.domain.channels.channel import Reference, ReferenceKind
from telegram_assistant.domain.channels.channel_requests import (
    JOINED,
    LISTING,
    MAX_OPEN_REQUESTS,
    METHODS,
    Capacity,
    RequestFate,
    RequestKind,
    RequestState,
    ServingAccount,
    named_folder,
)
from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.domain.ids import AccountId, ChannelId
from telegram_assistant.domain.timestamps import MomentCursor
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.reasons import Reason, load_reason, quote
from telegram_assistant.stores.postgres.channels.channels import NOT_KNOWN_YET, Subscription
from telegram_assistant.stores.postgres.database import TenantTransactions

REFERENCES = {
    RequestKind.USERNAME: ReferenceKind.NAME,
    RequestKind.ACCESS: ReferenceKind.NAME,
    RequestKind.INVITE: ReferenceKind.INVITE,
    RequestKind.LIST: ReferenceKind.LIST,
}


@dataclass(frozen=True, slots=True)
class NewRequest:
    """A new request; if `account_id` is set, only that account serves it."""

    kind: RequestKind
    reference: str
    subscription: Subscription
    account_id: AccountId | None = None

    @property
    def key(self) -> tuple[str, str, int | None]:
        """Requests with the same key are duplicates."""
        return _key(self.kind, self.reference, self.account_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelRequest:
    """A request and its state. `outcome` says what was found, why it failed, or why it was postponed."""

    request_id: UUID
    kind: RequestKind
    reference: str
    state: RequestState
    channel_id: ChannelId | None
    outcome: Reason | None
    next_try_at: datetime
    created_at: datetime
    answered_at: datetime | None
    position: int | None
    """Position among the tenant's open requests of this kind, from 1."""
    was_followed: bool = False
    """Whether the tenant followed all that was found already."""
    title: str | None = None
    """The title of a channel that was picked from a list."""

    @property
    def fate(self) -> RequestFate:
        return RequestFate.from_state(self.state, was_followed=self.was_followed)

    @property
    def may_try_again(self) -> bool:
        return self.state is RequestState.FAILED and self.kind is not RequestKind.UNREADABLE

    @property
    def display_text(self) -> Reason:
        """The reference as people write it.

        Invitations and folder links give access to channels, so they are shortened.
        """
        match self.kind:
            case RequestKind.DIALOGS:
                return JOINED
            case RequestKind.FOLDER:
                return named_folder(self.reference)
            case RequestKind.LISTING:
                return LISTING
            case RequestKind.PICK | RequestKind.UNREADABLE:
                return quote(self.title or self.reference)
            case _:
                return quote(Reference(self.reference, REFERENCES[self.kind]).display_text)


# Names are case-insensitive. The times of one batch differ by a microsecond each, which preserves its order.
ADD = """
-- arrays, one element per request: $1 kind, $2 reference, $3 key, $4 options, $5 account; $6 most open
-- requests of the tenant
WITH wanted AS (
    SELECT w.*, EXISTS (
        SELECT 1 FROM channel_requests r
        WHERE r.state = 'open' AND r.kind = w.kind AND r.reference_key = w.key AND r.account_id IS NULL
            AND w.account_id IS NULL) AS is_open
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])
        WITH ORDINALITY AS w(kind, reference, key, options, account_id, place)
),
counted AS (SELECT w.*, count(*) FILTER (WHERE NOT is_open) OVER (ORDER BY place) AS new FROM wanted w)
INSERT INTO channel_requests AS r (kind, reference, options, account_id, created_at)
SELECT kind, reference, options::jsonb, account_id, now() + place * interval '1 microsecond' FROM counted
WHERE is_open OR new <= $6 - (SELECT count(*) FROM channel_requests WHERE state = 'open')
ON CONFLICT (tenant_id, kind, reference_key) WHERE state = 'open' AND account_id IS NULL
DO UPDATE SET options = r.options || excluded.options
RETURNING r.request_id, r.kind, r.reference, r.account_id
"""

PLACES = """
SELECT request_id, row_number() OVER (PARTITION BY kind ORDER BY created_at, request_id) AS position
FROM channel_requests WHERE state = 'open'
"""
SHOWN = f"""
SELECT r.request_id, r.kind, r.reference, r.state, r.channel_id, r.outcome, r.next_try_at, r.created_at,
    r.answered_at, r.was_followed,
       p.position, j.title
FROM channel_requests r LEFT JOIN ({PLACES}) p USING (request_id)
LEFT JOIN LATERAL (
    SELECT title FROM joined_channels WHERE channel_id = CASE r.kind WHEN 'pick' THEN r.reference::bigint END
        LIMIT 1) j ON true
"""


class ChannelRequests:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def add(
        self, new_requests: Sequence[NewRequest], *, max_open: int = MAX_OPEN_REQUESTS
    ) -> tuple[UUID | None, ...]:
        """The id of each; None beyond `max_open`.

        A request equal to an open one of the tenant is merged into it.
        """
        distinct_requests = {request.key: request for request in new_requests}.values()
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                ADD,
                [request.kind.value for request in distinct_requests],
                [request.reference for request in distinct_requests],
                [request.key[1] for request in distinct_requests],
                [json.dumps(options_of(request.subscription)) for request in distinct_requests],
                [request.account_id for request in distinct_requests],
                max_open,
            )
        ids = {_key(row["kind"], row["reference"], row["account_id"]): row["request_id"] for row in rows}
        return tuple(ids.get(request.key) for request in new_requests)

    async def page(
        self,
        state: RequestState | None,
        *,
        limit: int,
        before: MomentCursor | None = None,
        was_followed: bool | None = None,
    ) -> tuple[ChannelRequest, ...]:
        """One page of requests to follow, the newest first."""
        return await self._fetch(
            f"""
            -- $1 state, $2 page size, $3 and $4 last request of the previous page, $5 was followed
            {SHOWN} WHERE r.kind <> 'listing' AND ($1::text IS NULL OR r.state = $1)
                AND ($5::boolean IS NULL OR r.was_followed = $5)
              AND ($3::timestamptz IS NULL OR (r.created_at, r.request_id) < ($3, $4::uuid))
            ORDER BY r.created_at DESC, r.request_id DESC LIMIT $2
            """,
            state and state.value,
            limit,
            before and before.at,
            before and before.item_id,
            was_followed,
        )

    async def some(self, request_ids: Collection[UUID]) -> tuple[ChannelRequest, ...]:
        """Those of these requests that belong to the tenant, the oldest first."""
        return await self._fetch(
            f"{SHOWN} WHERE r.request_id = ANY($1) ORDER BY r.created_at, r.request_id", list(request_ids)
        )

    async def open_like(self, request: ChannelRequest) -> UUID | None:
        """The open request for the same reference, if there is one."""
        _, key, _ = _key(request.kind, request.reference, None)
        async with self._transactions.begin() as connection:
            request_id: UUID | None = await connection.fetchval(
                "SELECT request_id FROM channel_requests WHERE state = 'open' AND kind = $1 "
                "AND reference_key = $2",
                request.kind.value,
                key,
            )
        return request_id

    async def waiting(self) -> dict[RequestKind, int]:
        """The number of open requests of each kind."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT kind, count(*) AS requests FROM channel_requests WHERE state = 'open' GROUP BY kind "
                "ORDER BY kind"
            )
        return {RequestKind(row["kind"]): row["requests"] for row in rows}

    async def capacity(self) -> Capacity:
        """The accounts that serve the tenant's requests, and what is left of their budgets."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT * FROM accounts_for_requests($1)",
                sorted({budget_of(method).method for method in METHODS.values()}),
            )
            other_requests = await connection.fetchrow("SELECT * FROM beside_requests()")
        accounts: dict[int, tuple[bool, bool]] = {}
        limits: defaultdict[int, dict[str, SavedMeter]] = defaultdict(dict)
        for row in rows:
            accounts[row["account_id"]] = (row["is_own"], row["is_running"])
            if row["method"] is not None:
                limits[row["account_id"]][row["method"]] = SavedMeter(
                    blocked_seconds=row["blocked_seconds"],
                    tokens=None if row["tokens"] is None else tuple(row["tokens"]),
                    tokens_age_seconds=row["tokens_age_seconds"],
                    pace=row["pace"],
                    pace_age_seconds=row["pace_age_seconds"],
                )
        assert other_requests is not None  # an aggregate always returns a row
        serving = tuple(
            ServingAccount(is_own, is_running, limits[number])
            for number, (is_own, is_running) in accounts.items()
        )
        return Capacity(serving, other_requests["tenants"], other_requests["has_previews"])

    async def _fetch(self, query: str, *values: object) -> tuple[ChannelRequest, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(query, *values)
        return tuple(_request(row) for row in rows)


def _key(kind: str, reference: str, account_id: int | None) -> tuple[str, str, int | None]:
    return kind, reference.lower() if kind == RequestKind.USERNAME else reference, account_id


def options_of(subscription: Subscription) -> dict[str, object]:
    """The options that were set, as JSON values."""
    options = {
        "folder": subscription.folder,
        "priority": subscription.priority and subscription.priority.value,
        "ai_policy": subscription.ai_policy and subscription.ai_policy.value,
        "history_days": subscription.history_days,
        "wants_media": subscription.wants_media,
    }
    return {name: value for name, value in options.items() if value is not None}


def subscription_of(options: dict[str, Any]) -> Subscription:
    """The subscription that these options describe; its channel is not known yet."""
    priority, ai_policy = options.get("priority"), options.get("ai_policy")
    return Subscription(
        channel_id=NOT_KNOWN_YET,
        folder=options.get("folder"),
        priority=Priority(priority) if priority else None,
        ai_policy=AiPolicy(ai_policy) if ai_policy else None,
        history_days=options.get("history_days"),
        wants_media=options.get("wants_media"),
    )


def _request(row: asyncpg.Record) -> ChannelRequest:
    parsed_columns = {
        "kind": RequestKind(row["kind"]),
        "state": RequestState(row["state"]),
        "outcome": load_reason(row["outcome"]),
    }
    return ChannelRequest(**{**dict(row), **parsed_columns})
