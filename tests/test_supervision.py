import asyncio
import time
from itertools import pairwise

from structlog.testing import capture_logs

from telegram_assistant.supervision import Loop, keep_running
from telegram_assistant.telemetry.health import Health, State
from telegram_assistant.telemetry.metrics import REGISTRY


def restarts(name: str) -> float:
    return REGISTRY.get_sample_value("loop_restarts_total", {"loop": name}) or 0.0


async def test_a_crashed_loop_is_started_again_with_growing_pauses_counted_and_logged_once() -> None:
    began, stopping = list[float](), asyncio.Event()

    async def crash(_stopping: asyncio.Event) -> None:
        began.append(time.monotonic())
        if len(began) == 5:
            stopping.set()
        raise RuntimeError

    before = restarts("crashing")
    with capture_logs() as lines:
        await keep_running(
            Loop("crashing", crash),
            stopping=stopping,
            health=Health(probes={}),
            first_pause_seconds=0.01,
            max_pause_seconds=0.03,
        )
    assert [line["event"] for line in lines] == ["loop_crashed"]
    pauses = [later - earlier for earlier, later in pairwise(began)]
    assert all(
        pause >= expected * 0.9 for pause, expected in zip(pauses, (0.01, 0.02, 0.03, 0.03), strict=True)
    )
    assert restarts("crashing") - before == 4


async def test_a_waiting_loop_is_red_and_says_why_without_secrets() -> None:
    stopping, health = asyncio.Event(), Health(probes={})

    async def crash(_stopping: asyncio.Event) -> None:
        raise RuntimeError("password=hunter2hunter2")

    task = asyncio.create_task(
        keep_running(Loop("red", crash), stopping=stopping, health=health, first_pause_seconds=30)
    )
    await asyncio.sleep(0.01)
    assert health.state is State.FAILING
    detail = str(health.parts()["red"]["detail"])
    assert "starts again in 30 s" in detail
    assert "hunter2" not in detail
    stopping.set()
    await asyncio.wait_for(task, 30)
    assert health.parts()["red"]["status"] == "stopped"


async def test_a_loop_that_ends_by_itself_is_started_again() -> None:
    runs, stopping = 0, asyncio.Event()

    async def end(_stopping: asyncio.Event) -> None:
        nonlocal runs
        runs += 1
        if runs == 3:
            stopping.set()

    await keep_running(
        Loop("ending", end), stopping=stopping, health=Health(probes={}), first_pause_seconds=0.001
    )
    assert runs == 3


async def test_a_loop_may_finish_what_it_has_in_hand() -> None:
    done, stopping = [], asyncio.Event()

    async def work(stop_event: asyncio.Event) -> None:
        await stop_event.wait()
        await asyncio.sleep(0.02)
        done.append("page")

    task = asyncio.create_task(
        keep_running(Loop("working", work), stopping=stopping, health=Health(probes={}))
    )
    await asyncio.sleep(0)
    stopping.set()
    await task
    assert done == ["page"]


async def test_cancellation_goes_through_at_once() -> None:
    async def sleep(_stopping: asyncio.Event) -> None:
        await asyncio.sleep(60)

    task = asyncio.create_task(
        keep_running(Loop("sleeping", sleep), stopping=asyncio.Event(), health=Health(probes={}))
    )
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


async def test_a_loop_that_crashes_while_it_stops_says_so() -> None:
    stopping = asyncio.Event()

    async def crash(_stopping: asyncio.Event) -> None:
        stopping.set()
        raise KeyError("page")

    with capture_logs() as lines:
        await keep_running(Loop("last", crash), stopping=stopping, health=Health(probes={}))
    assert [(line["event"], line["part"], line["log_level"], line["why"]) for line in lines] == [
        ("loop_crashed", "last", "error", "KeyError: 'page'")
    ]
