"""`tga demo` in a process of its own, and what its API answers."""

import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from telegram_assistant.demo.processes import started_at

OPEN = re.compile(r"^Open (http\S+)")
KEY = re.compile(r"key: (tga_\S+)")
TGA = (sys.executable, "-m", "telegram_assistant")

type PostKey = tuple[str, int]


@dataclass
class RunningDemo:
    """A started `tga demo`. Its output is read in the background."""

    process: subprocess.Popen[str]
    began: float
    lines: list[str] = field(default_factory=list)

    def follow(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    def find_line(self, pattern: re.Pattern[str]) -> str | None:
        return next((match[1] for line in list(self.lines) if (match := pattern.search(line))), None)

    def until(self, pattern: re.Pattern[str], seconds: float = 240) -> str:
        """Waits for a line. Returns what its group found."""
        while (text := self.find_line(pattern)) is None:
            assert self.process.poll() is None, self.output
            assert time.monotonic() - self.began < seconds, self.output
            time.sleep(0.05)
        return text

    def until_open(self) -> "OpenApi":
        address = self.until(OPEN)
        return OpenApi(address.partition("link/")[0], self.until(KEY), address)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(60)


@dataclass(frozen=True)
class OpenApi:
    """The API of a demo, with a key."""

    address: str
    key: str
    login: str
    """A link that lets a browser in once."""

    def get(self, path: str) -> Any:
        """The answer; while the machine is too busy for one, asks again."""
        deadline = time.monotonic() + 120
        while True:
            answer = httpx.get(
                f"{self.address}api/v1{path}", headers={"Authorization": f"Bearer {self.key}"}, timeout=30
            )
            if answer.status_code not in {429, 503} or time.monotonic() > deadline:
                return answer.raise_for_status().json()
            time.sleep(1)

    def posts(self) -> dict[PostKey, str]:
        """Every post of the feed, with its text."""
        posts: dict[PostKey, str] = {}
        cursor: str | None = ""
        while cursor is not None:
            page = self.get(f"/feed?limit=100{f'&cursor={cursor}' if cursor else ''}")
            posts |= {(post["channel_id"], post["message_id"]): post["text"] for post in page["items"]}
            cursor = page["next"]
        return posts


@contextmanager
def running_demo(
    folder: Path, environ: Mapping[str, str], *options: str, command: Sequence[str] = TGA
) -> Iterator[RunningDemo]:
    """Ended at the end of the block, if it still runs."""
    words = [*command, "demo", "--folder", str(folder), "--no-browser", *options]
    process = subprocess.Popen(
        words, env={**environ}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    demo = RunningDemo(process, time.monotonic())
    reader = threading.Thread(target=demo.follow)
    reader.start()
    try:
        yield demo
    finally:
        if process.poll() is None:
            demo.stop()
        reader.join()
        assert process.stdout is not None
        process.stdout.close()


def without_servers(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a machine on which no server is named."""
    return {
        name: value
        for name, value in environ.items()
        if not name.startswith(("DATABASE_", "REDIS_", "S3_", "NEO4J_", "FILES_", "TELEGRAM_"))
    }


type Started = dict[str, tuple[int, str | None]]
"""Processes by name: their ids, and when the kernel started them."""


def find_started(folder: Path) -> Started:
    """The processes that the demo in the folder started, from its own record."""
    known = json.loads((folder / "processes.json").read_bytes())
    return {name: (pid, start) for name, (pid, _, start) in known.items()}


def still_running(started: Started) -> list[str]:
    return [name for name, (pid, start) in started.items() if started_at(pid) == start]
