"""Starting a process in the sandbox, from outside."""

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from typing import Any

from telegram_assistant.sandbox.confining import Protection
from telegram_assistant.sandbox.kernel import hide_memory
from telegram_assistant.sandbox.rules import PACKAGE, Rules

ENVIRONMENT = {"LANG": "C.UTF-8", "PYTHONPATH": str(PACKAGE.parent), "PYTHONDONTWRITEBYTECODE": "1"}
"""All that a sandboxed process learns of its environment, unless its starter adds something."""
DEFAULT_LINE_BYTES = 1 << 16
PROBE_SECONDS = 30.0


async def start(
    rules: Rules, *command: str, environment: Mapping[str, str] | None = None, max_line_bytes: int = DEFAULT_LINE_BYTES, has_pipes: bool = True
) -> Process:
    """Start `-m MODULE` or a program with its path. OSError when Python itself cannot be started."""
    hide_memory()
    without_packages = () if command[:1] == ("-m",) else ("-S",)  # a program needs none of them, and starts sooner
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-P", *without_packages, "-m", "telegram_assistant.sandbox", rules.to_json(), *command),
        stdin=PIPE if has_pipes else DEVNULL,
        stdout=PIPE if has_pipes else DEVNULL,
        stderr=DEVNULL,
        cwd="/",
        env={**ENVIRONMENT, **(environment or {})},
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
    fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in json.loads(reported).items()}
    return Protection(**fields)
