"""The worker and the API in one process, for which 127.0.0.2 is the public web:
`python -m testkit.hostile_installation PORT`.
"""

import asyncio
import os
import sys
from collections.abc import Sequence
from ipaddress import ip_network

from telegram_assistant.outbound.guard import Guard
from telegram_assistant.roles import ROLES, RoleName, run_roles
from telegram_assistant.settings import read_settings
from telegram_assistant.telemetry.logging import configure_logging

WEB = "127.0.0.2"


async def resolve(host: str) -> Sequence[str]:
    """Every name is one of the same web."""
    del host
    return [WEB]


def main() -> None:
    settings = read_settings(os.environ)
    configure_logging(settings.telemetry)
    guard = Guard(resolve, frozenset({int(sys.argv[1])}), (ip_network(f"{WEB}/32"),))
    asyncio.run(
        run_roles(settings, [role for role in ROLES if role.name is not RoleName.INGEST], guard=guard)
    )


if __name__ == "__main__":
    main()
