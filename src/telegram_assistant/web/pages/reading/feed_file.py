"""The feeds that feed readers open at a secret address, without a login."""

from starlette.responses import Response

from telegram_assistant.errors import Missing
from telegram_assistant.features.watches.feeds import NO_FEED, find_feed, read_feed
from telegram_assistant.web.feeds import ATOM_TYPE, RSS_TYPE, write_atom, write_rss
from telegram_assistant.web.views import View

FORMATS = {"atom": (write_atom, ATOM_TYPE), "rss": (write_rss, RSS_TYPE)}


async def show(view: View) -> Response:
    token, _, kind = view.request.path_params["file"].rpartition(".")
    if kind not in FORMATS:
        raise Missing(NO_FEED)
    write, media_type = FORMATS[kind]
    found = await find_feed(token, directory=view.app.api.feed_directory)
    own = None if found.user_id is None else view.app.person(found.tenant_id, found.user_id)
    base_url = view.app.settings.web.base_url or str(view.request.base_url).rstrip("/")
    content = await read_feed(found, stores=view.app.tenant(found.tenant_id), own=own, now=view.now, base_url=base_url)
    return Response(write(content, address=str(view.request.url)), media_type=media_type)
