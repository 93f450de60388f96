"""The cost of calls to providers: prices, budgets, usage, and how tenants share a cost.

Money is an integer number of micro-units: millionths of the currency unit in which the prices are given.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.understanding.policy import ModelTask

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens sent to and received from a model."""

    sent: int = 0
    received: int = 0

    @property
    def total(self) -> int:
        return self.sent + self.received


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a million tokens, in micro-units."""

    sent_micro: int = 0
    received_micro: int = 0

    def cost_of(self, tokens: Tokens) -> int:
        """The price of these tokens, rounded up so that it is never understated."""
        return -(-(tokens.sent * self.sent_micro + tokens.received * self.received_micro) // MILLION)


@dataclass(frozen=True, slots=True)
class Amount:
    """Money and tokens: the cost of a call, or a tenant's share of it."""

    micro: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Balance:
    """The rest of a tenant's budget this month. `tokens` None: no limit."""

    micro: int
    tokens: int | None

    def covers(self, amount: Amount) -> bool:
        return self.micro >= amount.micro and (self.tokens is None or self.tokens >= amount.tokens)


@dataclass(frozen=True, slots=True)
class SpendingBudget:
    """A tenant's monthly limits, and this month's usage; reservations count as used."""

    tenant_id: TenantId
    micro: int
    tokens: int | None
    month: date
    used_micro: int
    used_tokens: int


@dataclass(frozen=True, slots=True)
class ProviderCall:
    """One call to a provider, as the ledger records it."""

    call_id: UUID
    work: ModelTask
    purpose: str
    provider: str
    model: str


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """How a call ended, and what it really cost."""

    status: str
    """`ok`, or the value of a Failure."""
    amount: Amount
    tokens: Tokens
    latency_ms: int


@dataclass(frozen=True, slots=True)
class UsageLine:
    """The sum of a tenant's calls with the same day, model, purpose and status."""

    tenant_id: TenantId
    day: date
    provider: str
    model: str
    purpose: str
    status: str
    calls: int
    tokens: int
    micro: int


def equal_shares(total: int, payer_count: int) -> tuple[int, ...]:
    """Equal parts that add up to the total exactly; the first ones carry the remainder."""
    part, remainder = divmod(total, payer_count)
    return tuple(part + (number < remainder) for number in range(payer_count))


def split_amount(amount: Amount, payer_ids: Sequence[TenantId]) -> dict[TenantId, Amount]:
    """The equal share of each payer, in the order of their ids."""
    ordered_payer_ids = sorted(payer_ids)
    parts = zip(
        equal_shares(amount.micro, len(ordered_payer_ids)),
        equal_shares(amount.tokens, len(ordered_payer_ids)),
        strict=True,
    )
    return {
        payer_id: Amount(micro, token_count)
        for payer_id, (micro, token_count) in zip(ordered_payer_ids, parts, strict=True)
    }


def split_within_balances(amount: Amount, balances: Mapping[TenantId, Balance]) -> dict[TenantId, Amount]:
    """Splits the amount among the tenants that can pay their shares. One that cannot drops out, and the other
    shares grow.

    Empty if nobody is left.
    """
    payer_ids = sorted(balances)
    while payer_ids:
        owed_amounts = split_amount(amount, payer_ids)
        able_tenant_ids = [
            payer_id for payer_id in payer_ids if balances[payer_id].covers(owed_amounts[payer_id])
        ]
        if len(able_tenant_ids) == len(payer_ids):
            return owed_amounts
        payer_ids = able_tenant_ids
    return {}
