"""One paid call to a provider: breaker, budget, stream, call, bill."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol
from uuid import UUID, uuid4

from telegram_assistant.ai.breaker import Breaker
from telegram_assistant.ai.prices import Prices
from telegram_assistant.ai.provider_queue import ProviderQueue
from telegram_assistant.ai.providers import ConfiguredProvider
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.understanding.policy import (
    Failure,
    FallbackReason,
    ModelTask,
    ProviderFailed,
    Urgency,
)
from telegram_assistant.domain.understanding.spending import Amount, CallOutcome, ProviderCall, Tokens
from telegram_assistant.errors import AssistantError
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import AI_BREAKER_OPEN, AI_CALLS, AI_COST, AI_LATENCY

log = get_logger()

ANSWER_SECONDS = {
    Urgency.QUESTION: 45.0,
    Urgency.DIGEST: 90.0,
    Urgency.LIVE: 30.0,
    Urgency.RETAGGING: 30.0,
    Urgency.BACKFILL: 60.0,
}
RESERVED_FOR = timedelta(minutes=10)
"""Longer than any call waits and takes. A reservation that is not settled by then counts as spent."""
RATE_PAUSE_SECONDS = 10.0
MONEY_PAUSE_SECONDS = 600.0
SHORT_PAUSE_SECONDS = 1.0
OUTAGES = {Failure.OUTAGE, Failure.LATE}
NEVER_BILLED = {Failure.OUTAGE, Failure.RATE, Failure.NO_MONEY, Failure.REFUSED}


class Withheld(AssistantError):
    """The call was not made."""

    def __init__(self, reason: FallbackReason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class HasTokens(Protocol):
    """An answer of a provider, with the tokens it used."""

    @property
    def tokens(self) -> Tokens: ...


class Ledger(Protocol):
    """Budgets and usage. Implemented by `Spending` and `QuestionLedger`."""

    async def reserve(
        self, call: ProviderCall, highest: Amount, payer_ids: Sequence[TenantId], *, lifetime: timedelta
    ) -> Mapping[TenantId, Amount]: ...

    async def settle(self, call: ProviderCall, outcome: CallOutcome) -> None: ...

    async def release(self, call_id: UUID) -> None: ...


class Streams(Protocol):
    """The limits of a provider, shared by all processes. Implemented by `AiStreams`."""

    def hold_stream(
        self, name: str, *, urgency: Urgency, stream_count: int, per_minute: int
    ) -> AbstractAsyncContextManager[None]: ...

    async def pause(self, name: str, seconds: float, *, why: str) -> None: ...

    async def load_pause_seconds(self, name: str) -> float: ...


@dataclass(frozen=True, slots=True)
class CallOrder:
    """A call to make: the provider, the task, the payers, and the most tokens it can use."""

    source: ConfiguredProvider
    work: ModelTask
    purpose: str
    highest: Tokens
    payers: tuple[TenantId, ...]
    urgency: Urgency

    @property
    def model(self) -> str:
        return self.source.models[self.work]


@dataclass(slots=True)
class Progress:
    """Whether the call was sent. Before that it can be cancelled at no cost."""

    sent: bool = False
    cost_micro: int = 0


class ProviderCaller:
    """One per process; it remembers which providers are unavailable."""

    def __init__(self, *, ledger: Ledger, streams: Streams, prices: Prices) -> None:
        self._ledger = ledger
        self._streams = streams
        self._prices = prices
        self._breakers: dict[tuple[str, bool], Breaker] = {}
        self._lines: dict[str, ProviderQueue] = {}

    def breaker(self, order: CallOrder) -> Breaker:
        """The breaker of a provider.

        Live work has its own: a provider that is too slow for it may be fast enough for a digest.
        """
        return self._breakers.setdefault((order.source.name, order.urgency is Urgency.LIVE), Breaker())

    async def call[A: HasTokens](
        self,
        order: CallOrder,
        send: Callable[[float], Awaitable[A]],
        *,
        progress: Progress,
        find_known_answer: Callable[[], Awaitable[A | None]] | None = None,
    ) -> A:
        """Makes the call.

        Raises Withheld if it was not made, ProviderFailed if it failed. `known` is checked again at our turn.
        """
        async with self._lines.setdefault(order.source.name, ProviderQueue(order.source.streams)).turn(
            order.urgency
        ):
            return await self._call(order, send, progress=progress, find_known_answer=find_known_answer)

    async def _call[A: HasTokens](
        self,
        order: CallOrder,
        send: Callable[[float], Awaitable[A]],
        *,
        progress: Progress,
        find_known_answer: Callable[[], Awaitable[A | None]] | None,
    ) -> A:
        breaker = self.breaker(order)
        if breaker.is_open:
            raise Withheld(FallbackReason.BREAKER)
        if await self._streams.load_pause_seconds(order.source.name) > SHORT_PAUSE_SECONDS:
            raise Withheld(FallbackReason.BUSY)
        call = ProviderCall(uuid4(), order.work, order.purpose, order.source.name, order.model)
        highest = Amount(
            self._prices.price_of(order.source.name, order.model).cost_of(order.highest), order.highest.total
        )
        if not await self._ledger.reserve(call, highest, order.payers, lifetime=RESERVED_FOR):
            raise Withheld(FallbackReason.NO_BUDGET)
        own_progress = Progress()
        try:
            source = order.source
            async with self._streams.hold_stream(
                source.name, urgency=order.urgency, stream_count=source.streams, per_minute=source.per_minute
            ):
                reply = await find_known_answer() if find_known_answer else None
                if reply is not None:
                    return reply
                if not breaker.begin():
                    raise Withheld(FallbackReason.BREAKER)
                own_progress.sent = progress.sent = True
                return await self._send(order, call, highest, send, breaker, progress)
        finally:
            if not own_progress.sent:
                await asyncio.shield(self._ledger.release(call.call_id))

    async def _send[A: HasTokens](
        self,
        order: CallOrder,
        call: ProviderCall,
        highest: Amount,
        send: Callable[[float], Awaitable[A]],
        breaker: Breaker,
        progress: Progress,
    ) -> A:
        began_at = time.monotonic()
        try:
            answer = await send(ANSWER_SECONDS[order.urgency])
        except ProviderFailed as error:
            failure = error.failure
            billed_amount = Amount() if failure in NEVER_BILLED else highest
            await self._settle(
                call, CallOutcome(failure.value, billed_amount, Tokens(), _ms(began_at)), progress
            )
            await self._learn(order, failure, error, breaker)
            raise
        except BaseException:
            breaker.release_trial()  # cancelled, or a bug: the reservation stays until it expires
            raise
        self._tell(order, breaker, is_well=True)
        spent_amount = Amount(
            self._prices.price_of(order.source.name, order.model).cost_of(answer.tokens), answer.tokens.total
        )
        await self._settle(call, CallOutcome("ok", spent_amount, answer.tokens, _ms(began_at)), progress)
        return answer

    async def _settle(self, call: ProviderCall, outcome: CallOutcome, progress: Progress) -> None:
        progress.cost_micro += outcome.amount.micro
        AI_CALLS.labels(call.provider, call.model, outcome.status).inc()
        AI_LATENCY.labels(call.provider, call.model).observe(outcome.latency_ms / 1000)
        AI_COST.labels(call.provider, call.model).inc(outcome.amount.micro)
        await self._ledger.settle(call, outcome)

    async def _learn(
        self, order: CallOrder, failure: Failure, error: ProviderFailed, breaker: Breaker
    ) -> None:
        name = order.source.name
        if failure in OUTAGES:
            self._tell(order, breaker, is_well=False)
        else:
            breaker.release_trial()
        if failure is Failure.RATE:
            await self._streams.pause(
                name, error.retry_after_seconds or RATE_PAUSE_SECONDS, why="it asks to wait"
            )
        elif failure is Failure.NO_MONEY:
            log.warning(
                "provider_without_money",
                provider=name,
                what_to_do="top the account up; it is asked again in ten minutes",
            )
            await self._streams.pause(name, MONEY_PAUSE_SECONDS, why="its account is empty")

    def late(self, order: CallOrder) -> None:
        """Records that live work gave up waiting for a call that was sent."""
        self._tell(order, self.breaker(order), is_well=False)

    def _tell(self, order: CallOrder, breaker: Breaker, *, is_well: bool) -> None:
        """Updates the breaker; logs once when a provider becomes unavailable, and once when it returns."""
        was_out = breaker.has_tripped
        breaker.record_success() if is_well else breaker.record_failure()
        if breaker.has_tripped != was_out:
            lane = "live" if order.urgency is Urgency.LIVE else "other"
            AI_BREAKER_OPEN.labels(order.source.name, lane).set(breaker.has_tripped)
            if breaker.has_tripped:
                log.warning(
                    "provider_away",
                    provider=order.source.name,
                    lane=lane,
                    what_to_do="nothing: local results go on, and it is tried again",
                )
            else:
                log.info("provider_back", provider=order.source.name, lane=lane)


def _ms(began_at: float) -> int:
    return int((time.monotonic() - began_at) * 1000)
