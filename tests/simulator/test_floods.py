"""Impatience is punished as people have seen it punished, and Telethon's own ways with floods."""

import asyncio
import time

import pytest
from telethon import TelegramClient, errors
from telethon.tl import functions

from telegram_simulator.control.operations import Control
from telegram_simulator.floods import TELEGRAM, Floods, Rule
from telegram_simulator.simulator import Simulator
from tests.simulator.conftest import PHONE, MakeClient, session_for

HISTORY = "messages.getHistory"


def test_a_budget_is_per_account_and_method() -> None:
    floods = Floods({HISTORY: (Rule(2, 30, 3),)})
    assert [floods.check("a", HISTORY, now=0, is_premium=False) for _ in range(2)] == [None, None]
    wait = floods.check("a", HISTORY, now=1, is_premium=False)
    assert wait is not None
    assert wait.message == "FLOOD_WAIT_3"
    assert floods.check("a", HISTORY, now=25, is_premium=False) is None  # whoever waits is let in
    assert floods.check("b", HISTORY, now=1, is_premium=False) is None
    assert floods.check("a", "messages.getDialogs", now=1, is_premium=False) is None


def test_asking_during_a_wait_gives_what_is_left_and_makes_the_next_one_longer() -> None:
    floods = Floods({HISTORY: (Rule(1, 30, 10),)})
    floods.check("a", HISTORY, now=0, is_premium=False)
    waits = [floods.check("a", HISTORY, now=moment, is_premium=False) for moment in (1, 3, 6)]
    assert [wait.seconds for wait in waits if wait] == [10, 8, 5]
    assert floods.check("a", HISTORY, now=12, is_premium=False) is None
    later = floods.check("a", HISTORY, now=13, is_premium=False)
    assert later is not None
    assert later.seconds == 80  # 10 s, doubled for each of the three violations


def test_patience_is_forgiven() -> None:
    floods = Floods({HISTORY: (Rule(1, 30, 10),)})
    floods.check("a", HISTORY, now=0, is_premium=False)
    assert floods.check("a", HISTORY, now=1, is_premium=False) is not None
    assert floods.check("a", HISTORY, now=1000, is_premium=False) is None
    wait = floods.check("a", HISTORY, now=1001, is_premium=False)
    assert wait is not None
    assert wait.seconds == 10  # as for a first time


@pytest.mark.parametrize(
    ("method", "calls", "seconds_between", "least_wait"),
    [
        ("messages.getHistory", 31, 0.9, 3),
        ("contacts.resolveUsername", 160, 0.02, 50_000),
        ("contacts.resolveUsername", 31, 1.5, 300),
        ("contacts.resolveUsername", 210, 3.0, 40_000),
        ("channels.joinChannel", 4, 10, 300),
        ("messages.getDialogs", 11, 1, 28),
        ("channels.getFullChannel", 21, 1, 26),
        ("auth.sendCode", 6, 60, 86_400),
    ],
)
def test_the_observed_rules_of_telegram(
    method: str, calls: int, seconds_between: float, least_wait: int
) -> None:
    floods = Floods(TELEGRAM)
    answers = [
        floods.check("a", method, now=number * seconds_between, is_premium=False) for number in range(calls)
    ]
    refused = [wait.seconds for wait in answers if wait]
    assert refused
    assert refused[-1] >= least_wait


def test_premium_accounts_are_not_throttled_when_they_download() -> None:
    floods = Floods({"upload.getFile": (Rule(1, 60, 3, premium_waits=False),)})
    assert [floods.check("p", "upload.getFile", now=0, is_premium=True) for _ in range(5)] == [None] * 5
    floods.check("a", "upload.getFile", now=0, is_premium=False)
    wait = floods.check("a", "upload.getFile", now=0, is_premium=False)
    assert wait is not None
    assert wait.message == "FLOOD_PREMIUM_WAIT_3"


