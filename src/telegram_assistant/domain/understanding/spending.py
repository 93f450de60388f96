"""Money and tokens as integers: a micro-unit is a millionth of the unit of prices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
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
    def all(self) -> int:
        return self.sent + self.received


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a million tokens, in micro-units."""

    sent_micro: int = 0
    received_micro: int = 0

    def of(self, tokens: Tokens) -> int:
        """The price of these tokens, rounded up so that it is never understated."""
        return -(-(tokens.sent * self.sent_micro + tokens.received * self.received_micro) // MILLION)


@dataclass(frozen=True, slots=True)
class Amount:
    """The cost of a call."""

    micro: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Balance:
    """What a tenant has left this month. `tokens` None: no limit."""

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
class Call:
    """One call to a provider, as the ledger records it."""

    call_id: UUID
    work: ModelTask
    purpose: str
    provider: str
    model: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended, and what it really cost."""

    status: str
    """`ok`, or a Failure."""
    amount: Amount
    tokens: Tokens
    latency_ms: int


@dataclass(frozen=True, slots=True)
class UsageLine:
    """A tenant's calls of one day, model and outcome."""

    tenant_id: TenantId
    day: date
    provider: str
    model: str
    purpose: str
    status: str
    calls: int
    tokens: int
    micro: int


@dataclass(frozen=True, slots=True)
class Consent:
    """An owner's consent to send texts to a provider."""

    tenant_id: TenantId
    given_by: str
    given_at: datetime


def shares(total: int, payers: int) -> tuple[int, ...]:
    """Equal parts that add up to the total exactly; the first ones carry the remainder."""
    part, rest = divmod(total, payers)
    return tuple(part + (number < rest) for number in range(payers))


def split(amount: Amount, payers: Sequence[TenantId]) -> dict[TenantId, Amount]:
    """What each payer owes, in the order of their ids."""
    ordered = sorted(payers)
    parts = zip(shares(amount.micro, len(ordered)), shares(amount.tokens, len(ordered)), strict=True)
    return {payer: Amount(micro, tokens) for payer, (micro, tokens) in zip(ordered, parts, strict=True)}


def who_can_pay(amount: Amount, balances: Mapping[TenantId, Balance]) -> dict[TenantId, Amount]:
    """The shares of the tenants that can pay; one that cannot drops out, and the other shares grow. Empty if nobody is left."""
    payers = sorted(balances)
    while payers:
        owed = split(amount, payers)
        able = [payer for payer in payers if balances[payer].covers(owed[payer])]
        if len(able) == len(payers):
            return owed
        payers = able
    return {}
