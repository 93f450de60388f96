"""The HTTP API of people and their programs: all areas under /api/v1, /docs and /openapi.json."""

from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp

from telegram_assistant import __version__
from telegram_assistant.api.access_middleware import PREFIX, AccessMiddleware
from telegram_assistant.api.authentication import Authenticator
from telegram_assistant.api.docs_page import handbook
from telegram_assistant.api.endpoints import (
    accounts,
    audit,
    changes,
    channel_requests,
    channels,
    coverage,
    dead_letters,
    feed,
    graph,
    keys,
    me,
    parked,
    posts,
    search,
    spending,
    tags,
    tenants,
    understanding,
)
from telegram_assistant.api.problems import Problem, problem_from
from telegram_assistant.api.rate_limiting import FailedKeys, Limiter
from telegram_assistant.api.response_middleware import DOCS, ResponseMiddleware
from telegram_assistant.api.status import RolePages
from telegram_assistant.assembly import ApiApp
from telegram_assistant.errors import AssistantError
from telegram_assistant.stores.redis.rate_limits import RateLimits

AREAS = (
    me.area,
    channel_requests.area,  # its paths are more special than those of channels
    channels.area,
    parked.area,
    coverage.area,
    feed.area,
    posts.area,
    search.area,
    graph.area,
    changes.area,
    tags.area,
    understanding.area,
    spending.area,
    accounts.area,
    keys.area,
    audit.area,
    dead_letters.area,
    tenants.area,
)
"""Every endpoint there is. A new area is a file and its name here."""

ABOUT = """
Everything that a tenant sees and may change. Send a key as `Authorization: Bearer tga_…`.

* Lists come in pages: give `next` back as `cursor`.
* What goes wrong is told as `application/problem+json` (RFC 9457). What belongs to others is answered like what does not exist: 404.
* Who asks too often gets 429, who asks while a server is away 503; `Retry-After` says when to come back.
* Changes take an `Idempotency-Key`, and are in the audit log.
"""


def api_pages(app: ApiApp) -> RolePages:
    """What the api role shows beside health and metrics."""
    return RolePages(site=site_of(app))


def site_of(app: ApiApp) -> ASGIApp:
    settings = app.settings.api
    limiter = Limiter(RateLimits(app.redis))
    callers = Authenticator(app.api.key_directory, limiter, settings=settings, operator_key=app.settings.http.operator_key)
    site: ASGIApp = AccessMiddleware(
        endpoints(app),
        callers=callers,
        failed_keys=FailedKeys(limiter),
        tenant=app.tenant,
        settings=settings,
        body_timeout_seconds=app.settings.http.request_timeout_seconds,
    )
    if settings.cors_origins:
        site = CORSMiddleware(
            site,
            allow_origins=settings.cors_origins.split(","),
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


class _Site(FastAPI):
    """FastAPI, with the shape of a refusal among its schemas: it would list `application/json` beside it otherwise."""

    def openapi(self) -> dict[str, Any]:
        described = super().openapi()
        problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        described["components"]["schemas"] |= {**problem.pop("$defs"), "Problem": problem}
        return described


def endpoints(app: ApiApp | None = None) -> FastAPI:
    """The areas alone; without an ApiApp they can be described, not asked."""
    made = _Site(
        title="Unofficial Telegram Assistant",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        openapi_tags=[{"name": area.name, "description": area.about} for area in AREAS],
        exception_handlers={AssistantError: _tell, RequestValidationError: _tell, HTTPException: _tell, Exception: _tell},
    )
    made.state.app = app
    for area in AREAS:
        made.include_router(area.router, prefix=PREFIX)
    made.add_route(DOCS, _docs, include_in_schema=False)
    return made


async def _docs(request: Request) -> Response:
    return HTMLResponse(handbook(request.app.openapi()))


async def _tell(request: Request, error: Exception) -> Response:
    return problem_from(error, trace_id=request.scope.get("trace_id"))
