"""Calls API endpoints in this process: `--json` prints what the API returns, a table the same value."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime

from pydantic import BaseModel

from telegram_assistant.api.request_context import RequestContext
from telegram_assistant.assembly import App
from telegram_assistant.cli.connected import member_named, tenant_named, with_app
from telegram_assistant.cli.environment import zone_here
from telegram_assistant.cli.output import show_value
from telegram_assistant.cli.wording import language_here
from telegram_assistant.domain.tenants.access import Caller, KeyScope

MAX_ITEMS = 100_000
"""Page size for commands that list everything where the API returns pages."""


def show_endpoint[T: BaseModel](
    endpoint: Callable[[RequestContext], Awaitable[T]],
    print_table: Callable[[T], None],
    *,
    as_json: bool,
    tenant: str = "default",
    person: str | None = None,
    needs_redis: bool = True,
    with_graph: bool = False,
) -> T:
    """Calls an endpoint once, as this tenant, or as this person in it, and prints its response.

    Reasons are in the language and time zone of the terminal in a table, English and UTC in JSON.
    """

    async def call(assembled: App) -> T:
        return await endpoint(await context_for(assembled, tenant, person=person, for_people=not as_json))

    answer = with_app(call, needs_redis=needs_redis, with_graph=with_graph)
    show_value(answer, print_table, as_json=as_json)
    return answer


async def context_for(
    assembled: App, tenant: str, *, person: str | None = None, for_people: bool = False
) -> RequestContext:
    """Builds the context of a request by this tenant; of a person in it, if one is named,
    or "" for the only one.

    `for_people`: reasons are in the language and time zone of the terminal.
    """
    chosen_tenant = await tenant_named(assembled, tenant)
    user_id = None if person is None else (await member_named(assembled, chosen_tenant, person)).user_id
    caller = Caller(
        chosen_tenant.tenant_id,
        chosen_tenant.public_id,
        chosen_tenant.name,
        chosen_tenant.is_operator,
        frozenset(KeyScope),
        "command line",
        user_id=user_id,
    )
    context = RequestContext(
        caller, assembled, assembled.tenant(chosen_tenant.tenant_id), datetime.now(UTC), {}
    )
    return replace(context, language=language_here(), zone=zone_here()) if for_people else context
