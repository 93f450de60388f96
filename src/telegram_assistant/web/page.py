"""Declares a page: its path, who may open it, the function that reads what it shows, and its template."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from starlette.responses import Response

from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.web.limits import RouteKind
from telegram_assistant.web.views import Content, PersonView, TenantView, View

type Handler[V: View] = Callable[[V], Awaitable[Content | Response | "PageInTenant"]]


@dataclass(frozen=True, slots=True)
class Page[V: View]:
    """A GET request that shows something.

    `queries` is the most statements that PostgreSQL answers for it, beside the one that counts for the menu.
    """

    path: str
    read: Handler[V]
    template: str
    queries: int
    needs: KeyScope | None = None
    kind: RouteKind = RouteKind.PAGE


@dataclass(frozen=True, slots=True)
class PageInTenant:
    """A page of a tenant, to be shown at an address outside of it."""

    page: Page[TenantView]
    tenant: UUID


@dataclass(frozen=True, slots=True)
class FormLimits:
    """How large a form may be."""

    max_bytes: int = 200_000
    max_fields: int = 1000
    max_files: int = 0


@dataclass(frozen=True, slots=True)
class Action[V: View]:
    """A POST request of a form.

    `audited` names it in the audit log; what only concerns the person is not audited.
    """

    path: str
    perform: Handler[V]
    template: str = "error.html"
    needs: KeyScope | None = None
    audited: str | None = None
    limits: FormLimits = FormLimits()
    is_proven_by_address: bool = False
    """The address itself shows that the sender may do this:
    programs that never opened a page of ours may send it.
    """
    kind: RouteKind = RouteKind.PAGE


type OpenRoute = Page[View] | Action[View]
type PersonRoute = Page[PersonView] | Action[PersonView]
type TenantRoute = Page[TenantView] | Action[TenantView]
type AnyRoute = Page[Any] | Action[Any]
