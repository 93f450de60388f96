"""One account's client for Telegram. Every request goes through `AccountClient.ask`, so that no account is
ever harmed.

A request waits until Telegram's flood wait is over, until its budget allows it, and until the request before
it is answered. It is sent only under the account's lease. Floods and budgets outlive the process. Telethon
neither sleeps nor retries nor reconnects by itself: each of these would send a request that no budget has
allowed.
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
from telegram_assistant.domain.accounts.budget import (
    CONNECT,
    Cost,
    Meter,
    MethodBudget,
    SavedMeter,
    budget_of,
    meter_of,
)
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.errors import Busy, Flooded
from telegram_assistant.reasons import Reason
from telegram_assistant.telegram.connection import Connection, WaitRequired
from telegram_assistant.telegram.data_centers import DataCenterConnections
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import ACCOUNT_BLOCKED
from telegram_assistant.telemetry.waits import note_wait

log = get_logger()

PATIENCE_SECONDS = 10.0
"""A longer wait is not spent inside a request: the caller gets an error and comes back later."""
ALERT_SECONDS = 300.0
CAREFUL_ABOVE_SECONDS, CAREFUL = 60.0, 1.2
JITTER_SECONDS = 3.0
MAX_FLOODS = 5
"""Maximum number of short waits in one request; then the caller gets an error and comes back later."""
IDS_PER_UNIT = 10


class LimitStore(Protocol):
    """Stores floods and budgets between processes."""

    async def load_meters(self, account_id: AccountId) -> Mapping[str, SavedMeter]: ...
    async def keep(self, account_id: AccountId, method: str, meter: SavedMeter) -> None: ...


@dataclass(frozen=True, slots=True)
class Clock:
    """How a client reads the time and sleeps.

    `answer_seconds` is the timeout for an answer; Telethon itself would wait for ever.
    """

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    answer_seconds: float = 30.0


@dataclass(slots=True)
class _Turn:
    """Orders the requests of one budget one after the other.

    `costs` are those of waiting and running requests.
    """

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    costs: list[Cost] = field(default_factory=list)


class AccountClient:
    """Connects on first use, and again after a lost connection. Built by `open_account_client`."""

    def __init__(
        self,
        connection: Connection,
        data_centers: DataCenterConnections,
        *,
        account_id: AccountId,
        lease: Lease,
        limits: LimitStore,
        saved: Mapping[str, SavedMeter],
        clock: Clock,
    ) -> None:
        self.floods = 0
        """How often Telegram has demanded a wait."""
        self._connection = connection
        self._data_centers = data_centers
        self._account_id = account_id
        self._lease = lease
        self._limits = limits
        self._clock = clock
        self._meters = {
            method: meter_of(budget_of(method), meter, clock.now()) for method, meter in saved.items()
        }
        self._turns: defaultdict[str, _Turn] = defaultdict(_Turn)
        self._in_flight = asyncio.Lock()
        for method in self._meters:
            self._export_block(method)

    def is_home_data_center(self, dc_id: int) -> bool:
        """Tell whether this is the account's own data centre."""
        return self._data_centers.is_home(dc_id)

    async def ask(self, request: Any, *, dc_id: int | None = None) -> Any:
        """Send a request and return Telegram's answer. Errors about the request itself are raised as
        Telethon's classes.

        `dc_id` is the data centre that holds the requested data. Floods and budgets belong to the account,
        whichever it is. Flooded or Busy: come back later. AccountRefused: never use the account again.
        LeaseLost: another process has the account.
        """
        budget, cost = budget_of(method_of(type(request))), cost_of(request)
        turn = self._turns[budget.method]
        self._check(budget, *turn.costs, cost)
        turn.costs.append(cost)
        try:
            async with turn.lock:
                return await self._ask_and_retry(request, budget, cost, dc_id)
        finally:
            turn.costs.remove(cost)

    async def _ask_and_retry(self, request: Any, budget: MethodBudget, cost: Cost, dc_id: int | None) -> Any:
        """Send the request until it is answered, through short waits."""
        for attempt in range(1, MAX_FLOODS + 1):
            await self._until_allowed(budget, cost)
            try:
                if dc_id is not None and not self._data_centers.is_home(dc_id):
                    return await self._ask_other_data_center(request, budget, cost, dc_id)
                async with self._in_flight:
                    return await self._send(request, budget, cost, self._connection)
            except WaitRequired as required:
                pause_seconds = await self._record_flood(budget, required.seconds)
                if required.seconds > PATIENCE_SECONDS or attempt == MAX_FLOODS:
                    note_wait(pause_seconds)
                    raise _flood_error(budget, pause_seconds) from required
                note_wait(0.0, retry_count=1)
                await self._wait_out(pause_seconds)
        raise AssertionError("the last attempt returns or raises")

    async def _ask_other_data_center(self, request: Any, budget: MethodBudget, cost: Cost, dc_id: int) -> Any:
        connection = await self._data_centers.open_connection(dc_id, self.ask)
        try:
            async with self._in_flight:
                return await self._send(request, budget, cost, connection)
        except (AccountRefused, errors.AuthBytesInvalidError) as refused:
            if isinstance(refused, AccountRefused) and refused.state != AccountState.LOGGED_OUT:
                raise
            await self._data_centers.forget(
                dc_id
            )  # the login did not reach it; only the home data centre says whether the account is logged out
            raise Busy(
                Reason("data_center_unknown", "data centre {dc_id} does not know the account", dc_id=dc_id),
                retry_after_seconds=PATIENCE_SECONDS,
            ) from refused

    async def close(self) -> None:
        """Disconnect from all data centres except the account's own."""
        await self._data_centers.close()

    async def _send(self, request: Any, budget: MethodBudget, cost: Cost, connection: Connection) -> Any:
        self._require_accepted()
        if not connection.is_up:
            await self._connect(connection.connect)
        await self._spend(budget, cost)
        try:
            return await connection.call(request)
        except errors.InvalidDCError:  # not processed: the request belongs to another data centre
            self._meters[budget.method] = self._meter(budget).give_back(cost)
            raise

    async def move_to(self, dc_id: int) -> None:
        """Continue in another data centre, because the account that is being logged in lives there."""
        async with self._in_flight:
            await self._connect(lambda: self._connection.move_to(dc_id))

    async def _connect(self, connect: Callable[[], Awaitable[None]]) -> None:
        await self._until_allowed(CONNECT, Cost())
        await self._spend(CONNECT, Cost())
        try:
            await connect()
        except WaitRequired as required:
            pause_seconds = await self._record_flood(CONNECT, required.seconds)
            note_wait(pause_seconds)
            raise _flood_error(CONNECT, pause_seconds) from required

    # --- floods and budgets ---

    def _check(self, budget: MethodBudget, *costs: Cost) -> None:
        """Raise unless the last of these requests may be sent within PATIENCE_SECONDS."""
        self._require_accepted()
        self._lease.check()
        meter, now = self._meter(budget), self._clock.now()
        blocked_seconds = meter.blocked_seconds(now)
        if blocked_seconds > PATIENCE_SECONDS:
            raise _flood_error(budget, blocked_seconds)
        wait_seconds = meter.seconds_until(now, *costs)
        if wait_seconds > PATIENCE_SECONDS:
            raise Busy(
                Reason(
                    "budget_used_up",
                    "the budget of {method} is used up for {seconds:.0f} s",
                    method=budget.method,
                    seconds=wait_seconds,
                ),
                retry_after_seconds=wait_seconds,
            )

    def _require_accepted(self) -> None:
        if self._connection.refused is not None:
            raise AccountRefused(self._connection.refused.reason, state=self._connection.refused.state)

    async def _until_allowed(self, budget: MethodBudget, cost: Cost) -> None:
        self._check(budget, cost)
        blocked_seconds = self._meter(budget).blocked_seconds(self._clock.now())
        if blocked_seconds:
            await self._wait_out(blocked_seconds)
        while (wait_seconds := self._meter(budget).seconds_until(self._clock.now(), cost)) > 0:
            await self._clock.sleep(wait_seconds)
        self._lease.check()

    async def _wait_out(self, seconds: float) -> None:
        """Wait as long as Telegram demands."""
        await self._clock.sleep(seconds)
        note_wait(seconds)
        self._lease.check()

    async def _record_flood(self, budget: MethodBudget, demanded_seconds: float) -> float:
        """Block the method, in this process and the next. Returns the length of the pause."""
        careful = CAREFUL if demanded_seconds > CAREFUL_ABOVE_SECONDS else 1.0
        pause_seconds = demanded_seconds * careful + random.uniform(0, JITTER_SECONDS)  # noqa: S311 -- jitter
        self.floods += 1
        self._meters[budget.method] = self._meter(budget).block(self._clock.now(), pause_seconds)
        self._export_block(budget.method)
        event, log_flood = (
            ("account_flooded", log.warning) if demanded_seconds > ALERT_SECONDS else ("flood_wait", log.info)
        )
        log_flood(
            event,
            account_id=self._account_id,
            method=budget.method,
            asked_seconds=demanded_seconds,
            pause_seconds=round(pause_seconds, 1),
        )
        try:
            await self._save(budget)
        except Busy as busy:  # this process remembers the flood, and the request has its answer
            log.warning("flood_not_kept", account_id=self._account_id, method=budget.method, why=str(busy))
        return pause_seconds

    def _export_block(self, method: str) -> None:
        """Export a block, also one that was saved before a restart."""
        blocked_seconds = self._meters[method].blocked_seconds(self._clock.now())
        if blocked_seconds:
            ACCOUNT_BLOCKED.labels(self._account_id, method).set(time.time() + blocked_seconds)

    def _meter(self, budget: MethodBudget) -> Meter:
        meter = self._meters.get(budget.method)
        if meter is None:
            meter = self._meters[budget.method] = meter_of(budget, None, self._clock.now())
        return meter

    async def _spend(self, budget: MethodBudget, cost: Cost) -> None:
        """Take the cost from the budget.

        Saved before the request is sent, so that a crash does not refill the budget.
        """
        self._meters[budget.method] = self._meter(budget).take(self._clock.now(), cost)
        if budget.is_kept:
            await self._save(budget)

    async def _save(self, budget: MethodBudget) -> None:
        await self._limits.keep(
            self._account_id, budget.method, self._meter(budget).take_snapshot(self._clock.now())
        )


def _flood_error(budget: MethodBudget, seconds: float) -> Flooded:
    return Flooded(
        Reason(
            "telegram_flooded",
            "Telegram asks for a pause of {method} for {seconds:.0f} s",
            method=budget.method,
            seconds=seconds,
        ),
        retry_after_seconds=seconds,
    )


FUNCTIONS = "telethon.tl.functions"


def method_of(request: type) -> str:
    """Return the method's name as in Telegram's documentation, like messages.getHistory."""
    telethon_class = next(kind for kind in request.__mro__ if kind.__module__.startswith(FUNCTIONS))
    name = telethon_class.__name__.removesuffix("Request")
    space = telethon_class.__module__.removeprefix(FUNCTIONS).lstrip(".")
    return ".".join(part for part in (space, name[:1].lower() + name[1:]) if part)


def cost_of(request: Any) -> Cost:
    match request:
        case functions.channels.GetMessagesRequest():
            return Cost(units=max(1, -(-len(request.id) // IDS_PER_UNIT)))
        case functions.messages.GetDialogsRequest():
            return Cost(is_first_page=request.offset_date is None and not request.offset_id)
    return Cost()
