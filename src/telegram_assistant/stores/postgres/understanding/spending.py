"""Budgets, reservations, and the usage ledger.

A call reserves its highest price from every payer before it is sent, and is settled to the real price
afterwards. A reservation counts as used at once, so a call that is never settled (its process died) counts as
spent.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.understanding.spending import (
    Amount,
    Balance,
    CallOutcome,
    ProviderCall,
    SpendingBudget,
    UsageLine,
    split_amount,
    split_within_balances,
)
from telegram_assistant.stores.postgres.database import ApiTransactions, SystemTransactions

THIS_MONTH = "date_trunc('month', now() AT TIME ZONE 'UTC')::date"
NOTHING_LEFT = Balance(0, None)
"""The balance of a tenant without a budget: it may only make free calls."""

# Rows are locked in the order of tenants, so that two calls with the same payers cannot deadlock.
BALANCES = f"""
SELECT tenant_id, money_micro - CASE WHEN month = {THIS_MONTH} THEN used_micro ELSE 0 END AS micro,
       tokens - CASE WHEN month = {THIS_MONTH} THEN used_tokens ELSE 0 END AS tokens
FROM budgets WHERE tenant_id = ANY($1::bigint[]) ORDER BY tenant_id FOR UPDATE
"""
RESERVE = f"""
-- arrays, one element per payer: $1 tenant, $2 money in millionths, $3 tokens; $4 call, $5 work, $6 purpose,
-- $7 provider, $8 model, $9 lifetime
WITH owed AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS o (tenant_id, micro, tokens)),
taken AS (
    UPDATE budgets b SET month = {THIS_MONTH}, used_micro = CASE WHEN b.month = {THIS_MONTH} THEN b.used_micro
        ELSE 0 END + o.micro,
                         used_tokens = CASE WHEN b.month = {THIS_MONTH} THEN b.used_tokens ELSE 0 END
                             + o.tokens
    FROM owed o WHERE b.tenant_id = o.tenant_id
)
INSERT INTO budget_reservations (call_id, tenant_id, month, micro, tokens, work, purpose, provider, model,
    expires_at)
SELECT $4, tenant_id, {THIS_MONTH}, micro, tokens, $5, $6, $7, $8, now() + $9 FROM owed
"""
GIVE_BACK = """
UPDATE budgets b SET used_micro = b.used_micro - r.micro, used_tokens = b.used_tokens - r.tokens
FROM unnest($1::bigint[], $2::date[], $3::bigint[], $4::bigint[]) AS r (tenant_id, month, micro, tokens)
WHERE b.tenant_id = r.tenant_id AND b.month = r.month
"""
"""A reservation of a past month stays in that month."""
NOTE = """
-- $1 call; arrays, one element per payer: $2 tenant, $3 money in millionths, $4 tokens; $5 work, $6 purpose,
-- $7 provider, $8 model, $9 status, $10 tokens sent, $11 tokens received, $12 price of the whole call, $13
-- latency in ms
INSERT INTO usage (call_id, tenant_id, micro, tokens, work, purpose, provider, model, status,
    call_sent_tokens, call_received_tokens, call_micro,
                   payers, latency_ms)
SELECT $1, tenant_id, micro, tokens, $5, $6, $7, $8, $9, $10, $11, $12, cardinality($2::bigint[]), $13
FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS owed (tenant_id, micro, tokens)
"""
BUDGETS = f"""
SELECT tenant_id, money_micro AS micro, tokens, {THIS_MONTH} AS month,
       CASE WHEN month = {THIS_MONTH} THEN used_micro ELSE 0 END AS used_micro,
       CASE WHEN month = {THIS_MONTH} THEN used_tokens ELSE 0 END AS used_tokens
FROM budgets ORDER BY tenant_id
"""
USAGE = """
SELECT tenant_id, (at AT TIME ZONE 'UTC')::date AS day, provider, model, purpose, status, count(*) AS calls,
       sum(tokens)::bigint AS tokens, sum(micro)::bigint AS micro
FROM usage WHERE at >= $1 AND ($2::bigint IS NULL OR tenant_id = $2)
GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY day DESC, tenant_id, provider, model, purpose, status
"""


class QuestionLedger:
    """Pays for a tenant's questions out of its own budget: one payer per call."""

    def __init__(self, transactions: ApiTransactions) -> None:
        self._transactions = transactions

    async def reserve(
        self, call: ProviderCall, highest: Amount, payer_ids: Sequence[TenantId], *, lifetime: timedelta
    ) -> Mapping[TenantId, Amount]:
        """Reserves the highest price from the payer's budget. Empty if the payer cannot pay."""
        (payer_id,) = payer_ids
        async with self._transactions.begin() as connection:
            is_reserved = await connection.fetchval(
                # call, payer, money in millionths, tokens, work, purpose, provider, model, lifetime
                "SELECT reserve_for_question($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                call.call_id,
                payer_id,
                highest.micro,
                highest.tokens,
                call.work.value,
                call.purpose,
                call.provider,
                call.model,
                lifetime,
            )
        return {payer_id: highest} if is_reserved else {}

    async def settle(self, call: ProviderCall, outcome: CallOutcome) -> None:
        """Like `Spending.settle`."""
        await self._settle(
            call.call_id,
            outcome.status,
            outcome.amount.micro,
            outcome.amount.tokens,
            outcome.tokens.sent,
            outcome.tokens.received,
            outcome.latency_ms,
        )

    async def release(self, call_id: UUID) -> None:
        """Like `Spending.release`."""
        await self._settle(call_id, None, 0, 0, 0, 0, 0)

    async def _settle(self, *values: object) -> None:
        """Takes the call, status (None: release), money in millionths, tokens, tokens sent,
        tokens received and latency in ms.
        """
        async with self._transactions.begin() as connection:
            await connection.execute("SELECT settle_question($1, $2, $3, $4, $5, $6, $7)", *values)


