import asyncio
import time

from telegram_assistant.telemetry.health import Health, State


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
    asked = asyncio.create_task(health.why_not_ready())
    await asyncio.sleep(0.001)
    time.sleep(0.1)  # noqa: ASYNC251 -- the answer and the end of the wait come while this process is busy
    assert await asked == {}


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
