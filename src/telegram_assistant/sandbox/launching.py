"""Starting a process in the sandbox, from outside."""

import asyncio
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from dataclasses import dataclass

from telegram_assistant.sandbox.kernel import hide_memory
from telegram_assistant.sandbox.rules import PACKAGE, Rules

ENVIRONMENT = {"LANG": "C.UTF-8", "PYTHONPATH": str(PACKAGE.parent), "PYTHONDONTWRITEBYTECODE": "1"}
"""All that a sandboxed process learns of its environment, unless its starter adds something."""
DEFAULT_LINE_BYTES = 1 << 16
PROBE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Protection:
    """What the kernel enforces in a sandboxed process."""

    landlock_abi: int | None = None
    has_system_call_filter: bool = False
    missing: tuple[str, ...] = ()
    """Why something is not enforced, in words."""
    reachable: tuple[str, ...] = ()
    """What a probe could still reach."""

    def in_words(self) -> str:
        """As `tga doctor` says it."""
        layers = ["no capabilities"]
        layers += [f"Landlock ABI {self.landlock_abi}"] if self.landlock_abi is not None else []
        layers += ["seccomp"] if self.has_system_call_filter else []
        return ", ".join(layers)


async def start(
    rules: Rules, *command: str, environment: Mapping[str, str] | None = None, max_line_bytes: int = DEFAULT_LINE_BYTES, has_pipes: bool = True
) -> Process:
    """Start `-m MODULE` or a program with its path. OSError when Python itself cannot be started."""
    hide_memory()
    without_packages = () if command[:1] == ("-m",) else ("-S",)  # a program needs none of them, and starts sooner
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
    """Start a process under these rules that only reports. OSError, TimeoutError or ValueError when it cannot."""
    process = await start(rules)
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            reported, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    said: dict[str, list[str]] = {}
    for line in reported.decode().splitlines():
        name, _, value = line.partition("=")
        said.setdefault(name, []).append(value)
    version, has_filter = said.get("landlock_abi", [""])[0], said.get("has_system_call_filter")
    if has_filter is None:
        raise ValueError("it ended without a report")
    return Protection(int(version) if version else None, bool(has_filter[0]), tuple(said.get("missing", ())), tuple(said.get("reachable", ())))
