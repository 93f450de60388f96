"""The cookies of the pages."""

from starlette.responses import Response

from telegram_assistant.web.client import Client

SESSION = "tga_session"
VISITOR = "tga_visitor"
"""A random cookie of browsers without a session, for the tokens of their forms."""
ZONE = "tga_zone"
"""The browser's time zone, set by a script of ours."""


def set_cookie(response: Response, name: str, value: str, client: Client, *, seconds: int | None = None) -> None:
    """Only we read it, only our own pages send it, and over https only where the page came over https."""
    response.set_cookie(name, value, max_age=seconds, path="/", secure=client.is_https, httponly=True, samesite="lax")
