"""What every role answers over HTTP: /health, /health/details, /ready, /metrics."""

import asyncio
import ipaddress
import secrets
from collections.abc import Awaitable, Callable

from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from telegram_assistant import __version__
from telegram_assistant.telemetry.health import Health
from telegram_assistant.telemetry.metrics import exposition

FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")


def status_app(*, role: str, instance: str, health: Health, operator_key: SecretStr) -> Starlette:
    """Open to this machine; from elsewhere with the operator's key."""
    who = {"role": role, "instance": instance.partition("#")[0], "version": __version__}

    async def alive(_request: Request) -> Response:
        return JSONResponse({"status": health.state.value, **who})

    async def details(_request: Request) -> Response:
        return JSONResponse({"status": health.state.value, **who, "parts": health.parts()})

    async def ready(_request: Request) -> Response:
        obstacles = await health.why_not_ready()
        if obstacles:
            return JSONResponse({"status": "not ready", "because": obstacles}, status_code=503, headers={"Retry-After": "5"})
        return JSONResponse({"status": "ready"})

    async def metrics(request: Request) -> Response:
        # Tens of thousands of lines; whatever else this process does goes on meanwhile.
        body, content_type = await asyncio.to_thread(exposition, request.headers.get("accept", ""))
        return Response(body, headers={"Content-Type": content_type})

    async def guard(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
        if may_ask(request, operator_key):
            return await answer(request)
        hint = "send `Authorization: Bearer` with the value of OPERATOR_KEY" if operator_key.get_secret_value() else "set OPERATOR_KEY"
        refusal = {"title": "Only for the operator", "status": 401, "detail": f"Asked from another machine; {hint}."}
        return JSONResponse(refusal, status_code=401, headers={"WWW-Authenticate": "Bearer"}, media_type="application/problem+json")

    routes = [Route("/health", alive), Route("/health/details", details), Route("/ready", ready), Route("/metrics", metrics)]
    return Starlette(routes=routes, middleware=[Middleware(BaseHTTPMiddleware, dispatch=guard)])


def may_ask(request: Request, operator_key: SecretStr) -> bool:
    """A request that a proxy on this machine passes on is not from this machine."""
    key = operator_key.get_secret_value()
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if key and scheme.lower() == "bearer" and secrets.compare_digest(given.encode(), key.encode()):
        return True
    if any(name in request.headers for name in FORWARDED) or request.client is None:
        return False
    return ipaddress.ip_address(request.client.host).is_loopback
