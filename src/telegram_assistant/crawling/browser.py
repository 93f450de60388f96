"""Runs a Chromium that reaches the web through the filtering proxy only."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from telegram_assistant.crawling.proxy import FilteringProxy, filtering_proxy
from telegram_assistant.errors import CannotStart
from telegram_assistant.outbound.guard import Guard
from telegram_assistant.reasons import Reason
from telegram_assistant.sandbox.launching import probe, start
from telegram_assistant.sandbox.rules import (
    DEVICES,
    NOBODY_UID,
    SYSTEM_LIBRARIES,
    TIME_ZONES,
    Rules,
    SandboxedProgram,
)

STARTING_SECONDS = 30.0
LEAVING_SECONDS = 5.0
COMMON_FLAGS = (
    *(
        "headless",
        "disable-gpu",
        "no-first-run",
        "disable-background-networking",
        "disable-component-update",
        "disable-sync",
    ),
    *("disable-dev-shm-usage", "disable-crash-reporter", "disable-breakpad"),
)
NETWORK_FLAGS = (
    "proxy-bypass-list=<-loopback>",  # requests to this machine go through the proxy too
    # no datagrams past the proxy; measured: without it they reach loopback
    "webrtc-ip-handling-policy=disable_non_proxied_udp",
    "disable-quic",
)
CONFIGURATION = tuple(
    f"/etc/{name}"
    for name in (
        "fonts",
        "chromium",
        "chromium.d",
        "ssl/certs",
        "ca-certificates",
        "alternatives",
        "passwd",
        "group",
        "nsswitch.conf",
        "hosts",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Browser:
    """A running browser."""

    cdp_url: str
    proxy: FilteringProxy
    profile: Path
    has_own_sandbox: bool
    """Whether Chromium's own sandbox runs inside ours. Without user namespaces it cannot."""
    protection: str
    """Description of the active protection."""


def browser_rules(program: str, *, profile: Path, proxy_port: int) -> Rules:
    """Return the browser's rules: it reads installed files, writes its profile,
    and connects to the proxy only.
    """
    return Rules(
        read=(*CONFIGURATION, *TIME_ZONES, "/sys"),
        execute=("/usr", "/bin", "/opt", *SYSTEM_LIBRARIES, str(Path(program).resolve().parent)),
        write=(str(profile), "/proc", *DEVICES),  # Landlock also closes what /proc shows of processes outside
        folder=str(profile),
        connect_ports=(proxy_port,),
        bind_ports=(0,),
        caller=SandboxedProgram.BROWSER,
        unprivileged_user_id=NOBODY_UID,
    )


@asynccontextmanager
async def running_browser(guard: Guard, program: str, *extra_arguments: str) -> AsyncIterator[Browser]:
    """Start the browser with its proxy and a temporary profile. Raises CannotStart if it does not start."""
    path = shutil.which(program)
    if path is None:
        raise CannotStart(
            Reason(
                "browser_missing",
                "the browser {program} cannot be started: there is no such program",
                program=program,
            ),
            remedy=Reason("install_browser", "Install Chromium or correct BROWSER_PATH"),
        )
    async with filtering_proxy(guard) as proxy:
        for has_own_sandbox in (True, False):
            with _profile() as profile:
                flags = [
                    *COMMON_FLAGS,
                    *NETWORK_FLAGS,
                    f"proxy-server=http://127.0.0.1:{proxy.port}",
                    f"user-data-dir={profile}",
                    "remote-debugging-port=0",
                ]
                flags += [] if has_own_sandbox else ["no-sandbox"]
                environment = {
                    "PATH": "/usr/local/bin:/usr/bin:/bin",
                    "HOME": str(profile),
                    "TMPDIR": str(profile),
                }
                rules = browser_rules(path, profile=profile, proxy_port=proxy.port)
                process = await start(
                    rules,
                    path,
                    *(f"--{flag}" for flag in flags),
                    *extra_arguments,
                    environment=environment,
                    has_pipes=False,
                )
                try:
                    port = await _wait_for_port(process, profile / "DevToolsActivePort")
                    if port is not None:
                        own = (
                            "Chromium's own sandbox" if has_own_sandbox else "without Chromium's own sandbox"
                        )
                        protection = f"{own}, no capabilities, {(await probe(rules)).in_words()}"
                        url = f"http://127.0.0.1:{port}"
                        yield Browser(
                            cdp_url=url,
                            proxy=proxy,
                            profile=profile,
                            has_own_sandbox=has_own_sandbox,
                            protection=protection,
                        )
                        return
                finally:
                    await _stop(process)
    raise CannotStart(
        Reason("browser_ended", "the browser {program} ended or did not start listening", program=program),
        remedy=Reason("start_browser_by_hand", "Start it by hand to see why, or correct BROWSER_PATH"),
    )


@contextmanager
def _profile() -> Iterator[Path]:
    """Create a folder for a process that may run as another user."""
    with tempfile.TemporaryDirectory(prefix="tga-browser-", ignore_cleanup_errors=True) as folder:
        if os.geteuid() == 0:
            os.chown(folder, NOBODY_UID, NOBODY_UID)
        yield Path(folder)


async def _wait_for_port(process: asyncio.subprocess.Process, file: Path) -> int | None:
    """Wait until the browser writes its port to the file.

    Returns None if it ends before, or takes too long.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(STARTING_SECONDS):
            while process.returncode is None:
                lines = await asyncio.to_thread(_lines, file)
                if lines:
                    return int(lines[0])
                await asyncio.sleep(0.05)
    return None


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="ascii").splitlines() if file.exists() else []


async def _stop(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), LEAVING_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()
