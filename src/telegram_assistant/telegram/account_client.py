"""One account's line to Telegram. Every request of ours goes through `AccountClient.ask`, so that no account is ever harmed.

A request waits until Telegram wants to hear it (floods), until its budget allows it, and until the one before it is
answered; it is sent only while the account is ours. Floods and budgets outlive the process. Telethon neither sleeps nor
tries again nor reconnects by itself: each of these would send something that nobody has allowed.
"""

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from telethon import errors
from telethon.tl import functions

from telegram_assistant.domain.accounts.account import AccountRefused, AccountState, Lease
from telegram_assistant.domain.accounts.budget import CONNECT, Cost, Meter, MethodBudget, SavedMeter, budget_of, meter_of
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.errors import Busy, Flooded
from telegram_assistant.telegram.connection import Connection, WaitRequired
from telegram_assistant.telegram.data_centers import DataCenterConnections
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import ACCOUNT_BLOCKED
from telegram_assistant.telemetry.waits import note_wait

log = get_logger()

PATIENCE_SECONDS = 10.0
"""Longer than this nobody is kept waiting inside a request: it is told to come back."""
ALERT_SECONDS = 300.0
CAREFUL_ABOVE_SECONDS, CAREFUL = 60.0, 1.2
JITTER_SECONDS = 3.0
MAX_FLOODS = 5
"""So many short waits in one request; then it is told to come back."""
IDS_PER_UNIT = 10


class LimitStore(Protocol):
    """Where floods and budgets are kept between processes."""

    async def of(self, account_id: AccountId) -> Mapping[str, SavedMeter]: ...
    async def keep(self, account_id: AccountId, method: str, kept: SavedMeter) -> None: ...


@dataclass(frozen=True, slots=True)
class Clock:
    """How a line knows the time, and how it waits. Telethon itself would wait for an answer for ever."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    answer_seconds: float = 30.0


@dataclass(slots=True)
class _Turn:
    """Requests of one budget go one after the other; `costs` are those that wait or are under way."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    costs: list[Cost] = field(default_factory=list)