async def test_penalties_survive_reconnects(
    sim: Simulator, control: Control, make_client: MakeClient
) -> None:
    control.set_limit(HISTORY, [(2, 60, 50)])
    client = await make_client(flood_sleep_threshold=0)
    channel = await client.get_input_entity("gorod_news")
    for _ in range(2):
        await client.get_messages(channel, limit=1)
    with pytest.raises(errors.FloodWaitError) as flooded:
        await client.get_messages(channel, limit=1)
    assert flooded.value.seconds == 50
    await client.disconnect()
    session = session_for(sim)  # another login of the same account
    again = await make_client(session=session, flood_sleep_threshold=0)
    channel = await again.get_input_entity("gorod_news")
    with pytest.raises(errors.FloodWaitError) as flooded:
        await again.get_messages(channel, limit=1)
    assert 45 <= flooded.value.seconds <= 50
    assert sim.floods.punished == 2


async def test_a_client_that_ignores_budgets_is_punished_ever_harder(
    sim: Simulator, control: Control, make_client: MakeClient
) -> None:
    control.set_limit(HISTORY, [(30, 30, 1)])
    client = await make_client(
        flood_sleep_threshold=0, receive_updates=False
    )  # T10: so Telethon forgets its waits and asks on
    channel = await client.get_input_entity("gorod_news")
    waits = []
    for _ in range(40):
        try:
            await client.get_messages(channel, limit=1)
        except errors.FloodWaitError as error:
            waits.append(error.seconds)
    assert waits[0] == 1
    assert len(waits) == 10
    await asyncio.sleep(1.1)
    for _ in range(30):
        await client.get_messages(channel, limit=1)
    with pytest.raises(errors.FloodWaitError) as flooded:
        await client.get_messages(channel, limit=1)
    assert flooded.value.seconds >= 60
    assert sim.floods.punished == 11


async def test_t10_telethon_remembers_a_wait_for_all_channels_unless_updates_are_off(
    sim: Simulator, control: Control, make_client: MakeClient
) -> None:
    control.set_limit(HISTORY, [(1, 60, 30)])
    for updates, expected_calls in ((True, 2), (False, 3)):
        control.forgive()
        sim.counters.calls.clear()
        client = await make_client(flood_sleep_threshold=0, receive_updates=updates)
        city, tech = await client.get_input_entity("gorod_news"), await client.get_input_entity("tech_daily")
        await client.get_messages(city, limit=1)
        for channel in (city, tech):
            with pytest.raises(errors.FloodWaitError):
                await client.get_messages(channel, limit=1)
        assert sim.counters.calls[PHONE, HISTORY] == expected_calls


async def test_t11_short_waits_are_slept_invisibly(control: Control, make_client: MakeClient) -> None:
    control.set_limit(HISTORY, [(1, 0.5, 1)])
    client = await make_client(flood_sleep_threshold=60)
    channel = await client.get_input_entity("gorod_news")
    await client.get_messages(channel, limit=1)
    began = time.monotonic()
    await client.get_messages(channel, limit=1)
    assert time.monotonic() - began >= 1


async def test_t12_the_threshold_of_a_single_call_is_ignored(
    control: Control, make_client: MakeClient
) -> None:
    control.set_limit(HISTORY, [(1, 60, 30)])
    client = await make_client(flood_sleep_threshold=0)
    channel = await client.get_input_entity("gorod_news")
    request = functions.messages.GetHistoryRequest(channel, 0, None, 0, 1, 0, 0, 0)
    await client(request)
    with pytest.raises(errors.FloodWaitError):
        await client(request, flood_sleep_threshold=60)


async def test_t13_five_retries_end_in_a_bare_value_error_unless_the_real_one_is_asked_for(
    control: Control, make_client: MakeClient
) -> None:
    control.fail("help.getNearestDc", times=100, code=500, message="RPC_CALL_FAIL")
    plain = await make_client(request_retries=1)
    with pytest.raises(ValueError, match="unsuccessful"):
        await plain(functions.help.GetNearestDcRequest())
    honest = await make_client(request_retries=1, raise_last_call_error=True)
    with pytest.raises(errors.RpcCallFailError):
        await honest(functions.help.GetNearestDcRequest())


@pytest.mark.parametrize(
    ("code", "message"), [(500, "RPC_CALL_FAIL"), (-503, "Timeout"), (420, "FLOOD_PREMIUM_WAIT_1")]
)
async def test_passing_trouble_is_tried_again(
    control: Control, client: TelegramClient, code: int, message: str
) -> None:
    control.fail("help.getNearestDc", times=1, code=code, message=message)
    assert (await client(functions.help.GetNearestDcRequest())).this_dc == 2