class Spending:
    """A system store: a call may have payers of many tenants."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def reserve(
        self, call: ProviderCall, highest: Amount, payer_ids: Sequence[TenantId], *, lifetime: timedelta
    ) -> Mapping[TenantId, Amount]:
        """Reserves each payer's share of the highest price from its budget. Empty if nobody can pay."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(BALANCES, list(payer_ids))
            balances = {row["tenant_id"]: Balance(row["micro"], row["tokens"]) for row in rows}
            owed_amounts = split_within_balances(
                highest, {payer_id: balances.get(payer_id, NOTHING_LEFT) for payer_id in payer_ids}
            )
            if owed_amounts:
                await connection.execute(
                    RESERVE,
                    list(owed_amounts),
                    [amount.micro for amount in owed_amounts.values()],
                    [amount.tokens for amount in owed_amounts.values()],
                    call.call_id,
                    call.work.value,
                    call.purpose,
                    call.provider,
                    call.model,
                    lifetime,
                )
        return owed_amounts

    async def settle(self, call: ProviderCall, outcome: CallOutcome) -> None:
        """Replaces the reserved price by the real one.

        Does nothing the second time, or after the reservation expired.
        """
        async with self._transactions.begin() as connection:
            reserved_rows = await connection.fetch(
                "DELETE FROM budget_reservations WHERE call_id = $1 "
                "RETURNING tenant_id, month, micro, tokens",
                call.call_id,
            )
            if not reserved_rows:
                return
            owed_amounts = split_amount(outcome.amount, [row["tenant_id"] for row in reserved_rows])
            refunds = sorted(
                (row["tenant_id"], row["month"], owed_amounts[row["tenant_id"]], row["micro"], row["tokens"])
                for row in reserved_rows
            )
            await connection.execute(
                GIVE_BACK,
                [tenant_id for tenant_id, *_ in refunds],
                [month for _, month, *_ in refunds],
                [micro - amount.micro for _, _, amount, micro, _ in refunds],
                [tokens - amount.tokens for _, _, amount, _, tokens in refunds],
            )
            await connection.execute(
                NOTE,
                call.call_id,
                list(owed_amounts),
                [amount.micro for amount in owed_amounts.values()],
                [amount.tokens for amount in owed_amounts.values()],
                call.work.value,
                call.purpose,
                call.provider,
                call.model,
                outcome.status,
                outcome.tokens.sent,
                outcome.tokens.received,
                outcome.amount.micro,
                outcome.latency_ms,
            )

    async def release(self, call_id: UUID) -> None:
        """Returns the whole reservation of a call that was not sent; the ledger gets no row."""
        async with self._transactions.begin() as connection:
            reserved_rows = await connection.fetch(
                "DELETE FROM budget_reservations WHERE call_id = $1 "
                "RETURNING tenant_id, month, micro, tokens",
                call_id,
            )
            rows = sorted(tuple(row) for row in reserved_rows)
            await connection.execute(GIVE_BACK, *([row[index] for row in rows] for index in range(4)))

    async def expire(self) -> int:
        """Writes unsettled calls into the ledger at their reserved price; returns how many."""
        async with self._transactions.begin() as connection:
            calls = await connection.fetchval(
                """
                WITH lost AS (DELETE FROM budget_reservations WHERE expires_at < now() RETURNING *),
                noted AS (
                    INSERT INTO usage (call_id, tenant_id, micro, tokens, work, purpose, provider, model,
                        status, call_sent_tokens,
                                       call_received_tokens, call_micro, payers, latency_ms)
                    SELECT call_id, tenant_id, micro, tokens, work, purpose, provider, model, 'lost',
                        sum(tokens) OVER whole, 0,
                           sum(micro) OVER whole, count(*) OVER whole, 0
                    FROM lost WINDOW whole AS (PARTITION BY call_id)
                )
                SELECT count(DISTINCT call_id) FROM lost
                """
            )
        return int(calls)

    async def set_budget(self, tenant_id: TenantId, *, micro: int, tokens: int | None) -> None:
        """Sets the budget from now on; this month's usage stays."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                f"""
                INSERT INTO budgets (tenant_id, money_micro, tokens, month) VALUES ($1, $2, $3, {THIS_MONTH})
                ON CONFLICT (tenant_id) DO UPDATE SET money_micro = excluded.money_micro,
                    tokens = excluded.tokens, updated_at = now()
                """,
                tenant_id,
                micro,
                tokens,
            )

    async def budgets(self) -> tuple[SpendingBudget, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(BUDGETS)
        return tuple(SpendingBudget(**dict(row)) for row in rows)

    async def usage(self, since: datetime, *, tenant_id: TenantId | None = None) -> tuple[UsageLine, ...]:
        """Usage by tenant, day and model, the newest day first."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(USAGE, since, tenant_id)
        return tuple(UsageLine(**dict(row)) for row in rows)
