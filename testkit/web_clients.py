"""The pages as a browser meets them: the real site on real servers, asked over ASGI,
with cookies and the tokens of forms.
"""

import asyncio
import re
import secrets
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from uuid import UUID

import httpx

from telegram_assistant.api.server import HttpServer
from telegram_assistant.api.site import build_site
from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.features.people.people import (
    BrowserVisit,
    NewSession,
    make_login_link,
    sign_in_by_link,
)
from telegram_assistant.settings import Settings
from telegram_assistant.web.cookies import HOST_ONLY, SESSION
from telegram_assistant.web.site import build_web
from testkit.api_clients import fresh_address

ADDRESS = "http://localhost"
"""The address of the pages for the browsers of tests."""
TOKEN = re.compile(r'name="csrf" value="([^"]+)"')
ONCE = re.compile(r'name="once" value="([^"]+)"')


def without_page_limits(settings: Settings) -> Settings:
    """For tests and runs in which one person opens everything; limits have tests of their own."""
    return settings.model_copy(
        update={"web": settings.web.model_copy(update={"per_minute": 10**6, "tenant_per_minute": 10**6})}
    )


class Browser:
    """Keeps cookies and the token of the last page, as a browser does."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self.page = ""
        self.base = ""
        self.user_id = UserId(0)

    async def open(self, path: str, **headers: str) -> httpx.Response:
        """Opens a page; a path that begins with a dot is one of the tenant."""
        answer = await self.client.get(
            self._path(path), headers={key.replace("_", "-"): value for key, value in headers.items()}
        )
        self.page = (
            answer.text if answer.headers.get("content-type", "").startswith("text/html") else self.page
        )
        return answer

    async def submit(
        self,
        path: str,
        form: Mapping[str, str] | None = None,
        *,
        headers: dict[str, str] | None = None,
        **fields: str | list[str],
    ) -> httpx.Response:
        """Sends a form of the page that was opened last."""
        data: dict[str, str | list[str]] = {**self._tokens(), **(form or {}), **fields}
        answer = await self.client.post(self._path(path), data=data, headers=headers)
        self.page = answer.text or self.page
        return answer

    async def upload(self, path: str, name: str, content: bytes) -> httpx.Response:
        """Sends a form of the page that was opened last, with a file."""
        answer = await self.client.post(
            self._path(path), data=self._tokens(), files={"file": (name, content)}
        )
        self.page = answer.text or self.page
        return answer

    def _tokens(self) -> dict[str, str]:
        token, once = TOKEN.search(self.page), ONCE.search(self.page)
        return {"csrf": token[1] if token else "", "once": once[1] if once else ""}

    def _path(self, path: str) -> str:
        return self.base + path.removeprefix(".") if path.startswith("./") else path


@asynccontextmanager
async def open_browser(app: App, *, address: str = "", language: str = "en") -> AsyncIterator[Browser]:
    transport = httpx.ASGITransport(
        app=build_web(app, api=build_site(app)).site, client=(address or fresh_address(), 1)
    )
    async with httpx.AsyncClient(
        transport=transport, base_url=ADDRESS, headers={"Accept-Language": language}
    ) as client:
        yield Browser(client)


@asynccontextmanager
async def member_browser(
    app: App, tenant_id: TenantId, *, role: MemberRole = MemberRole.OWNER, language: str = "en"
) -> AsyncIterator[Browser]:
    """The browser of a new person who is a member of the tenant and logged in."""
    member = await app.system.users.join(tenant_id, f"person {secrets.token_hex(6)}", role=role)
    begun = await begin_session(app, member.user_id)
    async with open_browser(app, language=language) as browser:
        browser.client.cookies.set((HOST_ONLY if app.settings.web.is_https else "") + SESSION, begun.token)
        browser.user_id = member.user_id
        browser.base = f"/t/{await load_public_id(app, begun.token, tenant_id)}"
        yield browser


async def begin_session(app: App, user_id: UserId, *, agent: str = "test") -> NewSession:
    """A session of the person, who comes by a link of the operator's."""
    link = await make_login_link(user_id, users=app.system.users, created_by="test")
    return await sign_in_by_link(link, people=app.api.people, visit=BrowserVisit(agent))


async def load_public_id(app: App, token: str, tenant_id: TenantId) -> UUID:
    session = await app.api.people.session(token)
    assert session is not None
    return next(membership.tenant for membership in session.memberships if membership.tenant_id == tenant_id)


@asynccontextmanager
async def serve_web(app: App) -> AsyncIterator[str]:
    """The address on which the real server serves the pages."""
    web = build_web(app, api=build_site(app))
    server = HttpServer(web.site, request_timeout_seconds=10)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            web.close()
            server.should_exit = True
            await serving
