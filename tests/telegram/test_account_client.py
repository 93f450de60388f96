"""The requests of an account client and their timing: floods, budgets and the lease."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from pydantic import SecretStr
from structlog.typing import EventDict
from telethon.tl import functions, types

from telegram_assistant.domain.accounts.account import Lease
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.errors import Busy, Flooded, LeaseLost
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.telegram.account_client import PATIENCE_SECONDS
from telegram_assistant.telemetry.metrics import ACCOUNT_BLOCKED, REGISTRY
from telegram_assistant.telemetry.waits import collect_waits
from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.tiny import CITY
from testkit.factories import make_tenant
from testkit.waits import Skipping
from tests.conftest import Admin
from tests.simulator.conftest import PHONE
from tests.telegram.conftest import Lines

HISTORY, DIALOGS, JOIN = "messages.getHistory", "messages.getDialogs", "channels.joinChannel"
NEAREST = functions.help.GetNearestDcRequest()


@pytest.fixture
def city(sim: Simulator) -> Any:
    return types.InputPeerChannel(CITY, sim.world.access_hash(sim.world.account(PHONE), CITY))


@pytest.fixture
def history(city: Any) -> Any:
    return functions.messages.GetHistoryRequest(city, 0, None, 0, 5, 0, 0, 0)


@pytest.fixture
def log_lines() -> Iterator[list[EventDict]]:
    with structlog.testing.capture_logs() as lines:
        yield lines


def calls(sim: Simulator, method: str, phone: str = PHONE) -> int:
    return sim.counters.calls[phone, method]


@pytest.mark.parametrize(
    ("message", "least"),
    [
        ("FLOOD_WAIT_3", 3),
        ("FLOOD_PREMIUM_WAIT_3", 3),
        ("FLOOD_WAIT_10", 10),
        ("FLOOD_WAIT_0", 1),
        ("FLOOD_WAIT_-7", 1),
    ],
)
async def test_a_short_wait_is_kept_inside_the_request(
    lines: Lines, control: Control, sim: Simulator, history: Any, skipping: Skipping, message: str, least: int
) -> None:
    async with lines() as line:
        control.fail(HISTORY, code=420, message=message)
        with collect_waits() as waits:
            assert len((await line.ask(history)).messages) == 5
        assert (calls(sim, HISTORY), line.floods, waits.retries) == (2, 1, 1)
        assert least <= waits.seconds <= least + 3
        assert waits.seconds in skipping.waits


async def test_a_server_that_says_wait_again_and_again_is_left_alone(
    lines: Lines, control: Control, sim: Simulator, history: Any
) -> None:
    async with lines() as line:
        control.fail(HISTORY, times=100, code=420, message="FLOOD_WAIT_0")
        with pytest.raises(Flooded):
            await line.ask(history)
    assert calls(sim, HISTORY) == line.floods == 5


@pytest.mark.parametrize(
    ("message", "least", "most"),
    [("FLOOD_WAIT_17", 17, 20), ("FLOOD_PREMIUM_WAIT_60", 60, 63), ("FLOOD_WAIT_100", 120, 123)],
)
async def test_a_long_wait_ends_the_request_and_nothing_is_sent_before_it_is_over(
    lines: Lines,
    control: Control,
    sim: Simulator,
    history: Any,
    skipping: Skipping,
    message: str,
    least: int,
    most: int,
) -> None:
    async with lines() as line:
        control.fail(HISTORY, code=420, message=message)
        with pytest.raises(Flooded) as first:
            await line.ask(history)
        with pytest.raises(Flooded, match=r"pause of messages\.getHistory") as second:
            await line.ask(history)
        assert (
            least - 1 <= second.value.retry_after_seconds <= first.value.retry_after_seconds <= most
        )  # time goes on between the two
        assert calls(sim, HISTORY) == 1
        skipping.waits.append(most - PATIENCE_SECONDS)
        assert await line.ask(history)  # what is left is waited for
        assert calls(sim, HISTORY) == 2


async def test_a_wait_of_more_than_five_minutes_is_an_alert(
    lines: Lines, control: Control, history: Any, log_lines: list[EventDict], account_id: AccountId
) -> None:
    async with lines() as line:
        control.fail(HISTORY, code=420, message="FLOOD_WAIT_12167")
        with pytest.raises(Flooded):
            await line.ask(history)
        assert REGISTRY.get_sample_value(
            "account_blocked_until_seconds", {"account_id": str(account_id), "method": HISTORY}
        ) == pytest.approx(time.time() + 12167 * 1.2, abs=4)
    alert = next(event for event in log_lines if event["event"] == "account_flooded")
    assert (alert["log_level"], alert["method"], alert["asked_seconds"]) == ("warning", HISTORY, 12167)


async def test_a_flood_is_remembered_across_a_restart_and_nothing_is_sent_during_the_wait(
    lines: Lines,
    control: Control,
    sim: Simulator,
    history: Any,
    skipping: Skipping,
    admin: Admin,
    account_id: AccountId,
) -> None:
    control.set_limit(HISTORY, [(1, 60, 30)])
    async with lines() as line:
        await line.ask(history)
        with pytest.raises(Flooded):
            await line.ask(history)
    skipping.waits.clear()
    ACCOUNT_BLOCKED.labels(account_id, HISTORY).set(0)  # another process has shown nothing yet
    for _ in range(3):
        async with lines() as line:
            blocked_until = REGISTRY.get_sample_value(
                "account_blocked_until_seconds", {"account_id": str(account_id), "method": HISTORY}
            )
            assert blocked_until == pytest.approx(time.time() + 30, abs=5)
            with pytest.raises(Flooded) as flooded:
                await line.ask(history)
    assert 25 <= flooded.value.retry_after_seconds <= 33
    assert (calls(sim, HISTORY), sim.floods.punished) == (2, 1)
    control.set_limit(HISTORY, [])
    await admin.execute("UPDATE account_limits SET blocked_until = now() WHERE account_id = $1", account_id)
    async with lines() as line:
        assert await line.ask(history)


async def test_a_flood_is_of_one_method_and_one_account_and_is_not_moved_to_another(
    lines: Lines, control: Control, sim: Simulator, history: Any, system: SystemStores
) -> None:
    other_phone = "79990000002"
    control.account(other_phone, joined=[CITY])
    other = {
        "number": await system.accounts.add(await make_tenant(system)),
        "session_string": SecretStr(control.session_string(other_phone)),
    }
    control.fail(HISTORY, code=420, message="FLOOD_WAIT_500", phone=PHONE)
    async with lines() as line, lines(**other) as other_line:
        with pytest.raises(Flooded):
            await line.ask(history)
        assert calls(sim, HISTORY, other_phone) == 0
        assert (await line.ask(NEAREST)).this_dc == 2
        theirs = types.InputPeerChannel(CITY, sim.world.access_hash(sim.world.account(other_phone), CITY))
        assert await other_line.ask(functions.messages.GetHistoryRequest(theirs, 0, None, 0, 5, 0, 0, 0))


async def test_history_goes_slower_after_a_flood_also_in_the_next_process(
    lines: Lines, control: Control, history: Any, skipping: Skipping, admin: Admin, account_id: AccountId
) -> None:
    async with lines() as line:
        control.fail(HISTORY, code=420, message="FLOOD_WAIT_1")
        await line.ask(history)
    skipping.waits.clear()
    await admin.execute("UPDATE account_limits SET blocked_until = NULL WHERE account_id = $1", account_id)
    async with lines() as line:
        await line.ask(history)
    assert sum(skipping.waits) == pytest.approx(1 / (0.8 * 0.7), abs=0.1)


async def test_what_a_budget_does_not_allow_is_told_to_come_back_also_in_the_next_process(
    lines: Lines, sim: Simulator, city: Any
) -> None:
    join = functions.channels.JoinChannelRequest(types.InputChannel(city.channel_id, city.access_hash))
    async with lines() as line:
        for _ in range(2):
            await line.ask(join)
    for _ in range(2):
        async with lines() as line:
            with pytest.raises(Busy, match="used up") as busy:
                await line.ask(join)
            with pytest.raises(Busy):
                await line.ask(functions.messages.ImportChatInviteRequest("any"))
        assert 250 < busy.value.retry_after_seconds <= 300
    assert calls(sim, JOIN) == 2


async def test_a_request_that_is_not_written_down_is_not_sent(
    lines: Lines, sim: Simulator, admin: Admin
) -> None:
    async with lines() as line:
        await line.ask(NEAREST)
        async with admin.transaction():
            await admin.execute("LOCK TABLE account_limits")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(line.ask(functions.contacts.ResolveUsernameRequest("gorod_news")), 0.3)
    assert calls(sim, "contacts.resolveUsername") == 0


async def test_who_waits_for_a_budget_is_served_in_turn_or_told_at_once_how_long_it_would_be(
    lines: Lines, sim: Simulator, history: Any
) -> None:
    async with lines() as line:
        answers = await asyncio.gather(*(line.ask(history) for _ in range(12)), return_exceptions=True)
    late = [answer.retry_after_seconds for answer in answers if isinstance(answer, Busy)]
    assert (
        calls(sim, HISTORY) == 12 - len(late) == 9
    )  # one at once, as no wait takes time here, and eight within ten seconds
    assert late == pytest.approx([11.25] * 3, abs=0.2)


async def test_one_request_is_under_way_at_a_time(lines: Lines, sim: Simulator) -> None:
    requests = (
        NEAREST,
        functions.help.GetConfigRequest(),
        functions.users.GetUsersRequest([types.InputUserSelf()]),
    )
    async with lines() as line:
        await line.ask(functions.updates.GetStateRequest())
        sim.faults.latency_seconds = 0.1
        began = time.monotonic()
        await asyncio.gather(*(line.ask(request) for request in requests))
    assert time.monotonic() - began >= 0.3


async def test_nothing_is_asked_once_the_lease_is_over(lines: Lines, sim: Simulator, history: Any) -> None:
    clock = 1000.0
    lease = Lease(begun_at=clock, now=lambda: clock)
    async with lines(lease=lease) as line:
        await line.ask(history)
        clock += 45.0
        requests = len(sim.counters.trace)
        with pytest.raises(LeaseLost):
            await line.ask(history)
        assert len(sim.counters.trace) == requests
        lease.extend(clock)
        assert await line.ask(history)


async def test_a_lease_that_ends_during_a_wait_is_noticed(
    lines: Lines, control: Control, sim: Simulator, history: Any, skipping: Skipping
) -> None:
    async with lines(lease=Lease(begun_at=skipping.now() - 5, now=skipping.now)) as line:
        await line.ask(history)
        control.fail(HISTORY, times=4, code=420, message="FLOOD_WAIT_10")
        with pytest.raises(LeaseLost):
            await line.ask(history)
    assert calls(sim, HISTORY) <= 5
