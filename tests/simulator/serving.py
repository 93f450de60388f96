"""The simulator's web side on a port of its own."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn

from telegram_simulator.simulator import Simulator
from telegram_simulator.web.site import web_app


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def web_side(sim: Simulator) -> AsyncIterator[str]:
    """Its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = _Server(uvicorn.Config(web_app(sim), log_config=None, access_log=False, lifespan="off"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0.005)
    sim.web_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    yield sim.web_url
    server.should_exit = True
    await serving
