"""Helpers of commands that connect to the servers.

Other commands do not import this module, so they start faster.
"""

import asyncio
from collections.abc import Awaitable, Callable

import typer

from telegram_assistant.assembly import App, assemble
from telegram_assistant.cli.environment import complaints, refuse, settings_or_exit
from telegram_assistant.cli.wording import words_of
from telegram_assistant.errors import Busy, CannotStart, Rejected
from telegram_assistant.features.people import members
from telegram_assistant.features.tenants import tenants
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.tenants.tenants import Tenant
from telegram_assistant.stores.postgres.tenants.users import Member
from telegram_assistant.telemetry.logging import configure_logging

TRY_AGAIN = Reason("try_again", "Try again in a moment; `tga doctor` shows details")


async def tenant_named(app: App, name: str) -> Tenant:
    return await tenants.tenant_named(name, tenants=app.system.tenants)


async def member_named(app: App, tenant: Tenant, name: str) -> Member:
    """The person whose digests and interests a command is about; without a name, the only one."""
    return await members.member_named(name, tenant=tenant, users=app.system.users)


def with_app[T](
    work: Callable[[App], Awaitable[T]], *, needs_redis: bool = True, with_graph: bool = False
) -> T:
    """Runs `work` with the assembled app. Prints errors as sentences and exits with 1.

    Work that only reads PostgreSQL needs no Redis, and only commands that use the graph wait until its
    library is loaded.
    """
    settings = settings_or_exit()
    configure_logging(settings.telemetry)

    async def run() -> T:
        async with assemble(settings, needs_redis=needs_redis, with_graph=with_graph) as app:
            return await work(app)

    try:
        return asyncio.run(run())
    except CannotStart as error:
        raise refuse(error.why, error.remedy) from error
    except Rejected as error:
        complaints.print(f"[red]{words_of(error.reason)}.[/]")
        raise typer.Exit(1) from error
    except Busy as error:
        raise refuse(error.reason, TRY_AGAIN) from error
