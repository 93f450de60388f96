"""Responses to people who open a public link without a login: they show nothing of the installation."""

from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from zoneinfo import ZoneInfo

from starlette.requests import Request
from starlette.responses import HTMLResponse

from telegram_assistant.domain.people.person import Language
from telegram_assistant.reasons import Reason
from telegram_assistant.translation import language_of_header
from telegram_assistant.web.rendering import Reader, render

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; font-src 'self'; img-src data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow, noarchive, nosnippet",
    "Cache-Control": "no-store",
}

LINK_FAILED = Reason("link_failed", "something went wrong on our side; try again later")


def language_of(request: Request) -> Language:
    """As the browser asks; nobody's preferences count here."""
    return Language(language_of_header(request.headers.get("accept-language", "")))


def respond_outside(
    template: str,
    content: Mapping[str, object],
    request: Request,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> HTMLResponse:
    """A page without cookies, scripts and forms, which asks not to be indexed. Times are in UTC."""
    reader = Reader(language_of(request), ZoneInfo("UTC"), datetime.now(UTC))
    return HTMLResponse(
        render(template, content, reader=reader), status_code=status, headers={**HEADERS, **(headers or {})}
    )


def fail_link(request: Request) -> HTMLResponse:
    """Answers after an error that nobody expected."""
    return refuse_link(LINK_FAILED, HTTPStatus.INTERNAL_SERVER_ERROR, request, {})


def refuse_link(reason: Reason, status: int, request: Request, headers: Mapping[str, str]) -> HTMLResponse:
    return respond_outside("shared.html", {"error": reason}, request, status=status, headers=headers)
