"""The ingest and worker roles of the demo, in a process of their own so that pages stay fast while posts are
being read.

They get their settings as a line of JSON on stdin. If stdin ends, the demo has ended, and so do they.
"""

import asyncio
import json
import os
import sys
import threading
from ipaddress import IPv4Network

from telegram_assistant.demo.servers import LOOPBACK
from telegram_assistant.demo.stopping import catch_signals
from telegram_assistant.outbound.guard import Guard
from telegram_assistant.roles import ROLES, RoleName, run_roles
from telegram_assistant.settings import Settings, read_settings
from telegram_assistant.telemetry.logging import configure_logging

NICENESS = 5


def web_guard(port: int) -> Guard:
    """Lets the crawler reach the simulator's web server and nothing else: no name is resolved."""
    return Guard(resolve=_resolve_nothing, ports=frozenset({port}), although_private=(IPv4Network(LOOPBACK),))


async def _resolve_nothing(_host: str) -> tuple[str, ...]:
    return ()


async def _run(settings: Settings, web_port: int) -> None:
    with catch_signals() as stopping:
        loop = asyncio.get_running_loop()

        def wait_for_end() -> None:
            sys.stdin.read()
            loop.call_soon_threadsafe(stopping.stop)

        threading.Thread(target=wait_for_end, daemon=True).start()
        roles = [role for role in ROLES if role.name is not RoleName.API]
        await run_roles(settings, roles, wait_for_stop=stopping.wait, guard=web_guard(web_port))


def main() -> None:
    """Entry point."""
    line = sys.stdin.readline()
    if not line:
        return
    os.nice(NICENESS)
    parameters = json.loads(line)
    settings = read_settings(parameters["variables"])
    configure_logging(settings.telemetry)
    asyncio.run(_run(settings, parameters["web_port"]))


main()
