"""Checks of `tga doctor`: each returns findings, and problems come with a remedy."""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime

from telegram_assistant.ai import providers
from telegram_assistant.ai.local import understanding
from telegram_assistant.domain.diagnosis import Finding, bad, off, ok
from telegram_assistant.domain.tenants.access import weakness_of_operator_key
from telegram_assistant.features.operations import sandbox_check
from telegram_assistant.features.operations.readiness import CheckedRole, Expectations, addresses_of, examine_installation
from telegram_assistant.graph import opening as graph
from telegram_assistant.settings import EmbeddingSource, Settings
from telegram_assistant.stores import files
from telegram_assistant.stores.postgres import diagnostics as postgres
from telegram_assistant.stores.redis import examination as redis
from telegram_assistant.telegram import diagnostics as telegram
from telegram_assistant.telegram import encryption
from telegram_assistant.vectors import opening

OLDEST_PYTHON = (3, 12)


async def examine_servers(settings: Settings) -> AsyncIterator[Finding]:
    """Checks all servers concurrently and yields findings in a fixed order."""
    checks = [
        asyncio.create_task(postgres.examine(settings.database)),
        asyncio.create_task(redis.examine(settings.redis)),
        asyncio.create_task(files.examine(settings.files)),
        asyncio.create_task(graph.examine(settings.graph)),
        asyncio.create_task(opening.examine(settings.vectors, settings.ai.embeddings_model_in_force)),
        asyncio.create_task(sandbox_check.examine(settings.crawl)),
    ]
    for answer in checks:
        for finding in await answer:
            yield finding
    for finding in [*telegram.examine(settings.telegram), *examine_understanding(settings), examine_operator_key(settings)]:
        yield finding


async def examine_running(settings: Settings, hosts: Mapping[CheckedRole, str]) -> AsyncIterator[Finding]:
    """Checks the running roles over HTTP; `hosts` names the hosts of roles that do not run on this machine."""
    expected = Expectations(settings.parser.interval_seconds, await postgres.has_unique_posts(settings.database))
    async for finding in examine_installation(addresses_of(settings.http, hosts), expected=expected, now=datetime.now(UTC)):
        yield finding


def examine_machine() -> list[Finding]:
    """Checks this machine, without connecting to any server."""
    running = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info < OLDEST_PYTHON:
        python = bad("python", f"Python {running} is too old", remedy="use Python 3.12 or newer")
    else:
        python = ok("python", f"Python {running}")
    return [python, *encryption.examine()]


def examine_understanding(settings: Settings) -> list[Finding]:
    """Checks AI providers and local models."""
    local = settings.ai.embeddings_model_in_force if settings.ai.embeddings is EmbeddingSource.LOCAL else None
    return [*providers.examine(settings), *understanding.examine(settings.ai.models, local)]


def examine_operator_key(settings: Settings) -> Finding:
    """Checks that the operator's key cannot be guessed: it gives full access to the operator's tenant."""
    key = settings.http.operator_key.get_secret_value()
    if not key:
        return off("operator key", "OPERATOR_KEY is empty: health details and metrics are served to this machine only")
    weakness = weakness_of_operator_key(key)
    if weakness:
        return bad("operator key", f"OPERATOR_KEY can be guessed: it {weakness}", remedy="set it to what `tga keys operator` prints")
    return ok("operator key", "OPERATOR_KEY cannot be guessed")
