"""Refuses pages under names that are not of this installation."""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from telegram_assistant.domain.hosts import address_in, host_in
from telegram_assistant.settings import Settings

STATIC_FILES = "/static/"
"""They hold no secret, and the refusal itself is drawn with them."""


class HostMiddleware:
    """Answers under any address, under localhost, HTTP_HOST, the host of BASE_URL, and ALLOWED_HOSTS.

    A browser sends an address only where a person or a page named that address, so DNS rebinding needs a
    name.
    """

    def __init__(self, site: ASGIApp, *, settings: Settings, refuse: Callable[[Request], Response]) -> None:
        self._site, self._refuse = site, refuse
        self._names = {
            "localhost",
            settings.http.host.lower(),
            settings.web.host,
            *settings.http.allowed_hosts,
        } - {""}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        if scope["path"].startswith(STATIC_FILES) or self._is_own(host_in(request.headers.getlist("host"))):
            await self._site(scope, receive, send)
        else:
            await self._refuse(request)(scope, receive, send)

    def _is_own(self, host: str | None) -> bool:
        return host is not None and (host in self._names or address_in(host) is not None)
