"""The simulator's web server on a port of its own, and the whole of it as a process of its own."""

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from telegram_simulator.control.client import ControlClient
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


@dataclass(frozen=True)
class Process:
    where: dict[str, Any]
    control: ControlClient
    output: Path
    pid: int


@contextmanager
def tga_sim(folder: Path, *options: str) -> Iterator[Process]:
    where, output = folder / "where.json", folder / "output"
    ports = [argument for name in ("", "second-", "control-", "web-") for argument in (f"--{name}port", "0")]
    ports += [
        "--where",
        str(where),
        "--key",
        str(folder.parent.parent / "simulator-key.pem"),
    ]  # as the fixture: making one takes seconds
    with output.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "telegram_simulator", *options, *ports],
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        deadline = time.monotonic() + 60
        while not (where.exists() and where.stat().st_size):
            assert process.poll() is None, output.read_text(encoding="utf-8")
            assert time.monotonic() < deadline
            time.sleep(0.01)
        addresses = json.loads(where.read_text(encoding="utf-8"))
        with ControlClient(addresses["control"], addresses["control_key"]) as control:
            yield Process(addresses, control, output, process.pid)
        process.terminate()
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.wait()
