"""The behaviour of an account client that loses its connection, an answer, its lease or its account."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from telethon import errors
from telethon.tl import functions, types

from telegram_assistant.domain.accounts.account import MARGIN_SECONDS, AccountRefused, AccountState, Lease
from telegram_assistant.errors import Busy, LeaseLost, Unanswered
from telegram_assistant.telegram.account_client import Clock
from telegram_assistant.telegram.error_mapping import demanded_wait_seconds, map_error
from telegram_simulator.control.operations import Control
from telegram_simulator.control.seeing import state
from telegram_simulator.simulator import Simulator
from testkit.socks_proxy import proxy_server
from testkit.waits import Skipping
from tests.simulator.conftest import PHONE
from tests.streams.conftest import until
from tests.telegram.conftest import Lines

NEAREST, STATE = functions.help.GetNearestDcRequest(), functions.updates.GetStateRequest()
STATUS, RESOLVE = (
    functions.account.UpdateStatusRequest(offline=True),
    functions.contacts.ResolveUsernameRequest("gorod_news"),
)


def calls(sim: Simulator, method: str) -> int:
    return sim.counters.calls[PHONE, method]


async def nobody_connected(sim: Simulator) -> bool:
    return not sim.connections


async def is_called(sim: Simulator, method: str) -> bool:
    return calls(sim, method) > 0


async def test_a_dropped_connection_is_made_anew_with_another_session_and_never_twice(
    lines: Lines, sim: Simulator
) -> None:
    async with lines() as line:
        for _ in range(4):
            await line.ask(NEAREST)
            assert sim.drop_connections() == 1
            await until(lambda: nobody_connected(sim))
            await asyncio.sleep(0.01)  # the news has to come to Telethon too
        await line.ask(NEAREST)
        assert len(sim.connections) == 1
    (record,) = sim.keys.records_of(PHONE)
    assert len(record.sessions) == 5
    assert record.double_use == 0
    assert calls(sim, "help.getNearestDc") == 5


async def test_a_connection_that_is_lost_under_a_request_is_busy_and_the_request_is_not_sent_again(
    lines: Lines, sim: Simulator
) -> None:
    async with lines() as line:
        await line.ask(NEAREST)
        sim.faults.latency_seconds = 5
        asking = asyncio.create_task(line.ask(STATUS))
        await until(lambda: is_called(sim, "account.updateStatus"))
        sim.drop_connections()
        with pytest.raises(Busy, match="does not answer"):
            await asking
        sim.faults.latency_seconds = 0
        await line.ask(NEAREST)
    assert calls(sim, "account.updateStatus") == 1


async def test_telegram_that_is_away_is_busy_and_found_again(lines: Lines, sim: Simulator) -> None:
    async with lines() as line:
        sim.faults.refuse_connections = True
        with pytest.raises(Busy, match="does not answer"):
            await line.ask(NEAREST)
        sim.faults.refuse_connections = False
        assert await line.ask(NEAREST)


async def test_a_connection_too_many_is_busy(lines: Lines, sim: Simulator) -> None:
    sim.faults.too_many_connections = True
    async with lines() as line:
        with pytest.raises(Busy):
            await line.ask(NEAREST)


async def test_connections_have_a_budget_too(lines: Lines, sim: Simulator) -> None:
    sim.faults.refuse_connections = True
    standing = time.monotonic()
    refusals = []
    async with lines(clock=Clock(now=lambda: standing)) as line:
        for _ in range(8):
            with pytest.raises(Busy) as busy:
                await line.ask(RESOLVE)
            refusals.append("used up" in str(busy.value))
    assert refusals == [False] * 6 + [True] * 2


async def test_a_hung_answer_is_a_timeout_and_leaves_no_request_behind(
    lines: Lines, sim: Simulator, skipping: Skipping
) -> None:
    async with lines(clock=Clock(now=skipping.now, sleep=skipping.sleep, answer_seconds=0.3)) as line:
        await line.ask(NEAREST)
        sim.faults.latency_seconds = 30
        with pytest.raises(Busy, match="TimeoutError"):
            await line.ask(STATUS)
        sim.faults.latency_seconds = 0
        await until(lambda: nobody_connected(sim))
        for _ in range(3):
            await line.ask(NEAREST)
    assert calls(sim, "account.updateStatus") == 1


@pytest.mark.parametrize("when", ["on its way", "waiting for its turn", "connecting"])
async def test_cancellation_leaves_no_request_behind(lines: Lines, sim: Simulator, when: str) -> None:
    async with lines() as line:
        if when != "connecting":
            await line.ask(NEAREST)
        sim.faults.latency_seconds = 30
        first = asyncio.create_task(line.ask(RESOLVE))
        second = asyncio.create_task(line.ask(STATUS))
        await until(
            lambda: is_called(sim, "help.getConfig" if when == "connecting" else "contacts.resolveUsername")
        )
        for task in [first, second] if when != "waiting for its turn" else [second]:
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        if when == "waiting for its turn":
            assert sim.connections  # the one under way is not disturbed
            first.cancel()
        else:
            await until(lambda: nobody_connected(sim))
        sim.faults.latency_seconds = 0
        await line.ask(NEAREST)
    assert calls(sim, "account.updateStatus") == 0


async def test_a_line_hangs_up_before_the_lease_is_over_although_nobody_asks(
    lines: Lines, sim: Simulator
) -> None:
    lease = Lease(begun_at=time.monotonic() - MARGIN_SECONDS * 3 + 2)
    async with lines(lease=lease) as line:
        await line.ask(NEAREST)
        assert sim.connections
        await until(lambda: nobody_connected(sim), seconds=30)
        assert lease.remaining_seconds > -MARGIN_SECONDS
        with pytest.raises(LeaseLost):
            await line.ask(NEAREST)
        lease.extend(time.monotonic())
        assert await line.ask(NEAREST)


async def test_a_lease_that_ends_under_a_request_ends_the_request(lines: Lines, sim: Simulator) -> None:
    lease = Lease(begun_at=time.monotonic() - MARGIN_SECONDS * 3 + 2)
    async with lines(lease=lease) as line:
        await line.ask(NEAREST)
        sim.faults.latency_seconds = 4
        with pytest.raises(LeaseLost):
            await line.ask(STATE)
    assert lease.remaining_seconds > -1


async def test_a_connection_that_comes_after_the_lease_has_ended_is_not_kept(
    lines: Lines, sim: Simulator
) -> None:
    lease = Lease(begun_at=time.monotonic() - MARGIN_SECONDS * 3 + 0.2)
    async with (
        proxy_server(slow_seconds=0.5) as slow,
        lines(lease=lease, proxy_addr="127.0.0.1", proxy_port=slow.port) as line,
    ):
        with pytest.raises(LeaseLost):
            await line.ask(NEAREST)
        await until(lambda: nobody_connected(sim), seconds=30)
    assert calls(sim, "help.getNearestDc") == 0


def ban(control: Control) -> None:
    control.account(PHONE, state="banned")


def freeze(control: Control) -> None:
    control.account(PHONE, state="frozen")


def duplicate(control: Control) -> None:
    control.revoke_keys(PHONE, error=(406, "AUTH_KEY_DUPLICATED"))


@pytest.mark.parametrize(
    ("trouble", "parked_in"),
    [
        (ban, AccountState.BANNED),
        (freeze, AccountState.QUARANTINED),
        (duplicate, AccountState.LOGGED_OUT),
        (lambda control: control.revoke_keys(PHONE), AccountState.LOGGED_OUT),
        (lambda control: control.forget_keys(PHONE), AccountState.LOGGED_OUT),
        (lambda control: control.account(PHONE, state="unregistered"), AccountState.LOGGED_OUT),
    ],
    ids=["banned", "frozen", "duplicated", "revoked", "forgotten", "unregistered"],
)
@pytest.mark.parametrize("connected", [True, False], ids=["under way", "from the start"])
async def test_an_account_that_is_refused_is_asked_for_nothing_more(
    lines: Lines,
    control: Control,
    sim: Simulator,
    trouble: Callable[[Control], Any],
    parked_in: AccountState,
    connected: bool,
) -> None:
    async with lines() as line:
        if connected:
            await line.ask(NEAREST)
        trouble(control)
        with pytest.raises(AccountRefused) as refused:
            await line.ask(RESOLVE)
        requests = len(sim.counters.trace)
        for request in (RESOLVE, NEAREST):
            with pytest.raises(AccountRefused):
                await line.ask(request)
        assert len(sim.counters.trace) == requests
    assert refused.value.state is parked_in


async def test_errors_about_the_request_are_for_whoever_asked(lines: Lines, control: Control) -> None:
    async with lines() as line:
        with pytest.raises(errors.UsernameNotOccupiedError):
            await line.ask(functions.contacts.ResolveUsernameRequest("nobody_here"))
        with pytest.raises(errors.ChannelInvalidError):
            await line.ask(functions.channels.GetFullChannelRequest(types.InputChannel(1, 1)))
        control.fail("help.getNearestDc", code=406, message="SOMETHING_NEW")
        with pytest.raises(errors.RPCError, match="SOMETHING_NEW"):
            await line.ask(NEAREST)
        assert await line.ask(NEAREST)


async def test_trouble_inside_telegram_is_busy_and_is_asked_once(
    lines: Lines, control: Control, sim: Simulator
) -> None:
    control.fail("help.getNearestDc", times=10, code=500, message="RPC_CALL_FAIL")
    async with lines() as line:
        with pytest.raises(Busy, match="RpcCallFailError"):
            await line.ask(NEAREST)
    assert calls(sim, "help.getNearestDc") == 1


async def test_a_new_salt_and_another_clock_are_survived(
    lines: Lines, control: Control, sim: Simulator
) -> None:
    async with lines() as line:
        await line.ask(NEAREST)
        control.rotate_salt()
        await line.ask(NEAREST)
        control.skew_clock(3600)
        await line.ask(NEAREST)
    assert state(sim)["double_use"] == 0


def rpc_error(code: int, message: str) -> Exception:
    raw = types.RpcError(code, message)
    return errors.rpc_message_to_error(raw, NEAREST)  # type: ignore[no-any-return]  # Telethon ships no types


@pytest.mark.parametrize(
    ("code", "message", "verdict"),
    [
        (401, "USER_DEACTIVATED", AccountState.BANNED),
        (400, "PHONE_NUMBER_BANNED", AccountState.BANNED),
        (401, "SESSION_EXPIRED", AccountState.LOGGED_OUT),
        (401, "SOMETHING_UNKNOWN", AccountState.LOGGED_OUT),
        (406, "AUTH_KEY_UNKNOWN", AccountState.LOGGED_OUT),
        (400, "FROZEN_PARTICIPANT_MISSING", AccountState.QUARANTINED),
        (420, "FROZEN_SOMETHING", AccountState.QUARANTINED),
        (401, "SESSION_PASSWORD_NEEDED", None),
        (406, "PHONE_PASSWORD_FLOOD", None),
        (406, "CHANNEL_PRIVATE", None),
        (-503, "Timeout", Unanswered),
        (502, "BAD_GATEWAY", Unanswered),
        (-500, "No workers running", Unanswered),
    ],
)
def test_what_errors_mean(code: int, message: str, verdict: Any) -> None:
    error = map_error(rpc_error(code, message))
    assert (error.state if isinstance(error, AccountRefused) else type(error) if error else None) == verdict
    assert demanded_wait_seconds(rpc_error(code, message)) is None


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("FLOOD_WAIT_31", 31),
        ("FLOOD_PREMIUM_WAIT_4", 4),
        ("2FA_CONFIRM_WAIT_500", 500),
        ("FLOOD_WAIT_-3", 1),
        ("FLOOD", 60),
    ],
)
def test_how_long_a_wait_is(message: str, seconds: float) -> None:
    assert demanded_wait_seconds(rpc_error(420, message)) == seconds
