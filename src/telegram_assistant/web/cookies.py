"""The cookies of the pages."""

from starlette.requests import Request
from starlette.responses import Response

from telegram_assistant.web.client import Client

SESSION = "tga_session"
VISITOR = "tga_visitor"
"""A random cookie of browsers without a session, for the tokens of their forms."""
ZONE = "tga_zone"
"""The browser's time zone, set by a script of ours."""
HOST_ONLY = "__Host-"
"""Browsers accept a cookie of such a name over https only, for this host only:
no other page of the domain can set it.
"""


def cookie_name(name: str, client: Client) -> str:
    return HOST_ONLY + name if client.is_https else name


def read_cookie(request: Request, name: str, client: Client) -> str:
    """Its value; empty if there is none."""
    return request.cookies.get(cookie_name(name, client), "")


def set_cookie(
    response: Response, name: str, value: str, client: Client, *, seconds: int | None = None
) -> None:
    """Only we read it, only our own pages send it, and over https only where the pages are on https."""
    response.set_cookie(
        cookie_name(name, client),
        value,
        max_age=seconds,
        path="/",
        secure=client.is_https,
        httponly=True,
        samesite="lax",
    )


def delete_cookie(response: Response, name: str, client: Client) -> None:
    response.delete_cookie(
        cookie_name(name, client), path="/", secure=client.is_https, httponly=True, samesite="lax"
    )
