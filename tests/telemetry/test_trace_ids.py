import asyncio
import io
import json

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.events.envelope import trace_of
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.trace_ids import (
    MAX_TRACES,
    log_with_trace,
    log_with_traces,
    trace_id_of,
)

POSTS = [PostId(ChannelId(5), MessageId(number)) for number in range(1, 9)]
TRACES: dict[str, str | None] = {str(post): trace_of(post, 1) for post in POSTS}


def lines_of(log_stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in log_stream.getvalue().splitlines()]


def test_a_line_about_a_post_of_a_batch_carries_the_trace_of_that_post(log_stream: io.StringIO) -> None:
    with log_with_traces(TRACES):
        get_logger("x").warning("will_retry", post_id="5/3")
        get_logger("x").warning("batch_split")
    about_one, about_all = lines_of(log_stream)
    assert about_one["trace_id"] == trace_id_of(TRACES["5/3"])
    assert about_all["trace_ids"] == [trace_id_of(trace) for trace in TRACES.values()][:MAX_TRACES]


async def test_what_a_handler_starts_logs_with_the_trace_too_and_what_comes_after_it_does_not(
    log_stream: io.StringIO,
) -> None:
    async def work() -> None:
        get_logger("x").info("worked")

    with log_with_traces({"5/1": TRACES["5/1"]}):
        started = asyncio.create_task(work())
        await asyncio.to_thread(get_logger("x").info, "threaded")
    get_logger("x").info("after")
    await started
    assert {str(line["event"]): line.get("trace_id") for line in lines_of(log_stream)} == {
        "worked": trace_id_of(TRACES["5/1"]),
        "threaded": trace_id_of(TRACES["5/1"]),
        "after": None,
    }


def test_a_request_and_events_without_a_trace_are_logged_as_what_they_are(log_stream: io.StringIO) -> None:
    with log_with_trace("a" * 32):
        get_logger("x").info("requested", post_id="5/1")
    with log_with_traces({"5/1": None, "5/2": "no traceparent"}):
        get_logger("x").info("handled", post_id="5/1")
    requested, handled = lines_of(log_stream)
    assert requested["trace_id"] == "a" * 32
    assert not {"trace_id", "trace_ids"} & handled.keys()
