"""Starts processes in the sandbox, from outside."""

import asyncio
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from dataclasses import dataclass

from telegram_assistant.sandbox.kernel import hide_memory
from telegram_assistant.sandbox.rules import PACKAGE, Rules

ENVIRONMENT = {"LANG": "C.UTF-8", "PYTHONPATH": str(PACKAGE.parent), "PYTHONDONTWRITEBYTECODE": "1"}
"""The whole environment of a sandboxed process, unless the caller adds something."""
DEFAULT_LINE_BYTES = 1 << 16
PROBE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Protection:
    """The restrictions that the kernel enforces in a sandboxed process."""

    landlock_abi: int | None = None
    has_system_call_filter: bool = False
    missing: tuple[str, ...] = ()
    """Why something is not enforced, in words."""
    reachable: tuple[str, ...] = ()
    """Resources that a probe could still reach."""

    def in_words(self) -> str:
        """Return the text that `tga doctor` shows."""
        layers = [f"Landlock ABI {self.landlock_abi}"] if self.landlock_abi is not None else []
        layers += ["seccomp"] if self.has_system_call_filter else []
        return ", ".join(layers)


async def start(
    rules: Rules,
    *command: str,
    environment: Mapping[str, str] | None = None,
    max_line_bytes: int = DEFAULT_LINE_BYTES,
    has_pipes: bool = True,
) -> Process:
    """Start `-m MODULE` or a program given by its path. Raises OSError if Python itself cannot be started."""
    hide_memory()
    without_packages = (
        () if command[:1] == ("-m",) else ("-S",)
    )  # a program needs no packages, and starts sooner without
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-P", *without_packages, "-m", "telegram_assistant.sandbox", *rules.to_arguments(), "--", *command),
        stdin=PIPE if has_pipes else DEVNULL,
        stdout=PIPE if has_pipes else DEVNULL,
        stderr=DEVNULL,
        cwd="/",
        env={**ENVIRONMENT, "TMPDIR": tempfile.gettempdir(), **(environment or {})},
        start_new_session=True,
        limit=max_line_bytes,
    )


async def probe(rules: Rules) -> Protection:
    """Start a process under these rules that only reports.

    Raises OSError, TimeoutError or ValueError if it cannot.
    """
    process = await start(rules)
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    report: dict[str, list[str]] = {}
    for line in output.decode().splitlines():
        name, _, value = line.partition("=")
        report.setdefault(name, []).append(value)
    version, has_filter = report.get("landlock_abi", [""])[0], report.get("has_system_call_filter")
    if has_filter is None:
        raise ValueError("it ended without a report")
    return Protection(
        int(version) if version else None,
        bool(has_filter[0]),
        tuple(report.get("missing", ())),
        tuple(report.get("reachable", ())),
    )
