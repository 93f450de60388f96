"""The context that every endpoint receives: the caller, and the stores of its tenant."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Depends
from starlette.requests import Request

from telegram_assistant.assembly import ApiApp
from telegram_assistant.domain.posts.post import Facts, Json
from telegram_assistant.domain.tenants.access import Caller
from telegram_assistant.stores.postgres.stores import TenantStores


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The context of one request. `stores` see only the data of the caller's tenant; nothing here sees data of other tenants."""

    caller: Caller
    app: ApiApp
    stores: TenantStores
    now: datetime
    facts: Facts

    def note(self, **facts: Json) -> None:
        """Adds facts to this change's audit entry, besides caller, time and path. Never pass secrets."""
        self.facts.update(facts)


async def _build_context(request: Request) -> RequestContext:
    caller: Caller = request.scope["caller"]
    app: ApiApp = request.app.state.app
    return RequestContext(caller, app, app.tenant(caller.tenant_id), datetime.now(UTC), request.scope["audit_facts"])


Context = Annotated[RequestContext, Depends(_build_context)]
