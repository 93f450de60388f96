"""The program as people start it: `tga run` in a process of its own."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx
import pytest

from telegram_assistant.roles import ROLES
from testkit.engines import free_port


@dataclass
class Program:
    """A running `tga run`."""

    process: asyncio.subprocess.Process
    environ: dict[str, str]

    def url(self, role: str, path: str) -> str:
        return f"http://{self.environ['HTTP_HOST']}:{self.environ[f'{role.upper()}_PORT']}{path}"

    async def until_ready(self, role: str = "api") -> None:
        async with httpx.AsyncClient() as client:
            deadline = time.monotonic() + 60  # a busy machine starts slowly
            while time.monotonic() < deadline:
                try:
                    if (await client.get(self.url(role, "/readyz"))).status_code == 200:
                        return
                except httpx.TransportError:
                    pass  # it does not listen yet
                await asyncio.sleep(0.05)
        pytest.fail("the program did not become ready")


@asynccontextmanager
async def program(database: dict[str, str], *arguments: str, **changed: str) -> AsyncIterator[Program]:
    ports = {f"{role.name.upper()}_PORT": str(free_port()) for role in ROLES}
    environ = {**database, "HTTP_HOST": "127.0.0.1", **ports, **changed}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "telegram_assistant",
        "run",
        *arguments,
        env=environ,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield Program(process, environ)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
