"""The simulator as a process of its own, and its control port."""

import asyncio
import http.client
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, ValidationError

from telegram_assistant.demo.folder import DemoFolder
from telegram_assistant.demo.processes import ChildProcesses, Program
from telegram_assistant.demo.servers import LOOK_SECONDS, LOOPBACK, free_port
from telegram_assistant.errors import CannotStart
from telegram_assistant.reasons import Reason

NAME = "simulator"
START_SECONDS = 120.0
START_AGAIN = Reason("start_demo_again", "Start the demo again")
CONTROL_SECONDS = 30.0
SECONDS_BETWEEN_POSTS = 5


class SimulatedTelegram(BaseModel):
    """The addresses and keys of the simulator, as it writes them into a file."""

    host: str
    ports: Mapping[int, int]
    control: str
    control_key: str = Field(repr=False)
    web: str
    key: str

    @property
    def web_port(self) -> int:
        return int(self.web.rpartition(":")[2])

    async def call(self, method: str, path: str, **body: object) -> Any:  # noqa: ANN401 -- any answer
        """Calls the control port. Raises CannotStart if it refuses."""
        return await asyncio.to_thread(self._call, method, path, body)

    def _call(self, method: str, path: str, body: Mapping[str, object]) -> Any:  # noqa: ANN401 -- as above
        address = urlsplit(self.control)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=CONTROL_SECONDS)
        try:
            headers = {"Authorization": f"Bearer {self.control_key}", "Content-Type": "application/json"}
            connection.request(method, path, json.dumps(body), headers)
            response = connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise CannotStart(
                Reason(
                    "simulator_silent", "the simulator does not answer ({error})", error=type(error).__name__
                ),
                remedy=START_AGAIN,
            ) from error
        finally:
            connection.close()
        if response.status != http.client.OK:
            raise CannotStart(
                Reason(
                    "simulator_refuses",
                    "the simulator refused {method} {path} with {status}",
                    method=method,
                    path=path,
                    status=response.status,
                ),
                remedy=START_AGAIN,
            )
        return json.loads(answer)


async def start_simulator(folder: DemoFolder, children: ChildProcesses) -> SimulatedTelegram:
    """Starts it with the world that the folder remembers, and waits until it listens."""
    addresses = folder.path / "simulator.json"
    addresses.unlink(missing_ok=True)
    await children.start(Program(NAME, _command(folder, addresses)))
    deadline = time.monotonic() + START_SECONDS
    while (telegram := _read_addresses(addresses)) is None:
        children.check(NAME)
        if time.monotonic() > deadline:
            raise CannotStart(
                children.describe(
                    NAME,
                    Reason(
                        "process_did_not_start", "did not start within {seconds:.0f} s", seconds=START_SECONDS
                    ),
                ),
                remedy=children.remedy(NAME),
            )
        await asyncio.sleep(LOOK_SECONDS)
    return telegram


def _command(folder: DemoFolder, addresses: Path) -> Sequence[str]:
    state = folder.state
    options: Mapping[str, object] = {
        "seed": state.seed,
        "now": state.now.isoformat(),
        "pace": SECONDS_BETWEEN_POSTS,
        "journal": folder.path / "journal",
        "links-to": f"http://{LOOPBACK}:{state.web_port}",
        "port": 0,
        "second-port": 0,
        "control-port": 0,
        "web-port": free_port(state.web_port),
        "key": folder.path / "simulator.pem",
        "where": addresses,
    }
    return [
        sys.executable,
        "-m",
        "telegram_simulator",
        "demo",
        *(word for name, value in options.items() for word in (f"--{name}", str(value))),
    ]


def _read_addresses(addresses: Path) -> SimulatedTelegram | None:
    try:
        return SimulatedTelegram.model_validate_json(addresses.read_bytes())
    except (OSError, ValidationError):  # not there yet, or not written to its end
        return None
