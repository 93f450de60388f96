"""A Chromium of our own that reaches the web through the filtering proxy, and in no other way."""

import asyncio
import tempfile
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from telegram_assistant.errors import CannotStart
from telegram_assistant.pages.guard import Guard
from telegram_assistant.pages.proxy import FilteringProxy, filtering_proxy

STARTING_SECONDS = 30.0
LEAVING_SECONDS = 5.0
QUIET = ("headless", "no-sandbox", "disable-gpu", "no-first-run", "disable-background-networking", "disable-component-update", "disable-sync")
WALLS = (
    "proxy-bypass-list=<-loopback>",  # this machine is asked for through the proxy too
    "webrtc-ip-handling-policy=disable_non_proxied_udp",  # no datagrams past the proxy; measured: without it they reach loopback
    "disable-quic",
)


@dataclass(frozen=True, slots=True)
class Browser:
    """While it runs."""

    cdp_url: str
    proxy: FilteringProxy


@asynccontextmanager
async def running_browser(guard: Guard, program: str, *more: str) -> AsyncIterator[Browser]:
    """Start it with its proxy and a profile that is thrown away; CannotStart when it does not."""
    with tempfile.TemporaryDirectory(prefix="tga-browser-", ignore_cleanup_errors=True) as profile:
        async with filtering_proxy(guard) as proxy:
            flags = (*QUIET, *WALLS, f"proxy-server=http://127.0.0.1:{proxy.port}", f"user-data-dir={profile}", "remote-debugging-port=0")
            process = await _started(program, [f"--{flag}" for flag in flags] + list(more))
            try:
                yield Browser(f"http://127.0.0.1:{await _port(process, Path(profile) / 'DevToolsActivePort', program)}", proxy)
            finally:
                await _ended(process)


async def _started(program: str, arguments: Sequence[str]) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(program, *arguments, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
    except OSError as error:
        raise CannotStart(f"the browser {program} cannot be started ({error.strerror})", remedy="Install Chromium or correct BROWSER_PATH") from error


async def _port(process: asyncio.subprocess.Process, file: Path, program: str) -> int:
    """It writes down where it listens once it does."""
    with suppress(TimeoutError):
        async with asyncio.timeout(STARTING_SECONDS):
            while process.returncode is None:
                lines = await asyncio.to_thread(_lines, file)
                if lines:
                    return int(lines[0])
                await asyncio.sleep(0.05)
    raise CannotStart(f"the browser {program} ended or did not begin to listen", remedy="Start it by hand to see why, or correct BROWSER_PATH")


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="ascii").splitlines() if file.exists() else []


async def _ended(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), LEAVING_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()
