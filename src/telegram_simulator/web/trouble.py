"""Trouble that is made on purpose for whoever asks the web server."""

import asyncio
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from telegram_simulator.simulator import Simulator

type Answer = Callable[[Request], Awaitable[Response]]


def with_faults(simulator: Simulator, answer: Answer) -> Answer:
    async def endpoint(request: Request) -> Response:
        faults = simulator.faults
        simulator.counters.web_requests += 1
        await asyncio.sleep(faults.web_latency_seconds)
        if faults.web_status:
            headers = (
                {"Retry-After": str(faults.web_retry_after_seconds)}
                if faults.web_retry_after_seconds
                else None
            )
            return PlainTextResponse("not now", status_code=faults.web_status, headers=headers)
        return await answer(request)

    return endpoint
