"""Calls API endpoints in this process, so that `--json` prints exactly what the API returns."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from pydantic import BaseModel

from telegram_assistant.api.request_context import RequestContext
from telegram_assistant.assembly import App
from telegram_assistant.cli.connected import member_named, tenant_named, with_app
from telegram_assistant.cli.output import print_json
from telegram_assistant.domain.tenants.access import Caller, KeyScope

ALL = 100_000
"""Page size for commands that list everything where the API returns pages."""


def print_endpoint[T: BaseModel](
    endpoint: Callable[[RequestContext], Awaitable[T]],
    *,
    tenant: str = "default",
    person: str | None = None,
    with_graph: bool = False,
) -> T:
    """Calls an endpoint as this tenant, or as this person in it, and prints its response."""

    async def call(assembled: App) -> T:
        return await endpoint(await context_for(assembled, tenant, person=person))

    answer = with_app(call, with_graph=with_graph)
    print_json(answer)
    return answer


async def context_for(assembled: App, tenant: str, *, person: str | None = None) -> RequestContext:
    """Builds the context of a request by this tenant; of a person in it, if one is named,
    or "" for the only one.
    """
    known = await tenant_named(assembled, tenant)
    user_id = None if person is None else (await member_named(assembled, known, person)).user_id
    caller = Caller(
        known.tenant_id,
        known.public_id,
        known.name,
        known.is_operator,
        frozenset(KeyScope),
        "command line",
        user_id=user_id,
    )
    return RequestContext(caller, assembled, assembled.tenant(known.tenant_id), datetime.now(UTC), {})
