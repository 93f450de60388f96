"""The feeds that feed readers open at a secret address, and their pictures, without a login."""

import asyncio
import hashlib
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from functools import partial
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.responses import Response

from telegram_assistant.errors import Missing
from telegram_assistant.features.receivers.feed_pictures import PictureOpener, open_picture, sign_picture
from telegram_assistant.features.receivers.rss_feeds import NO_FEED, find_change, find_feed, read_feed
from telegram_assistant.settings import Settings
from telegram_assistant.stores.postgres.receivers.feed_addresses import FoundFeed
from telegram_assistant.stores.postgres.receivers.feed_posts import FeedPicture
from telegram_assistant.web.feeds import FORMATS
from telegram_assistant.web.media import file_in_path, is_known, media_response
from telegram_assistant.web.views import View, uuid_of

PICTURES = "/feeds/pictures"
PICTURE_PATH = f"{PICTURES}/{{address}}/{{channel_id}}/{{message_id}}/{{ordinal}}/{{signature}}"


async def show(view: View) -> Response:
    token, _, kind = view.request.path_params["file"].rpartition(".")
    if kind not in FORMATS:
        raise Missing(NO_FEED)
    write, media_type = FORMATS[kind]
    feed = await find_feed(token, directory=view.app.api.feed_directory)
    own = None if feed.user_id is None else view.app.person(feed.tenant_id, feed.user_id)
    settings = view.app.settings
    content = await read_feed(
        feed, stores=view.app.tenant(feed.tenant_id), own=own, now=view.now, base_url=settings.pages_url
    )
    body = await asyncio.to_thread(
        write, content, partial(_picture_address, feed, settings)
    )  # fifty texts as their authors like them
    etag = f'"{hashlib.sha256(body).hexdigest()}"'
    changed_at = await find_change(feed, kind, etag, versions=view.app.feed_versions, now=view.now)
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    if changed_at is not None:
        headers["Last-Modified"] = format_datetime(changed_at, usegmt=True)
    if _is_unchanged(view.request.headers, etag, changed_at):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    if view.request.method == "HEAD":
        return Response(headers={**headers, "Content-Length": str(len(body))}, media_type=media_type)
    return Response(body, headers=headers, media_type=media_type)


async def show_picture(view: View) -> Response:
    post_id, ordinal = file_in_path(view.request.path_params)
    opener = PictureOpener(
        directory=view.app.api.feed_directory,
        tenant=view.app.tenant,
        files=view.app.files,
        thumbnails=view.app.thumbnails,
        secret_key=_secret_key(view.app.settings),
    )
    address_id, signature = (
        uuid_of(view.request.path_params["address"]),
        view.request.path_params["signature"],
    )
    media = await open_picture(address_id, FeedPicture(post_id, ordinal), signature, opener=opener)
    return media_response(view.request.headers, view.request.method, media)


def picture_path(feed: FoundFeed, settings: Settings, picture: FeedPicture) -> str:
    signature = sign_picture(feed, picture, secret_key=_secret_key(settings))
    return f"{PICTURES}/{feed.address_id}/{picture.post_id}/{picture.ordinal}/{signature}"


def _picture_address(feed: FoundFeed, settings: Settings, picture: FeedPicture) -> str:
    return settings.pages_url + picture_path(feed, settings, picture)


def _secret_key(settings: Settings) -> bytes:
    return settings.web.secret_key.get_secret_value().encode()


def _is_unchanged(headers: Headers, etag: str, changed_at: datetime | None) -> bool:
    """Whether the reader has this feed. If it names an ETag, its time does not count (RFC 9110)."""
    if "If-None-Match" in headers:
        return is_known(headers, etag)
    try:
        known_at = parsedate_to_datetime(headers.get("If-Modified-Since", ""))
    except ValueError:
        return False
    return changed_at is not None and changed_at <= (
        known_at if known_at.tzinfo else known_at.replace(tzinfo=UTC)
    )
