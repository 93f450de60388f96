"""Pictures and files of posts."""

from starlette.responses import Response

from telegram_assistant.web.media import serve_media
from telegram_assistant.web.views import TenantView


async def show(view: TenantView) -> Response:
    return await serve_media(view.request, stores=view.stores, app=view.app)
