"""Endpoints of the API, called in this process: what a command prints for programs is what the API answers."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from telegram_assistant.api.request_context import RequestContext
from telegram_assistant.api.schemas import ResponseModel
from telegram_assistant.assembly import App
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.output import print_json
from telegram_assistant.domain.tenants.access import Caller, KeyScope

ALL = 100_000
"""So many at most where a command lists everything and the API answers in pages."""


def print_endpoint[T: ResponseModel](endpoint: Callable[[RequestContext], Awaitable[T]], *, tenant: str = "default") -> T:
    """Call an endpoint as this tenant, and print its answer."""

    async def call(assembled: App) -> T:
        return await endpoint(await asking_as(assembled, tenant))

    answer = with_app(call)
    print_json(answer)
    return answer


async def asking_as(assembled: App, tenant: str) -> RequestContext:
    """A request of this tenant, as an endpoint wants it."""
    known = await tenant_named(assembled, tenant)
    caller = Caller(known.tenant_id, known.public_id, known.name, known.is_operator, frozenset(KeyScope), "command line")
    return RequestContext(caller, assembled, assembled.tenant(known.tenant_id), datetime.now(UTC), {})
