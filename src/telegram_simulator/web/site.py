"""The web server: `/s/NAME` is the public preview of a channel, page by page,
`/file/...` what its posts show, and the rest what they link to.
"""

from collections.abc import Sequence
from itertools import groupby

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from telegram_simulator.simulator import Simulator
from telegram_simulator.web.articles import newspaper
from telegram_simulator.web.messages import SITE, Scene, bubble, shorten_number
from telegram_simulator.web.text import plain
from telegram_simulator.web.trouble import with_faults
from telegram_simulator.world.channel import Channel
from telegram_simulator.world.post import FileKind, Post

NO_MESSAGES = (
    '<div class="tgme_widget_message_centered"><div class="tme_no_messages_found">Nothing here</div></div>'
)
POSTS_PER_PAGE = 20
"""Messages on a page; an album is shown whole, so a page may have some more."""


def web_app(simulator: Simulator) -> Starlette:
    """The website of this world: previews of channels, files and articles."""

    async def preview(request: Request) -> Response:
        channel = simulator.world.find_by_username(request.path_params["name"])
        if channel is None or not channel.has_preview:
            return RedirectResponse(f"{SITE}/{request.path_params['name']}", status_code=302)
        before, after = (_number(request.query_params.get(name)) for name in ("before", "after"))
        scene = Scene(simulator.world, channel, f"{str(request.base_url).rstrip('/')}/file")
        page = _page(scene, posts_of(channel, before=before, after=after))
        simulator.counters.pages_served += 1
        return HTMLResponse(page.replace("tgme_", "tgx_") if simulator.faults.web_unknown_markup else page)

    async def file(request: Request) -> Response:
        world_file = simulator.world.file_of(request.path_params["channel"], request.path_params["message"])
        channel = simulator.world.channel(request.path_params["channel"])
        if world_file is None or channel is None or channel.is_private or channel.protected:
            return PlainTextResponse("there is no such file", status_code=404)
        if request.path_params["ending"] == "jpg":
            world_file = world_file._replace(kind=FileKind.JPEG)
        return Response(simulator.files.whole(world_file), media_type=world_file.kind.value)

    return Starlette(
        routes=[
            Route("/s/{name}", with_faults(simulator, preview)),
            Route("/file/{channel:int}/{message:int}.{ending}", with_faults(simulator, file)),
            *newspaper(simulator),
        ]
    )


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None


def posts_of(channel: Channel, *, before: int | None = None, after: int | None = None) -> list[Post]:
    """Oldest first: the newest page, the one below an id, or the one above an id."""
    if after is not None:
        ids = list(range(after + 1, channel.newest_id + 1))
    else:
        ids = list(range(min(before or channel.newest_id + 1, channel.newest_id + 1) - 1, 0, -1))
    posts: list[Post] = []
    for number in ids:
        post = channel.get(number)
        if post is None:
            continue
        if len(posts) >= POSTS_PER_PAGE and (
            post.grouped_id is None or post.grouped_id != posts[-1].grouped_id
        ):
            break
        posts.append(post)
    return sorted(posts, key=lambda post: post.message_id)


def _page(scene: Scene, posts: Sequence[Post]) -> str:
    channel = scene.channel
    name, title = channel.username, plain(channel.title)
    bubbles = [
        bubble(scene, list(group))
        for _, group in groupby(posts, key=lambda post: post.grouped_id or -post.message_id)
    ]
    older = _more(name, "before", posts[0].message_id) if posts and posts[0].message_id > 1 else ""
    newer = (
        _more(name, "after", posts[-1].message_id)
        if posts and posts[-1].message_id < channel.newest_id
        else ""
    )
    content = "\n".join([older, *bubbles, newer]) if posts else NO_MESSAGES
    previous = f'<link rel="prev" href="/s/{name}?before={posts[0].message_id}">' if older else ""
    following = f'<link rel="next" href="/s/{name}?after={posts[-1].message_id}">' if newer else ""
    return f"""<!DOCTYPE html>
<html>
<head>
<meta charset="utf-8">
<title>{title} – simulated</title>
<meta property="og:title" content="{title}">
<link rel="canonical" href="/s/{name}">{previous}{following}
</head>
<body class="widget_frame_base tgme_webpreview">
<header class="tgme_header search_collapsed"><div class="tgme_header_info">
<a class="tgme_channel_info_header"
 href="{SITE}/{name}"><div class="tgme_header_title">{title}</div></a></div></header>
<div class="tgme_channel_info">
<div class="tgme_channel_info_header"><div class="tgme_channel_info_header_title_wrap">
<div class="tgme_channel_info_header_title"><span dir="auto">{title}</span></div></div>
<div class="tgme_channel_info_header_username"><a href="{SITE}/{name}">@{name}</a></div></div>
<div class="tgme_channel_info_counters"><div class="tgme_channel_info_counter">
<span class="counter_value">{shorten_number(channel.members)}</span> <span
 class="counter_type">subscribers</span></div></div>
<div class="tgme_channel_info_description">A simulated channel.</div>
</div>
<main class="tgme_main" data-url="/{name}"><div class="tgme_container">
<section class="tgme_channel_history js-message_history">
{content}
</section></div></main>
</body>
</html>
"""


def _more(name: str | None, direction: str, message_id: int) -> str:
    link = (
        f'<a href="/s/{name}?{direction}={message_id}" class="tme_messages_more js-messages_more" '
        f'data-{direction}="{message_id}"></a>'
    )
    return f'<div class="tgme_widget_message_centered js-messages_more_wrap">{link}</div>'
