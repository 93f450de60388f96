"""HTTP endpoints of every role: /livez, /readyz, /health, and for the operator /health/details and /metrics.

/livez           200 while the event loop turns, whatever the servers do: for restarts
/readyz, /ready  503 when traffic should go elsewhere
/health          for people and tools: 200 while the process answers; its `status` is the worst of everything
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp

from telegram_assistant import __version__
from telegram_assistant.api.operator_access import OperatorAccess
from telegram_assistant.errors import Busy
from telegram_assistant.stores.files import SUBJECT as FILES
from telegram_assistant.stores.files import Files
from telegram_assistant.telemetry.health import Fact, Health, Section, State
from telegram_assistant.telemetry.metrics import TASKS, exposition

type Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class RoleEndpoints:
    """The endpoints of a role besides the common ones: sections of health, operator actions, and a site with
    access control.
    """

    sections: Mapping[str, Section] = field(default_factory=dict)
    actions: Sequence[Route] = ()
    site: ASGIApp | None = None
    close: Callable[[], None] = lambda: None
    """Ends what would otherwise keep its connections open: streams of pages."""


@dataclass(frozen=True, slots=True)
class RoleSites:
    """The sites on a role's public port and on its operations port."""

    public: Starlette
    operations: Starlette


def role_sites(
    *,
    role: str,
    instance: str,
    health: Health,
    access: OperatorAccess,
    endpoints: RoleEndpoints,
    has_operations_port: bool = False,
) -> RoleSites:
    """Builds both sites.

    Both serve the probes; the operator's endpoints are public only if there is no operations port.
    """
    identity = {"role": role, "instance": instance.partition("#")[0], "version": __version__}

    async def live(_request: Request) -> Response:
        return JSONResponse({"status": "alive"})

    async def summary(_request: Request) -> Response:
        health_summary = await health.summarize()
        sections = {name: {"status": facts["status"]} for name, facts in health_summary.sections.items()}
        return JSONResponse({"status": health_summary.state.value, **identity, **sections})

    async def details(_request: Request) -> Response:
        health_summary = await health.summarize()
        sections = {name: dict(facts) for name, facts in health_summary.sections.items()}
        body = {
            "status": health_summary.state.value,
            **identity,
            **sections,
            "servers_away": dict(health_summary.servers_away),
            "parts": health.parts(),
        }
        return JSONResponse(body)

    async def ready(_request: Request) -> Response:
        obstacles = await health.why_not_ready()
        if obstacles:
            return JSONResponse(
                {"status": "not ready", "because": obstacles}, status_code=503, headers={"Retry-After": "5"}
            )
        return JSONResponse({"status": "ready"})

    async def metrics(request: Request) -> Response:
        TASKS.set(len(asyncio.all_tasks()))
        # In a thread: tens of thousands of lines would block the event loop.
        body, content_type = await asyncio.to_thread(exposition, request.headers.get("accept", ""))
        return Response(body, headers={"Content-Type": content_type})

    probes: list[BaseRoute] = [
        Route("/livez", live),  # open to all: it costs nothing and tells nothing
        Route("/readyz", _guard_handler(ready, access.refuse_probe)),
        Route("/ready", _guard_handler(ready, access.refuse_probe)),
        Route("/health", _guard_handler(summary, access.refuse_probe)),
    ]
    operator_endpoints: list[BaseRoute] = [
        Route("/health/details", _guard_handler(details, access.refuse_page)),
        Route("/metrics", _guard_handler(metrics, access.refuse_page)),
        *(
            Route(
                action.path,
                _guard_handler(action.endpoint, access.refuse_action),
                methods=list(action.methods or ()),
            )
            for action in endpoints.actions
        ),
    ]
    site: list[BaseRoute] = [Mount("", endpoints.site)] if endpoints.site else []
    public_endpoints = [*probes, *site] if has_operations_port else [*probes, *operator_endpoints, *site]
    return RoleSites(Starlette(routes=public_endpoints), Starlette(routes=[*probes, *operator_endpoints]))


def files_section(files: Files | None) -> dict[str, Section]:
    """The section about the store for files, if there is one.

    Roles are ready without it: files wait until it is back.
    """
    if files is None:
        return {}

    async def examine() -> Mapping[str, Fact]:
        try:
            await files.answers()
        except Busy as busy:
            return {"status": State.FAILING.value, "detail": str(busy)}
        return {"status": State.OK.value}

    return {FILES: examine}


def _guard_handler(answer: Handler, refuse: Callable[[Request], Awaitable[Response | None]]) -> Handler:
    async def guard(request: Request) -> Response:
        return await refuse(request) or await answer(request)

    return guard
