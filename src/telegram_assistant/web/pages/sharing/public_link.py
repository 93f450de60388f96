"""The page that a public link opens, for people without a login."""

from starlette.responses import Response

from telegram_assistant.features.sharing.public_links import find_link, open_link
from telegram_assistant.web.access.outside import language_of, respond_outside
from telegram_assistant.web.views import View


async def show(view: View) -> Response:
    """Reads with the eyes of the link's maker."""
    link = await find_link(view.request.path_params["token"], directory=view.app.api.public_link_directory)
    language = language_of(view.request)
    content = await open_link(
        link,
        stores=view.app.tenant(link.tenant_id),
        own=view.app.person(link.tenant_id, link.user_id),
        language=language.value,
    )
    numbers = {post.post_id: number for number, post in enumerate(content.posts, start=1)}
    return respond_outside(
        "shared.html",
        {"content": content, "numbers": numbers, "expires_at": link.expires_at, "error": None},
        view.request,
    )
