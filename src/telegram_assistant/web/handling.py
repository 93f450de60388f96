"""Answers every page and form: session, tenant, forged requests, errors, language and zone.

It is long because every request takes all of these steps, in this order.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import quote
from uuid import UUID
from zoneinfo import ZoneInfo

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from telegram_assistant.assembly import ApiApp
from telegram_assistant.domain.people.person import Language, Membership, Theme
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.errors import Busy, Conflicting, Forbidden, Missing, Rejected, Throttled
from telegram_assistant.features.people.passwords import Passwords
from telegram_assistant.features.people.people import find_session
from telegram_assistant.features.watches.alerts import count_unread_alerts
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import check_zone
from telegram_assistant.stores.postgres.people.people import FoundSession
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.outages import OutageLog
from telegram_assistant.translation import language_of_header, translate
from telegram_assistant.web.access.forgery import FIELD, HEADER, is_own_token, is_same_site, new_form_token
from telegram_assistant.web.access.outside import fail_link, refuse_link
from telegram_assistant.web.audited_actions import perform_form_once
from telegram_assistant.web.client import Client, Clients
from telegram_assistant.web.cookies import SESSION, VISITOR, ZONE, read_cookie, set_cookie
from telegram_assistant.web.limits import RequestShare, RouteKind, find_share, retry_after, tenant_in_path
from telegram_assistant.web.live import EVENT_STREAM, OVER_EVENT
from telegram_assistant.web.page import Action, AnyRoute, Page, PageInTenant
from telegram_assistant.web.rendering import Reader, render
from telegram_assistant.web.views import (
    PAGE_UNKNOWN,
    Content,
    PersonView,
    TenantView,
    View,
    check_characters,
    uuid_of,
    with_notice,
)

log = get_logger()

STATUS = {Missing: 404, Forbidden: 403, Conflicting: 409, Rejected: 422, Throttled: 429, Busy: 503}
BESIDE_PAGE = {"HX-Retarget": "#notes", "HX-Reswap": "innerHTML"}
FORM_FORGED = Reason(
    "form_forged", "this form was not opened here, or it is too old; open the page again and resubmit"
)
FORM_TOO_LARGE = Reason("form_too_large", "this form is too large")
MAX_SHOWN_HOST = 100

type Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class _PageRequest:
    """A request with its session, before anything is decided about it."""

    request: Request
    client: Client
    token: str
    visitor: str
    session: FoundSession | None
    kind: RouteKind = RouteKind.PAGE

    @property
    def cookie(self) -> str:
        """The cookie that the tokens of forms are bound to."""
        return self.token if self.session else self.visitor


class PageHandler:
    """One per process."""

    def __init__(self, app: ApiApp) -> None:
        self._app = app
        self._passwords = Passwords()
        self._late = OutageLog("pages", began="page_took_too_long")
        self.clients = Clients(app.settings.web.trusted_proxies, is_https=app.settings.web.is_https)

    def endpoint(self, route: AnyRoute, view: type[View]) -> Endpoint:
        return partial(self._handle_request, route, view)

    async def handle_error(self, request: Request, error: Exception) -> Response:
        """Answers what no route answers."""
        status = error.status_code if isinstance(error, HTTPException) else 500
        problem: Rejected = (
            Missing(PAGE_UNKNOWN)
            if status == HTTPStatus.NOT_FOUND
            else Rejected(Reason("method_unknown", "this address does not accept this method"))
        )
        page_request = await self._load_session(request)
        try:
            await (await find_share(request, RouteKind.PAGE, page_request.session, app=self._app)).count(
                self._app.limiter
            )
        except Throttled as refusal:
            return self._render_refusal(refusal, None, page_request)
        return self._render_page(
            "error.html",
            {"error": problem.reason, "status": status},
            page_request=page_request,
            view=None,
            status=status,
        )

    def refuse_host(self, request: Request) -> Response:
        """Answers a request under a foreign name, without a look at its cookies."""
        page_request = _PageRequest(request, request.scope["tga.client"], "", "", None)
        host = request.headers.get("host", "")[:MAX_SHOWN_HOST]
        reason = Reason(
            "page_host_unknown",
            "this installation does not answer for the name {host!a}; if the name is yours, set BASE_URL "
            "to the address that people use",
            host=host,
        )
        content = {"error": reason, "status": HTTPStatus.MISDIRECTED_REQUEST}
        return self._render_page(
            "error.html", content, page_request=page_request, view=None, status=HTTPStatus.MISDIRECTED_REQUEST
        )

    async def _handle_request(self, route: AnyRoute, kind: type[View], request: Request) -> Response:
        page_request = _PageRequest(request, request.scope["tga.client"], "", "", None, route.kind)
        view: View | None = None
        try:
            async with asyncio.timeout(self._app.settings.api.timeout_seconds):
                page_request = await self._load_session(request, route.kind)
                share = await find_share(
                    request, route.kind, page_request.session, app=self._app, tenant=tenant_in_path(request)
                )
                await share.count(self._app.limiter)
                if kind is not View and page_request.session is None:
                    return _redirect_to_login(request)
                view = await self._open_view(page_request, kind, route)
                response = await self._respond_in_turn(route, view, page_request, share)
            self._late.log_recovery()
        except TimeoutError:
            self._late.log_failure(f"no answer within {self._app.settings.api.timeout_seconds:g} s")
            return self._render_refusal(
                Busy(Reason("page_slow", "the page took too long")), view, page_request
            )
        except (Rejected, Busy) as error:
            return self._render_refusal(error, view, page_request)
        except Exception:
            log.exception("page_failed")
            if route.kind is RouteKind.LINK:
                return fail_link(request)
            content = {"error": None, "status": 500, "trace_id": request.scope["trace_id"]}
            return self._render_page("error.html", content, page_request=page_request, view=view, status=500)
        else:
            return response
        finally:
            await request.close()

    async def _load_session(self, request: Request, kind: RouteKind = RouteKind.PAGE) -> _PageRequest:
        client: Client = request.scope["tga.client"]
        token = read_cookie(request, SESSION, client)
        session = await find_session(token, people=self._app.api.people)
        return _PageRequest(
            request, client, token if session else "", read_cookie(request, VISITOR, client), session, kind
        )

    async def _open_view(
        self, page_request: _PageRequest, kind: type[View], route: AnyRoute, tenant_id: UUID | None = None
    ) -> View:
        form = FormData()
        if isinstance(route, Action):
            form = await self._read_own_form(page_request, route)
        check_characters(page_request.request, form)
        common: dict[str, Any] = {
            "request": page_request.request,
            "app": self._app,
            "client": page_request.client,
            "passwords": self._passwords,
            "limiter": self._app.limiter,
            "language": _choose_language(page_request),
            "zone": _choose_zone(page_request, self._app.settings.telemetry.time_zone),
            "now": datetime.now(UTC),
            "token": page_request.token,
            "form": form,
        }
        if kind is View or page_request.session is None:
            return View(**common)
        person = page_request.session.person
        common |= {
            "person": person,
            "session_id": page_request.session.session_id,
            "memberships": page_request.session.memberships,
        }
        if kind is PersonView:
            return PersonView(**common)
        membership = _find_membership(
            page_request.session.memberships,
            tenant_id or uuid_of(page_request.request.path_params["tenant"]),
            route.needs,
        )
        stores = self._app.tenant_of_actor(membership.tenant_id, person.user_id)
        own = self._app.person(membership.tenant_id, person.user_id)
        return TenantView(**common, membership=membership, stores=stores, own=own)

    async def _read_own_form(self, page_request: _PageRequest, route: Action[Any]) -> FormData:
        """Reads a form, if it comes from a page of ours, or its address is a proof."""
        request, limits = page_request.request, route.limits
        announced_text = request.headers.get("content-length", "")
        if not announced_text.isdecimal() or int(announced_text) > limits.max_bytes:
            raise Rejected(FORM_TOO_LARGE)
        try:
            form = await request.form(
                max_fields=limits.max_fields, max_files=limits.max_files, max_part_size=limits.max_bytes
            )
        except HTTPException as error:
            raise Rejected(FORM_TOO_LARGE) from error
        if route.is_proven_by_address:
            return form
        token = request.headers.get(HEADER) or form.get(FIELD, "")
        if (
            not is_same_site(request)
            or not isinstance(token, str)
            or not is_own_token(token, page_request.cookie)
        ):
            raise Forbidden(FORM_FORGED)
        return form

    async def _respond_in_turn(
        self, route: AnyRoute, view: View, page_request: _PageRequest, share: RequestShare
    ) -> Response:
        """Answers when the tenant has a place; what belongs to no tenant is answered at once."""
        if share.tenant_id is None:
            return await self._respond(route, view, page_request)
        async with self._app.queues[route.kind.work].place(share.tenant_id, share.caller) as place:
            return await self._respond(route, replace(view, place=place), page_request)

    async def _respond(self, route: AnyRoute, view: View, page_request: _PageRequest) -> Response:
        if isinstance(route, Page):
            answer = await route.read(view)
        elif route.audited and isinstance(view, TenantView):
            answer = await perform_form_once(route, route.audited, view)
        else:
            answer = await route.perform(view)
        if isinstance(answer, PageInTenant):
            share = await find_share(
                page_request.request,
                answer.page.kind,
                page_request.session,
                app=self._app,
                tenant=answer.tenant,
            )
            # The person's has counted it.
            await replace(share, buckets=share.buckets[1:]).count(self._app.limiter)
            return await self._respond_in_turn(
                answer.page,
                await self._open_view(page_request, TenantView, answer.page, answer.tenant),
                page_request,
                share,
            )
        if isinstance(answer, Response):
            return answer
        if isinstance(view, TenantView) and not view.is_fragment and "unread_alerts" not in answer:
            answer = {**answer, "unread_alerts": await count_unread_alerts(stores=view.stores)}
        headers = {"Retry-After": str(answer["retry_after"])} if "retry_after" in answer else {}
        return self._render_page(
            route.template,
            answer,
            page_request=page_request,
            view=view,
            status=int(str(answer.get("http_status", 200))),
            headers=headers,
        )

    def _render_refusal(
        self, error: Rejected | Busy, view: View | None, page_request: _PageRequest
    ) -> Response:
        status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 500)
        headers = retry_after(error) if isinstance(error, Busy) else {}
        if page_request.kind is RouteKind.LINK:
            return refuse_link(error.reason, status, page_request.request, headers)
        if status == HTTPStatus.TOO_MANY_REQUESTS and page_request.kind is RouteKind.FEED:
            return PlainTextResponse(
                translate(error.reason, _choose_language(page_request)), status, headers=headers
            )
        is_fragment = "hx-request" in page_request.request.headers
        if is_fragment and isinstance(
            error, Busy
        ):  # beside the page, which stays as it is: the same button will work later
            headers |= BESIDE_PAGE
        template = "error_note.html" if is_fragment else "error.html"
        content = {"error": error.reason, "status": status, "back": _path_back(page_request.request)}
        return self._render_page(
            template, content, page_request=page_request, view=view, status=status, headers=headers
        )

    def _render_page(
        self,
        template: str,
        content: Content,
        *,
        page_request: _PageRequest,
        view: View | None,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        reader = Reader(
            _choose_language(page_request),
            _choose_zone(page_request, self._app.settings.telemetry.time_zone),
            datetime.now(UTC),
        )
        visitor = page_request.visitor or secrets.token_urlsafe(32)
        cookie = page_request.token if page_request.session else visitor
        person = page_request.session.person if page_request.session else None
        page = {
            "view": view,
            "person": person,
            "theme": person.preferences.theme if person else Theme.SYSTEM,
            "membership": view.membership if isinstance(view, TenantView) else None,
            "base": view.url("") if isinstance(view, TenantView) else "",
            "here": with_notice(_current_path(page_request.request)),
            "csrf": new_form_token(cookie),
            "once": secrets.token_urlsafe(16),
            "unread_alerts": None,
            "scopes": {scope.value for scope in view.membership.scopes}
            if isinstance(view, TenantView)
            else set(),
        }
        response = HTMLResponse(
            render(template, {**page, **content}, reader=reader),
            status_code=status,
            headers=dict(headers or {}),
        )
        if not page_request.session and not page_request.visitor:
            set_cookie(response, VISITOR, visitor, page_request.client)
        return response


def _find_membership(
    memberships: tuple[Membership, ...], tenant_id: UUID, needs: KeyScope | None
) -> Membership:
    own_membership = next((membership for membership in memberships if membership.tenant == tenant_id), None)
    if own_membership is None:
        raise Missing(PAGE_UNKNOWN)
    if own_membership.suspended_reason is not None:
        raise Forbidden(
            Reason(
                "tenant_suspended",
                "the operator suspended the tenant {tenant}: {why}",
                tenant=own_membership.name,
                why=own_membership.suspended_reason,
            )
        )
    if needs is KeyScope.OPERATE and not own_membership.is_operator:
        raise Missing(PAGE_UNKNOWN)
    if needs is not None and needs not in own_membership.scopes:
        raise Forbidden(
            Reason(
                "role_too_low",
                "your role in {tenant} does not allow this; ask one of its owners",
                tenant=own_membership.name,
            )
        )
    return own_membership


def _choose_language(page_request: _PageRequest) -> Language:
    if page_request.session and page_request.session.person.preferences.language:
        return page_request.session.person.preferences.language
    return Language(language_of_header(page_request.request.headers.get("accept-language", "")))


def _choose_zone(page_request: _PageRequest, fallback: str) -> ZoneInfo:
    chosen_text = page_request.session.person.preferences.zone if page_request.session else None
    for name in (chosen_text, page_request.request.cookies.get(ZONE), fallback):
        try:
            if name:
                return ZoneInfo(check_zone(name))
        except ValueError:
            continue
    return ZoneInfo("UTC")


def _redirect_to_login(request: Request) -> Response:
    """A person without a session logs in first, and then sees the page they wanted."""
    path = _current_path(request)
    target = "/login" if request.method != "GET" or path == "/" else f"/login?next={quote(path)}"
    if "hx-request" in request.headers:
        return Response(status_code=401, headers={"HX-Redirect": target})
    if request.headers.get("accept") == EVENT_STREAM:
        return Response(OVER_EVENT, media_type=EVENT_STREAM, headers={"Cache-Control": "no-store"})
    return RedirectResponse(target, status_code=303)


def _current_path(request: Request) -> str:
    """The page that is shown, to come back to."""
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def _path_back(request: Request) -> str:
    return request.url.path if request.method == "GET" else "/"
