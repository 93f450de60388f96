"""Results of a tenant's requests to follow: counts, lines that were answered at once,
and requests that are tried again.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import asyncpg

from telegram_assistant.domain.channels.channel_requests import (
    MAX_OPEN_REQUESTS,
    RequestFate,
    RequestKind,
    RequestState,
)
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.errors import Busy
from telegram_assistant.reasons import Reason, dump_reason
from telegram_assistant.stores.postgres.channels.channel_requests import options_of
from telegram_assistant.stores.postgres.channels.channels import OPTIONS, Subscription, values_of
from telegram_assistant.stores.postgres.database import TenantTransactions

MAX_AT_ONCE = 20_000
"""The most lines answered at once that are kept of one tenant;
later ones replace nothing and are not kept.
"""


@dataclass(frozen=True, slots=True)
class AnsweredLine:
    """A line of a list that never waits: the tenant follows its channel already, or it was not accepted."""

    kind: RequestKind
    reference: str
    outcome: Reason
    subscription: Subscription
    channel_id: ChannelId | None = None
    """The channel, if it is followed already."""

    @property
    def key(self) -> tuple[RequestKind, str]:
        """Lines with the same key are duplicates."""
        return self.kind, self.reference.lower() if self.kind is RequestKind.USERNAME else self.reference


KEEP = """
-- arrays, one element per line: $1 kind, $2 reference, $3 outcome, $4 channel, $5 options; $6 most lines that
-- are kept
INSERT INTO channel_requests (kind, reference, outcome, channel_id, options, state, was_followed, at_once,
    created_at, answered_at)
SELECT kind, reference, outcome, channel_id, options::jsonb, CASE WHEN channel_id IS NULL THEN 'failed'
    ELSE 'done' END, channel_id IS NOT NULL,
       true, now() + place * interval '1 microsecond', now()
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[])
    WITH ORDINALITY AS w(kind, reference, outcome, channel_id, options, place)
WHERE place <= $6 - (SELECT count(*) FROM channel_requests WHERE at_once)
ON CONFLICT (tenant_id, kind, reference_key) WHERE at_once
DO UPDATE SET outcome = excluded.outcome, channel_id = excluded.channel_id, options = excluded.options,
    state = excluded.state, was_followed = excluded.was_followed, created_at = excluded.created_at,
    answered_at = excluded.answered_at
"""

# A reference has one open request. The others that failed for it say nothing more.
MERGE = """
-- $1 a request, or NULL for all
DELETE FROM channel_requests f
WHERE f.state = 'failed' AND f.kind <> 'unreadable' AND ($1::uuid IS NULL OR f.request_id = $1) AND EXISTS (
    SELECT 1 FROM channel_requests o
    WHERE o.kind = f.kind AND o.reference_key = f.reference_key AND o.account_id IS NOT DISTINCT
        FROM f.account_id AND (
        o.state = 'open' OR ($1 IS NULL AND o.state = 'failed'
            AND (o.created_at, o.request_id) > (f.created_at, f.request_id))))
"""
TRY_AGAIN = """
-- $1 a request, or NULL for all; $2 most open requests of the tenant
UPDATE channel_requests r
SET state = 'open', outcome = NULL, progress = NULL, channel_id = NULL, at_once = false, answered_at = NULL,
    next_try_at = now(),
    created_at = now() + chosen.place * interval '1 microsecond'
FROM (
    SELECT request_id, row_number() OVER (ORDER BY created_at, request_id) AS place FROM channel_requests
    WHERE state = 'failed' AND kind <> 'unreadable' AND ($1::uuid IS NULL OR request_id = $1)) chosen
WHERE r.request_id = chosen.request_id AND chosen.place <= $2 - (SELECT count(*) FROM channel_requests
    WHERE state = 'open')
"""


class RequestFates:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def counts(self) -> dict[RequestFate, int]:
        """How many requests to follow have each fate."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT state, was_followed, count(*) AS requests FROM channel_requests "
                "WHERE kind <> 'listing' GROUP BY state, was_followed"
            )
        counts = dict.fromkeys(RequestFate, 0)
        for row in rows:
            counts[RequestFate.from_state(RequestState(row["state"]), was_followed=row["was_followed"])] += (
                row["requests"]
            )
        return counts

    async def keep(self, lines: Sequence[AnsweredLine]) -> None:
        """Keeps lines that were answered at once, beside the requests.

        A line that was kept before is replaced.
        """
        distinct_lines = {line.key: line for line in lines}.values()
        async with self._transactions.begin() as connection:
            await connection.execute(
                KEEP,
                [line.kind.value for line in distinct_lines],
                [line.reference for line in distinct_lines],
                [dump_reason(line.outcome) for line in distinct_lines],
                [line.channel_id for line in distinct_lines],
                [json.dumps(options_of(line.subscription)) for line in distinct_lines],
                MAX_AT_ONCE,
            )

    async def change_followed(
        self, folders: Mapping[ChannelId, str | None], subscription: Subscription
    ) -> None:
        """Gives channels that were requested again the wanted options, each its folder,
        and detaches them from Telegram folders.
        """
        channel_ids = sorted(folders)
        other_columns = ", ".join(
            f"{name} = coalesce(${number}, {name})" for number, name in enumerate(OPTIONS[1:], 3)
        )
        async with self._transactions.begin() as connection:
            await connection.execute(
                f"""
                -- arrays: $1 channel, $2 folder; $3-$7 the other OPTIONS
                UPDATE subscriptions SET {other_columns},
                    folder = coalesce(w.wanted_folder, folder), from_folder = NULL
                FROM unnest($1::bigint[], $2::text[]) AS w(wanted_id, wanted_folder)
                WHERE channel_id = w.wanted_id
                """,
                channel_ids,
                [folders[channel_id] for channel_id in channel_ids],
                *values_of(subscription)[1:],
            )
            await connection.execute("SELECT refresh_tiers($1)", channel_ids)

    async def try_again(self, request_id: UUID | None = None, *, max_open: int = MAX_OPEN_REQUESTS) -> int:
        """Opens a failed request again, or all of them; returns how many. They wait behind the tenant's other
        requests.

        A failed request whose reference is open in another one is deleted: that one answers for both.
        """
        try:
            async with self._transactions.begin() as connection:
                await connection.execute(MERGE, request_id)
                opened_text = await connection.execute(TRY_AGAIN, request_id, max_open)
        except asyncpg.UniqueViolationError as error:  # somebody requested the same at the same moment
            raise Busy(
                Reason("requests_changed", "somebody else is changing the requests; try again")
            ) from error
        return int(opened_text.removeprefix("UPDATE "))
