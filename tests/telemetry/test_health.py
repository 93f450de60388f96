import asyncio
import time
from collections.abc import Mapping

import pytest

from telegram_assistant.telemetry.health import Fact, Health, State, worst


async def answers() -> None:
    pass


async def refuses() -> None:
    raise OSError("redis://:s3cret@cache refused")


async def test_nobody_is_ready_before_the_start_and_after_the_end() -> None:
    health = Health(probes={"postgres": answers})
    assert await health.why_not_ready() == {"process": "the process is starting"}
    health.take_traffic()
    assert await health.why_not_ready() == {}
    health.refuse_traffic("the process is stopping")
    assert await health.why_not_ready() == {"process": "the process is stopping"}


async def test_a_server_that_is_away_is_named_without_its_secrets() -> None:
    health = Health(probes={"postgres": answers, "redis": refuses})
    health.take_traffic()
    assert await health.why_not_ready() == {"redis": "OSError: it cannot be used now"}


async def test_a_server_that_hangs_does_not_hang_the_answer() -> None:
    health = Health(probes={"slow": lambda: asyncio.sleep(60)}, probe_timeout_seconds=0.05)
    health.take_traffic()
    assert await health.why_not_ready() == {"slow": "no answer within 0.05 s"}


async def test_a_process_that_was_too_busy_to_see_the_answer_asks_again() -> None:
    health = Health(probes={"postgres": lambda: asyncio.sleep(0.01)}, probe_timeout_seconds=0.05)
    health.take_traffic()
    answer = asyncio.create_task(health.why_not_ready())
    await asyncio.sleep(0.001)
    time.sleep(0.1)  # noqa: ASYNC251 -- the answer and the end of the wait come while this process is busy
    assert await answer == {}


def test_one_failing_part_makes_the_process_failing() -> None:
    health = Health(probes={})
    health.report("clock", State.OK, last_run="now")
    assert health.state.value == "ok"
    health.report("stage tagging", State.FAILING, "token=abcdefgh12345 was refused")
    assert health.state.value == "failing"
    assert "abcdefgh" not in str(health.parts())


def test_since_stays_while_the_state_does() -> None:
    health = Health(probes={})
    health.report("clock", State.OK, "one")
    since = health.parts()["clock"]["since"]
    health.report("clock", State.OK, "two")
    assert health.parts()["clock"] == {"status": "ok", "since": since, "detail": "two"}


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([], State.OK),
        ([State.OK, State.STARTING], State.STARTING),
        ([State.STOPPED, State.STARTING], State.STOPPED),
        ([State.STALE, State.STOPPED, State.OK], State.STALE),
        ([State.FAILING, State.STALE], State.FAILING),
        ([State.DOWN, State.FAILING, State.OK], State.DOWN),
    ],
)
def test_the_worst_of_several_states_is_one_of_them_by_a_fixed_order(
    states: list[State], expected: State
) -> None:
    assert worst(states) is expected


@pytest.mark.parametrize("status", ["stale", "down"])
async def test_a_section_in_trouble_is_the_state_of_the_whole_and_a_part(status: str) -> None:
    async def scheduler() -> Mapping[str, Fact]:
        return {"status": status, "detail": "no channel has been read"}

    health = Health(probes={"postgres": answers}, sections={"scheduler": scheduler})
    health.report("scheduler", State.OK, "plans")
    health.report("accounts", State.OK)
    summary = await health.summarize()
    assert (summary.state.value, summary.sections["scheduler"]["status"]) == (status, status)
    assert (health.parts()["scheduler"]["status"], health.parts()["scheduler"]["detail"]) == (
        status,
        "no channel has been read",
    )


async def test_a_part_that_is_worse_than_its_section_is_shown_instead() -> None:
    async def scheduler() -> Mapping[str, Fact]:
        return {"status": "ok"}

    health = Health(probes={}, sections={"scheduler": scheduler})
    health.report("scheduler", State.FAILING, "the lock cannot be had")
    assert (await health.summarize()).state is State.FAILING
    assert health.parts()["scheduler"]["detail"] == "the lock cannot be had"


async def test_a_server_that_is_away_makes_the_whole_failing() -> None:
    summary = await Health(probes={"redis": refuses}).summarize()
    assert (summary.state, list(summary.servers_away)) == (State.FAILING, ["redis"])


async def test_a_section_that_cannot_be_examined_is_down_and_the_others_are_told() -> None:
    async def fail() -> Mapping[str, Fact]:
        raise RuntimeError("token=abcdefgh12345 was refused")

    async def fine() -> Mapping[str, Fact]:
        return {"status": "ok"}

    summary = await Health(probes={}, sections={"scheduler": fail, "files": fine}).summarize()
    assert summary.state is State.DOWN
    assert summary.sections["files"] == {"status": "ok"}
    assert "abcdefgh" not in str(summary.sections)
