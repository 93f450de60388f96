"""A Telegram simulator in a process of its own, and a client for it."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from telethon import TelegramClient
from telethon.sessions import StringSession

from telegram_simulator.control.client import ControlClient
from testkit.harness import memory_bytes

PHONE = "79990000001"


@dataclass(frozen=True)
class Running:
    """A simulator in a process of its own."""

    process: subprocess.Popen[bytes]
    where: dict[str, Any]
    started_s: float

    def control(self) -> ControlClient:
        """A client of its control port."""
        return ControlClient(self.where["control"], self.where["control_key"])

    @property
    def memory_mb(self) -> float:
        return memory_bytes(self.process.pid) / 1e6


@contextmanager
def simulator(*options: str, limits: str = "off") -> Iterator[Running]:
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "where.json"
        began = time.perf_counter()
        ports = (
            "--port",
            "0",
            "--second-port",
            "0",
            "--control-port",
            "0",
            "--web-port",
            "0",
            "--limits",
            limits,
            "--where",
            str(where),
        )
        process = subprocess.Popen(
            [sys.executable, "-m", "telegram_simulator", *options, *ports], stdout=subprocess.DEVNULL
        )
        try:
            while not (where.exists() and where.read_text(encoding="utf-8")):
                if process.poll() is not None:
                    sys.exit("the simulator ended at once")
                time.sleep(0.005)
            yield Running(process, json.loads(where.read_text(encoding="utf-8")), time.perf_counter() - began)
        finally:
            process.terminate()
            process.wait(20)


def client_for(session: str) -> TelegramClient:
    # Telethon keeps the list of data centres in the class; another simulator has other ports.
    TelegramClient._config = None  # noqa: SLF001 -- there is no other way to forget it
    return TelegramClient(StringSession(session), 1, "x", flood_sleep_threshold=0, receive_updates=False)
