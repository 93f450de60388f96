"""The context that every endpoint receives: the caller, and the stores of its tenant."""

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Annotated, overload

from fastapi import Depends
from starlette.requests import Request

from telegram_assistant.assembly import ApiApp
from telegram_assistant.domain.posts.post import Facts, Json
from telegram_assistant.domain.tenants.access import Caller
from telegram_assistant.errors import Forbidden
from telegram_assistant.fair_queue import Place
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.stores import PersonStores, TenantStores
from telegram_assistant.translation import ENGLISH, language_of_header, translate

APP = "api_app"
"""The key of a request's scope that holds its ApiApp."""


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The context of one request.

    `stores` see only the data of the caller's tenant; nothing here sees data of other tenants.
    """

    caller: Caller
    app: ApiApp
    stores: TenantStores
    now: datetime
    facts: Facts
    language: str = ENGLISH
    zone: tzinfo = UTC
    """Of the times in reasons."""
    place: Place | None = None
    """In the queue that its tenant shares; None on the command line."""

    @overload
    def translate(self, reason: Reason) -> str: ...
    @overload
    def translate(self, reason: Reason | None) -> str | None: ...
    def translate(self, reason: Reason | None) -> str | None:
        """The reason as a sentence in the caller's language."""
        return None if reason is None else translate(reason, self.language, zone=self.zone)

    @property
    def own(self) -> PersonStores:
        """The stores of the caller's person. Raises Forbidden if the key belongs to nobody."""
        if self.caller.user_id is None:
            raise Forbidden(
                Reason(
                    "key_of_nobody",
                    "only a person has this; use a key that a person created on the page “API keys”",
                )
            )
        return self.app.person(self.caller.tenant_id, self.caller.user_id)

    def leave_queue(self) -> None:
        """Gives the place back early, before waiting for others: a provider may take seconds."""
        if self.place is not None:
            self.place.leave()

    def note(self, **facts: Json) -> None:
        """Adds facts to this change's audit entry, besides caller, time and path. Never pass secrets."""
        self.facts.update(facts)


async def _build_context(request: Request) -> RequestContext:
    caller: Caller = request.scope["caller"]
    app: ApiApp = request.scope[APP]
    language = language_of_header(request.headers.get("accept-language", ""))
    return RequestContext(
        caller,
        app,
        app.tenant_of_actor(caller.tenant_id, caller.user_id),
        datetime.now(UTC),
        request.scope["audit_facts"],
        language,
    )


Context = Annotated[RequestContext, Depends(_build_context)]
