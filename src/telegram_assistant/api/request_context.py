"""What every endpoint is given: who asks, and with what they may be answered."""

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
    """One request. `stores` see what the caller's tenant may see; nothing here sees more of tenants than that."""

    caller: Caller
    app: ApiApp
    stores: TenantStores
    now: datetime
    facts: Facts

    def note(self, **facts: Json) -> None:
        """What the audit log says of this change, beside who, when and at which address; no secrets."""
        self.facts.update(facts)


async def _asking(request: Request) -> RequestContext:
    caller: Caller = request.scope["caller"]
    app: ApiApp = request.app.state.app
    return RequestContext(caller, app, app.tenant(caller.tenant_id), datetime.now(UTC), request.scope["audit_facts"])


Context = Annotated[RequestContext, Depends(_asking)]