class AccountClient:
    """Connects when it is first used, and again when the connection was lost. `open_line` makes it."""

    def __init__(
        self,
        wire: Connection,
        abroad: DataCenterConnections,
        *,
        account_id: AccountId,
        lease: Lease,
        limits: LimitStore,
        kept: Mapping[str, SavedMeter],
        clock: Clock,
    ) -> None:
        self.floods = 0
        """How often Telegram has asked to wait."""
        self._wire = wire
        self._abroad = abroad
        self._account_id = account_id
        self._lease = lease
        self._limits = limits
        self._clock = clock
        self._meters = {method: meter_of(budget_of(method), one, clock.now()) for method, one in kept.items()}
        self._turns: defaultdict[str, _Turn] = defaultdict(_Turn)
        self._in_flight = asyncio.Lock()
        for method in self._meters:
            self._show_block(method)

    def lives_in(self, dc_id: int) -> bool:
        """Whether this is the account's own data centre."""
        return self._abroad.is_home(dc_id)

    async def ask(self, request: Any, *, dc_id: int | None = None) -> Any:  # noqa: ANN401 -- Telethon's requests and answers have no types
        """Telegram's answer. Its errors about the request itself come as Telethon's classes.

        `dc_id` is the data centre that has what is asked for. Floods and budgets are the account's, whichever it is.
        Flooded or Busy: come back later. AccountRefused: never again, whatever is asked. LeaseLost: the account is not ours.
        """
        budget, cost = budget_of(method_of(type(request))), cost_of(request)
        turn = self._turns[budget.method]
        self._check(budget, *turn.costs, cost)
        turn.costs.append(cost)
        try:
            async with turn.lock:
                return await self._insist(request, budget, cost, dc_id)
        finally:
            turn.costs.remove(cost)

    async def _insist(self, request: Any, budget: MethodBudget, cost: Cost, dc_id: int | None) -> Any:  # noqa: ANN401 -- as above
        """Until it is answered, through waits that are short."""
        for attempt in range(1, MAX_FLOODS + 1):
            await self._until_allowed(budget, cost)
            try:
                if dc_id is not None and not self._abroad.is_home(dc_id):
                    return await self._ask_abroad(request, budget, cost, dc_id)
                async with self._in_flight:
                    return await self._send(request, budget, cost, self._wire)
            except WaitRequired as told:
                pause = await self._record_flood(budget, told.seconds)
                if told.seconds > PATIENCE_SECONDS or attempt == MAX_FLOODS:
                    note_wait(pause)
                    raise _flooded(budget, pause) from told
                note_wait(0.0, retries=1)
                await self._wait_out(pause)
        raise AssertionError("the last attempt returns or raises")

    async def _ask_abroad(self, request: Any, budget: MethodBudget, cost: Cost, dc_id: int) -> Any:  # noqa: ANN401 -- as above
        wire = await self._abroad.wire(dc_id, self.ask)
        try:
            async with self._in_flight:
                return await self._send(request, budget, cost, wire)
        except (AccountRefused, errors.AuthBytesInvalidError) as refused:
            if isinstance(refused, AccountRefused) and refused.state != AccountState.LOGGED_OUT:
                raise
            await self._abroad.forget(dc_id)  # the login did not get there; whether the account is logged out, is said at home
            raise Busy(f"data centre {dc_id} does not know the account", retry_after_seconds=PATIENCE_SECONDS) from refused

    async def leave(self) -> None:
        """Hang up everywhere but at home."""
        await self._abroad.leave()

    async def _send(self, request: Any, budget: MethodBudget, cost: Cost, wire: Connection) -> Any:  # noqa: ANN401 -- as above
        self._require_accepted()
        if not wire.is_up:
            await self._connect(wire.connect)
        await self._spend(budget, cost)
        try:
            return await wire.call(request)
        except errors.InvalidDCError:  # it was not heard: another data centre is to be asked
            self._meters[budget.method] = self._meter(budget).give_back(cost)
            raise

    async def move_to(self, dc_id: int) -> None:
        """Go on in another data centre: the account that is being logged in lives there."""
        async with self._in_flight:
            await self._connect(lambda: self._wire.move_to(dc_id))

    async def _connect(self, connect: Callable[[], Awaitable[None]]) -> None:
        await self._until_allowed(CONNECT, Cost())
        await self._spend(CONNECT, Cost())
        try:
            await connect()
        except WaitRequired as told:
            pause = await self._record_flood(CONNECT, told.seconds)
            note_wait(pause)
            raise _flooded(CONNECT, pause) from told

    # --- floods and budgets ---

    def _check(self, budget: MethodBudget, *costs: Cost) -> None:
        """Whether the last of these requests may be sent within our patience."""
        self._require_accepted()
        self._lease.check()
        meter, now = self._meter(budget), self._clock.now()
        blocked = meter.blocked_seconds(now)
        if blocked > PATIENCE_SECONDS:
            raise _flooded(budget, blocked)
        wait = meter.seconds_until(now, *costs)
        if wait > PATIENCE_SECONDS:
            raise Busy(f"{budget.method} is used up for {wait:.0f} s", retry_after_seconds=wait)

    def _require_accepted(self) -> None:
        if self._wire.refused is not None:
            raise AccountRefused(str(self._wire.refused), state=self._wire.refused.state)

    async def _until_allowed(self, budget: MethodBudget, cost: Cost) -> None:
        self._check(budget, cost)
        blocked = self._meter(budget).blocked_seconds(self._clock.now())
        if blocked:
            await self._wait_out(blocked)
        while (wait := self._meter(budget).seconds_until(self._clock.now(), cost)) > 0:
            await self._clock.sleep(wait)
        self._lease.check()

    async def _wait_out(self, seconds: float) -> None:
        """A wait that Telegram has asked for."""
        await self._clock.sleep(seconds)
        note_wait(seconds)
        self._lease.check()

    async def _record_flood(self, budget: MethodBudget, asked: float) -> float:
        """Leave the method alone from now on, in this process and the next; how long."""
        careful = CAREFUL if asked > CAREFUL_ABOVE_SECONDS else 1.0
        pause = asked * careful + random.uniform(0, JITTER_SECONDS)  # noqa: S311 -- jitter
        self.floods += 1
        self._meters[budget.method] = self._meter(budget).block(self._clock.now(), pause)
        self._show_block(budget.method)
        event, tell = ("account_flooded", log.warning) if asked > ALERT_SECONDS else ("flood_wait", log.info)
        tell(event, account_id=self._account_id, method=budget.method, asked_seconds=asked, pause_seconds=round(pause, 1))
        try:
            await self._keep(budget)
        except Busy as busy:  # this process remembers it, and the request has its answer
            log.warning("flood_not_kept", account_id=self._account_id, method=budget.method, why=str(busy))
        return pause

    def _show_block(self, method: str) -> None:
        """A flood that is remembered from before a restart is shown, too."""
        blocked = self._meters[method].blocked_seconds(self._clock.now())
        if blocked:
            ACCOUNT_BLOCKED.labels(self._account_id, method).set(time.time() + blocked)

    def _meter(self, budget: MethodBudget) -> Meter:
        meter = self._meters.get(budget.method)
        if meter is None:
            meter = self._meters[budget.method] = meter_of(budget, None, self._clock.now())
        return meter

    async def _spend(self, budget: MethodBudget, cost: Cost) -> None:
        """Written down before the request is sent: a crash must not give it back."""
        self._meters[budget.method] = self._meter(budget).take(self._clock.now(), cost)
        if budget.is_kept:
            await self._keep(budget)

    async def _keep(self, budget: MethodBudget) -> None:
        await self._limits.keep(self._account_id, budget.method, self._meter(budget).kept(self._clock.now()))


def _flooded(budget: MethodBudget, seconds: float) -> Flooded:
    return Flooded(f"Telegram asks to leave {budget.method} alone for {seconds:.0f} s", retry_after_seconds=seconds)


FUNCTIONS = "telethon.tl.functions"


def method_of(request: type) -> str:
    """The method's name as Telegram's documentation writes it, like messages.getHistory."""
    theirs = next(kind for kind in request.__mro__ if kind.__module__.startswith(FUNCTIONS))
    name = theirs.__name__.removesuffix("Request")
    space = theirs.__module__.removeprefix(FUNCTIONS).lstrip(".")
    return ".".join(part for part in (space, name[:1].lower() + name[1:]) if part)


def cost_of(request: Any) -> Cost:  # noqa: ANN401 -- any of Telethon's requests
    match request:
        case functions.channels.GetMessagesRequest():
            return Cost(units=max(1, -(-len(request.id) // IDS_PER_UNIT)))
        case functions.messages.GetDialogsRequest():
            return Cost(is_first_page=request.offset_date is None and not request.offset_id)
    return Cost()
