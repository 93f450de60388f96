"""The public HTTP API: all endpoints under /api/v1, /docs and /openapi.json."""

from functools import cache
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from telegram_assistant import __version__
from telegram_assistant.api.access_middleware import PREFIX, AccessMiddleware
from telegram_assistant.api.authentication import Authenticator
from telegram_assistant.api.docs_page import render_docs
from telegram_assistant.api.endpoints import accounts, ask, feed, graph, lists, receivers, search, sharing
from telegram_assistant.api.endpoints.channels import (
    channel_health,
    channel_record,
    channel_requests,
    channels,
    coverage,
)
from telegram_assistant.api.endpoints.digests import digests, interests
from telegram_assistant.api.endpoints.operations import dead_letters, processes
from telegram_assistant.api.endpoints.people import me, members
from telegram_assistant.api.endpoints.posts import changes, posts
from telegram_assistant.api.endpoints.stories import marks, stories, summaries, today, trends
from telegram_assistant.api.endpoints.tenants import audit, keys, tenants
from telegram_assistant.api.endpoints.understanding import ai_policies, spending, tags
from telegram_assistant.api.endpoints.watches import alerts, watches
from telegram_assistant.api.problems import Problem, problem_from
from telegram_assistant.api.rate_limiting import FailedKeys
from telegram_assistant.api.request_context import APP
from telegram_assistant.api.response_middleware import DOCS, ResponseMiddleware
from telegram_assistant.assembly import ApiApp
from telegram_assistant.errors import AssistantError

AREAS = (
    me.area,
    channel_requests.area,  # before channels: its paths are more specific
    channels.area,
    channel_health.area,
    channel_record.area,
    coverage.area,
    feed.area,
    lists.area,
    stories.area,
    marks.area,
    summaries.area,
    today.area,
    posts.area,
    sharing.area,
    search.area,
    ask.area,
    graph.area,
    digests.area,
    interests.area,
    trends.area,
    changes.area,
    watches.area,
    alerts.area,
    receivers.area,
    tags.area,
    ai_policies.area,
    spending.area,
    accounts.area,
    keys.area,
    members.area,
    audit.area,
    processes.area,
    dead_letters.area,
    tenants.area,
)
"""Every group of endpoints. A new group is one file and its entry here."""

ABOUT = """
Everything that a tenant can read and change. Send an API key as `Authorization: Bearer tga_…`.

* Lists are paginated: send `next` of a page as `cursor` to get the page after it.
* Errors are `application/problem+json` (RFC 9457). Resources of other tenants are answered \
with 404, as if they did not exist.
* Too many requests are answered with 429, and requests while a server is unavailable with 503; \
`Retry-After` says how long to wait.
* Requests that change something accept an `Idempotency-Key`, and the audit log records them.
"""


def build_site(app: ApiApp) -> ASGIApp:
    settings = app.settings.api
    callers = Authenticator(
        app.api.key_directory, app.limiter, settings=settings, operator_key=app.settings.http.operator_key
    )

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        scope[APP] = app
        await endpoints()(scope, receive, send)

    site: ASGIApp = AccessMiddleware(
        answer,
        callers=callers,
        failed_keys=FailedKeys(app.limiter),
        tenant=app.tenant,
        settings=settings,
        body_timeout_seconds=app.settings.http.request_timeout_seconds,
    )
    if settings.cors_origins:
        site = CORSMiddleware(
            site,
            allow_origins=settings.cors_origins,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key"],
            expose_headers=[
                "Retry-After",
                "RateLimit-Name",
                "RateLimit-Limit",
                "RateLimit-Remaining",
                "RateLimit-Reset",
                "Trace-Id",
                "Idempotency-Replayed",
            ],
        )
    return ResponseMiddleware(site, timeout_seconds=settings.timeout_seconds)


class _ApiSite(FastAPI):
    """FastAPI with `Problem` added to its schemas.

    Declared as a response model, it would also be listed as `application/json`.
    """

    def openapi(self) -> dict[str, Any]:
        openapi_description = super().openapi()
        problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        openapi_description["components"]["schemas"] |= {**problem.pop("$defs"), "Problem": problem}
        return openapi_description


@cache
def endpoints() -> FastAPI:
    """Builds the endpoints without middleware, once per process.

    Each request brings the ApiApp that it is for.
    """
    site = _ApiSite(
        title="Unofficial Telegram Assistant",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        openapi_tags=[{"name": area.name, "description": area.about} for area in AREAS],
        exception_handlers={
            AssistantError: _handle_error,
            RequestValidationError: _handle_error,
            HTTPException: _handle_error,
            Exception: _handle_error,
        },
    )
    for area in AREAS:
        site.include_router(area.router, prefix=PREFIX)
    site.add_route(DOCS, _docs, include_in_schema=False)
    return site


async def _docs(request: Request) -> Response:
    return HTMLResponse(render_docs(request.app.openapi()))


async def _handle_error(request: Request, error: Exception) -> Response:
    return problem_from(error, trace_id=request.scope.get("trace_id"))
