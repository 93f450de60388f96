"""What every role answers over HTTP: /health, /health/details, /ready, /metrics."""

import asyncio
import ipaddress
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp

from telegram_assistant import __version__
from telegram_assistant.api.problems import problem
from telegram_assistant.telemetry.health import Fact, Health
from telegram_assistant.telemetry.metrics import TASKS, exposition

FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")


type Section = Callable[[], Awaitable[Mapping[str, Fact]]]


@dataclass(frozen=True, slots=True)
class Pages:
    """What a role adds: sections of its health by name, each with a `status`, routes for the operator, and a site that guards itself."""

    sections: Mapping[str, Section] = field(default_factory=dict)
    routes: Sequence[Route] = ()
    site: ASGIApp | None = None


def status_app(*, role: str, instance: str, health: Health, operator_key: SecretStr, pages: Pages) -> Starlette:
    """Open to this machine; from elsewhere with the operator's key."""
    who = {"role": role, "instance": instance.partition("#")[0], "version": __version__}

    async def alive(_request: Request) -> Response:
        sections = {name: {"status": (await section())["status"]} for name, section in pages.sections.items()}
        return JSONResponse({"status": health.state.value, **who, **sections})

    async def details(_request: Request) -> Response:
        sections = {name: dict(await section()) for name, section in pages.sections.items()}
        return JSONResponse({"status": health.state.value, **who, **sections, "parts": health.parts()})

    async def ready(_request: Request) -> Response:
        obstacles = await health.why_not_ready()
        if obstacles:
            return JSONResponse({"status": "not ready", "because": obstacles}, status_code=503, headers={"Retry-After": "5"})
        return JSONResponse({"status": "ready"})

    async def metrics(request: Request) -> Response:
        TASKS.set(len(asyncio.all_tasks()))
        # Tens of thousands of lines; whatever else this process does goes on meanwhile.
        body, content_type = await asyncio.to_thread(exposition, request.headers.get("accept", ""))
        return Response(body, headers={"Content-Type": content_type})

    def guarded(answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def guard(request: Request) -> Response:
            if may_ask(request, operator_key):
                return await answer(request)
            hint = "send `Authorization: Bearer` with the value of OPERATOR_KEY" if operator_key.get_secret_value() else "set OPERATOR_KEY"
            return problem(401, "Only for the operator", f"Asked from another machine; {hint}.")

        return guard

    own = {"/health": alive, "/health/details": details, "/ready": ready, "/metrics": metrics}
    routes: list[BaseRoute] = [Route(path, guarded(page)) for path, page in own.items()]
    routes += [Route(route.path, guarded(route.endpoint), methods=list(route.methods or ())) for route in pages.routes]
    routes += [Mount("", pages.site)] if pages.site else []
    return Starlette(routes=routes)


def may_ask(request: Request, operator_key: SecretStr) -> bool:
    """A request that a proxy on this machine passes on is not from this machine."""
    if has_key(request, operator_key):
        return True
    if any(name in request.headers for name in FORWARDED) or request.client is None:
        return False
    return ipaddress.ip_address(request.client.host).is_loopback


def has_key(request: Request, operator_key: SecretStr) -> bool:
    key = operator_key.get_secret_value()
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    return bool(key) and scheme.lower() == "bearer" and secrets.compare_digest(given.encode(), key.encode())
