"""A process with secrets that lets a hostile parser work for it: `victim.py HOW TARGETS`, with the secrets in
its environment.

It prints what the parser got.
"""

import asyncio
import json
import os
import secrets
import socket
import sys
from asyncio.subprocess import PIPE
from dataclasses import replace
from pathlib import Path
from typing import Any

from telegram_assistant.ai.local.ocr import ocr_rules
from telegram_assistant.crawling.browser import browser_rules
from telegram_assistant.isolation import IsolatedProcesses
from telegram_assistant.sandbox.launching import start
from telegram_assistant.sandbox.parsers import parser_rules, python_folders
from telegram_assistant.sandbox.rules import Rules

HERE = Path(__file__).parent
PYTHON = str(Path(sys.executable).resolve())


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1024)
    writer.write(b"HTTP/1.0 200 OK\r\n\r\ntga-secret-served")
    await writer.drain()
    writer.close()


async def as_before(at: dict[str, Any]) -> Any:
    """Outside any sandbox, as a child of the same user."""
    process = await asyncio.create_subprocess_exec(
        PYTHON, str(HERE / "hostile.py"), json.dumps(at), stdout=PIPE
    )
    return json.loads((await process.communicate())[0])


async def as_parser(at: dict[str, Any]) -> Any:
    isolated = IsolatedProcesses("hostile", at_once=1, max_seconds=60, max_uses=10, rules=parser_rules(HERE))
    try:
        return (await isolated.ask(json.dumps(at), b""))[0]
    finally:
        await isolated.close()


async def as_program(at: dict[str, Any], rules: Rules) -> Any:
    """In place of tesseract or the browser, which need no Python; as the victim's own user,
    whose files it could read.
    """
    rules = replace(
        rules,
        unprivileged_user_id=None,
        read=(*rules.read, *python_folders(), str(HERE)),
        execute=(*rules.execute, PYTHON),
    )
    process = await start(rules, PYTHON, str(HERE / "hostile.py"), json.dumps(at))
    return json.loads((await process.communicate())[0])


async def main(how: str, at: dict[str, Any]) -> None:
    secret = f"tga-secret-in-memory-{secrets.token_hex(8)}"
    held = os.memfd_create("session")
    os.write(held, b"tga-secret-held-open")
    os.set_inheritable(held, True)  # noqa: FBT003 -- it has no name
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind(f"\0{at['unix_abstract']}")
    await asyncio.start_unix_server(serve, sock=abstract)
    await asyncio.start_unix_server(serve, at["unix_path"])
    port = (await asyncio.start_server(serve, "127.0.0.1", 0)).sockets[0].getsockname()[1]
    at |= {"parent": os.getpid(), "http_port": port}
    ways = {
        "as before": lambda: as_before(at),
        "parser": lambda: as_parser(at),
        "ocr": lambda: as_program(at, ocr_rules("/usr/bin/tesseract")),
        "browser": lambda: as_program(
            at, browser_rules("/usr/bin/chromium", profile=Path(at["profile"]), proxy_port=at["proxy_port"])
        ),
    }
    sys.stdout.write(json.dumps({"got": await ways[how](), "kept": secret}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))
