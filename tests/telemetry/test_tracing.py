import asyncio
import subprocess
import sys

import pytest

from telegram_assistant.telemetry.tracing import span, traceparent
from tests.wire import listener

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

PROGRAM = """
import sys
from telegram_assistant.settings import TelemetrySettings
from telegram_assistant.telemetry.tracing import span, start_tracing, traceparent
provider = start_tracing(TelemetrySettings(traces_endpoint=sys.argv[1]), instance="test#0001")
with span("land", parent=sys.argv[2], channel_id=7):
    print(traceparent())
if provider is not None:
    provider.shutdown()
"""


async def run(endpoint: str) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, endpoint, PARENT, stdout=subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode().strip()


@pytest.mark.turns("OTEL_EXPORTER_OTLP_ENDPOINT")
async def test_spans_go_to_the_collector_when_one_is_set() -> None:
    async with listener() as collector:
        child = await run(f"http://127.0.0.1:{collector.port}/")
    assert collector.requests[0].startswith("POST /v1/traces ")
    trace_id, span_id = child.split("-")[1:3]
    assert trace_id == PARENT.split("-")[1]
    assert span_id != PARENT.split("-")[2]


async def test_without_a_collector_nothing_is_recorded() -> None:
    assert await run("") == "None"


def test_outside_a_trace_there_is_no_place_to_hand_on() -> None:
    assert traceparent() is None
    with span("alone"):
        assert traceparent() is None
