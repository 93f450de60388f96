"""The checks of `tga doctor` and of the page Operations: each returns findings,
and problems come with a remedy.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping, Sequence
from datetime import UTC, datetime

from telegram_assistant.ai import providers
from telegram_assistant.ai.local import understanding
from telegram_assistant.domain.operations.diagnosis import Finding, bad, off, ok
from telegram_assistant.domain.tenants.access import weakness_of_secret
from telegram_assistant.features.operations import api_processes, outbound_check, sandbox_check
from telegram_assistant.features.operations.readiness import (
    CheckedRole,
    Expectations,
    addresses_of,
    examine_installation,
)
from telegram_assistant.graph import opening as graph
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import EmbeddingSource, Settings
from telegram_assistant.stores import disks, files
from telegram_assistant.stores.postgres.operations import diagnostics as postgres
from telegram_assistant.stores.redis import examination as redis
from telegram_assistant.streams.groups import readers_of
from telegram_assistant.streams.stage import AnyStage
from telegram_assistant.telegram import diagnostics as telegram
from telegram_assistant.telegram import encryption
from telegram_assistant.vectors import opening

OLDEST_PYTHON = (3, 12)
MAX_SECONDS = 20.0
"""How long one check may take.

The servers have shorter limits of their own; this one ends what hangs nevertheless.
"""


async def examine(
    settings: Settings,
    *,
    stages: Iterable[AnyStage],
    only_shows_files: bool = False,
    max_seconds: float = MAX_SECONDS,
) -> AsyncIterator[Finding]:
    """Checks this machine and all servers concurrently, and yields findings in a fixed order. No finding
    holds a secret.

    `stages`: those that this program knows, whether they are on or off. `only_shows_files`: this process does
    not store any.
    """
    checks: Mapping[str, Awaitable[Sequence[Finding]]] = {
        "python": asyncio.to_thread(examine_machine),
        postgres.SUBJECT: postgres.examine(settings.database),
        redis.SUBJECT: redis.examine(settings.redis, readers_of(stages, settings.streams.partitions)),
        files.SUBJECT: files.examine(settings.files, only_shows=only_shows_files),
        disks.SUBJECT: disks.examine(settings),
        "neo4j": graph.examine(settings.graph),
        opening.SUBJECT: opening.examine(settings.vectors, settings.ai.embeddings_model_in_force),
        sandbox_check.READERS: sandbox_check.examine(settings.crawl),
        understanding.SUBJECT: asyncio.to_thread(examine_settings, settings),
    }
    check_tasks = [
        asyncio.create_task(_within(max_seconds, subject, check)) for subject, check in checks.items()
    ]
    try:
        for task in check_tasks:
            for finding in await task:
                yield finding
    finally:
        for task in check_tasks:
            task.cancel()


async def _within(max_seconds: float, subject: str, check: Awaitable[Sequence[Finding]]) -> Sequence[Finding]:
    try:
        async with asyncio.timeout(max_seconds):
            return await check
    except TimeoutError:
        reason = Reason(
            "check_too_slow", "the check did not finish within {seconds:.0f} s", seconds=max_seconds
        )
        return [
            bad(
                subject,
                reason,
                remedy=Reason(
                    "check_server_load", "check whether the server is overloaded or the network drops packets"
                ),
            )
        ]


async def examine_running(settings: Settings, hosts: Mapping[CheckedRole, str]) -> AsyncIterator[Finding]:
    """Checks the running roles over HTTP;
    `hosts` names the hosts of roles that do not run on this machine.
    """
    expectations = Expectations(
        settings.parser.interval_seconds, await postgres.has_unique_posts(settings.database)
    )
    async for finding in examine_installation(
        addresses_of(settings.http, hosts), expected=expectations, now=datetime.now(UTC)
    ):
        yield finding


def examine_machine() -> list[Finding]:
    """Checks this machine, without connecting to any server."""
    python_version = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info < OLDEST_PYTHON:
        reason = Reason(
            "program_too_old", "{program} {version} is too old", program="Python", version=python_version
        )
        python = bad("python", reason, remedy=Reason("update_python", "use Python 3.12 or newer"))
    else:
        python = ok(
            "python", Reason("program_found", "{program} {version}", program="Python", version=python_version)
        )
    return [python, *encryption.examine()]


def examine_settings(settings: Settings) -> list[Finding]:
    """Checks what needs no server: the application, AI providers, local models,
    the operator's key and what webhooks reach.
    """
    is_local = settings.ai.embeddings is EmbeddingSource.LOCAL
    local = settings.ai.embeddings_model_in_force if is_local else None
    models = understanding.examine(settings.ai.models, local)
    return [
        *telegram.examine(settings.telegram),
        *providers.examine(settings),
        *providers.examine_embeddings(settings),
        *models,
        examine_operator_key(settings),
        examine_secret_key(settings),
        examine_pages(settings),
        *outbound_check.examine(settings),
        *api_processes.examine(settings),
    ]


def examine_pages(settings: Settings) -> Finding:
    """Checks that the pages know who asks: this program speaks plain HTTP,
    so an address on https has a proxy in front.
    """
    if not settings.web.base_url:
        reason = Reason(
            "base_url_empty", "BASE_URL is empty: pages work only under localhost and IP addresses"
        )
        return off("pages", reason)
    if settings.web.is_https and not settings.web.trusted_proxies:
        reason = Reason(
            "proxy_not_trusted",
            "BASE_URL uses https, but no proxy is trusted: login limits count all people as one address",
        )
        remedy = Reason(
            "set_trusted_proxies", "set TRUSTED_PROXIES to the addresses from which the proxy connects"
        )
        return bad("pages", reason, remedy=remedy)
    return ok("pages", Reason("base_url_set", "people open {url}", url=settings.web.base_url))


def examine_operator_key(settings: Settings) -> Finding:
    """Checks that the operator's key cannot be guessed: it gives full access to the operator's tenant."""
    key = settings.http.operator_key.get_secret_value()
    if not key:
        reason = Reason(
            "operator_key_empty",
            "OPERATOR_KEY is empty: health details and metrics are available to this machine only",
        )
        return off("operator key", reason)
    if weakness := weakness_of_secret(key, variable="OPERATOR_KEY"):
        return bad(
            "operator key",
            weakness,
            remedy=Reason("print_operator_key", "set it to the output of `tga keys operator`"),
        )
    return ok("operator key", Reason("operator_key_strong", "OPERATOR_KEY cannot be guessed"))


def examine_secret_key(settings: Settings) -> Finding:
    """Checks the secret that seals those of receivers: without it readers cannot add webhooks or mail."""
    key = settings.web.secret_key.get_secret_value()
    remedy = Reason(
        "print_secret_key",
        "set it to the output of `tga keys operator` in every process, then enter the secrets of receivers "
        "again",
    )
    if not key:
        reason = Reason(
            "secret_key_empty", "SECRET_KEY is empty: receivers of webhooks and e-mail cannot be added"
        )
        return off("secret key", reason)
    if weakness := weakness_of_secret(key, variable="SECRET_KEY"):
        return bad("secret key", weakness, remedy=remedy)
    return ok("secret key", Reason("secret_key_strong", "SECRET_KEY cannot be guessed"))
