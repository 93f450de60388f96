"""Copies of a story, a post, a digest or chosen posts: a field to copy from, or a file.

A script of ours gets the bare text and puts it into the clipboard.
"""

from starlette.responses import Response

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.sharing.content import SharedContent
from telegram_assistant.errors import Missing
from telegram_assistant.features.sharing.caught import caught_content
from telegram_assistant.features.sharing.content import (
    share_digest,
    share_post,
    share_posts,
    share_story,
)
from telegram_assistant.features.sharing.formats import SHARE_FILES, ShareFormat, write_content
from telegram_assistant.web.pages.posts.changes import load_caught_week
from telegram_assistant.web.views import PAGE_UNKNOWN, Content, TenantView, uuid_of

LINK = "link"
DOWNLOADS = frozenset({ShareFormat.CSV, ShareFormat.JSON})
MAX_POSTS = 100
MAX_REVISION_DIGITS = 9


async def copy_story(view: TenantView) -> Content | Response:
    post_id = view.post_id()
    content = await share_story(post_id, stores=view.stores, language=view.language.value)
    return _copy(view, content, path=f"/story/{post_id}", name=f"story-{post_id}")


async def copy_post(view: TenantView) -> Content | Response:
    """With `revision`, the quiet change that replaced this revision."""
    post_id = view.post_id()
    typed_text = view.query("revision")
    if typed_text and not (
        typed_text.isascii() and typed_text.isdecimal() and len(typed_text) <= MAX_REVISION_DIGITS
    ):
        raise Missing(PAGE_UNKNOWN)
    content = await share_post(post_id, stores=view.stores, revision=int(typed_text) if typed_text else None)
    return _copy(view, content, path=f"/post/{post_id}", name=f"post-{post_id}")


async def copy_digest(view: TenantView) -> Content | Response:
    digest_id = uuid_of(view.request.path_params["digest"])
    content = await share_digest(digest_id, own=view.own)
    return _copy(view, content, path=f"/digest/{digest_id}", name=f"digest-{digest_id}")


async def copy_caught(view: TenantView) -> Content | Response:
    """The quiet changes of a week with the most views."""
    caught_changes = await load_caught_week(view)
    path = f"/changes/caught/{caught_changes.last_day}"
    return _copy(view, caught_content(caught_changes), path=path, name=f"caught-{caught_changes.last_day}")


async def copy_posts(view: TenantView) -> Content | Response:
    """The posts that the address names, as an answer cites them."""
    try:
        post_ids = [PostId.parse(post) for post in view.request.query_params.getlist("post")[:MAX_POSTS]]
    except ValueError as error:
        raise Missing(PAGE_UNKNOWN) from error
    content = await share_posts(post_ids, reading=view.own.reading)
    return _copy(view, content, path="/ask", name="posts")


def _copy(view: TenantView, content: SharedContent, *, path: str, name: str) -> Content | Response:
    format_name = view.query("format")
    if format_name == LINK:
        return {"text": page_address(view, path), "copied_format": LINK, "path": path}
    if format_name not in set(ShareFormat):
        raise Missing(PAGE_UNKNOWN)
    share_format = ShareFormat(format_name)
    text, kind = write_content(content, share_format, language=view.language.value), SHARE_FILES[share_format]
    if share_format in DOWNLOADS:
        file_name = f"{name.replace('/', '-')}.{kind.ending}"
        headers = {"Content-Disposition": f'attachment; filename="{file_name}"'}
        return Response(text, media_type=kind.media_type, headers=headers)
    if view.is_fragment:
        return Response(text, media_type="text/plain")
    return {"text": text, "copied_format": share_format.value, "path": path}


def page_address(view: TenantView, path: str) -> str:
    """The whole address of a page of the tenant."""
    base = view.app.settings.web.base_url or str(view.request.base_url).rstrip("/")
    return f"{base}{view.url(path)}"
