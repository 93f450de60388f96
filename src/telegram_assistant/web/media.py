"""Files of posts over HTTP: whole or in ranges, cached by browsers, and never run as anything."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from telegram_assistant.assembly import ApiApp
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.media.showing import ThumbnailSize
from telegram_assistant.errors import Missing
from telegram_assistant.features.media.media import NO_FILE, OpenedMedia, open_media, open_thumbnail
from telegram_assistant.stores.postgres.stores import TenantStores

ORIGINAL_PATH = "/media/{channel_id}/{message_id}/{ordinal}"
THUMBNAIL_PATH = f"{ORIGINAL_PATH}/{{size}}"
NUMBER = re.compile("0|[1-9][0-9]{0,18}")
MAX_ID = 2**63 - 1
MAX_ORDINAL = 2**15 - 1
ONE_RANGE = re.compile("bytes=[ \t]*([0-9]{0,30})-([0-9]{0,30})[ \t]*", re.IGNORECASE)
# Whatever the bytes turn out to be, a browser gives them no origin, no scripts, and no other type than ours.
SAFETY = {"Content-Security-Policy": "sandbox; default-src 'none'", "X-Content-Type-Options": "nosniff"}
PUBLIC, PRIVATE = "private, max-age=86400", "private, no-cache"
"""Values of Cache-Control.

Media of a private channel are asked for each time: a person who has lost access must not see them any more.
"""


async def serve_media(request: Request, *, stores: TenantStores, app: ApiApp) -> Response:
    """Answers GET and HEAD at ORIGINAL_PATH and THUMBNAIL_PATH.

    Raises Missing, MediaUnavailable or Busy like the features.
    """
    path_parameters = request.path_params
    post_id, ordinal = file_in_path(path_parameters)
    if "size" not in path_parameters:
        media = await open_media(post_id, ordinal, stores=stores, files=app.files)
    elif path_parameters["size"] in set(ThumbnailSize):
        size = ThumbnailSize(path_parameters["size"])
        media = await open_thumbnail(
            post_id, ordinal, size, stores=stores, files=app.files, thumbnails=app.thumbnails
        )
    else:
        raise Missing(NO_FILE)
    return media_response(request.headers, request.method, media)


def file_in_path(path_parameters: Mapping[str, str]) -> tuple[PostId, int]:
    """The post and the number of its file that a path names. Raises Missing for what is no number."""
    post_id = PostId(
        ChannelId(_number(path_parameters["channel_id"], MAX_ID)),
        MessageId(_number(path_parameters["message_id"], MAX_ID)),
    )
    return post_id, _number(path_parameters["ordinal"], MAX_ORDINAL)


def media_response(request_headers: Headers, method: str, media: OpenedMedia) -> Response:
    """The response to a GET or HEAD.

    Several ranges at once are not worth their trouble: then the whole file is sent, as RFC 9110 allows.
    """
    headers = {
        **SAFETY,
        "ETag": f'"{media.etag}"',
        "Cache-Control": PRIVATE if media.is_private else PUBLIC,
        "Accept-Ranges": "bytes",
        "Content-Disposition": content_disposition(
            media.download_name, is_inline=media.content_type.is_inline
        ),
    }
    if is_known(request_headers, headers["ETag"]):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    requested_range = (
        _requested_range(request_headers, headers["ETag"], media.size_bytes) if method == "GET" else None
    )
    status, sent_range = (
        (HTTPStatus.OK, range(media.size_bytes))
        if requested_range is None
        else (HTTPStatus.PARTIAL_CONTENT, requested_range)
    )
    if not sent_range:
        refusal_headers = {
            **SAFETY,
            "Content-Range": f"bytes */{media.size_bytes}",
            "Cache-Control": "no-store",
        }
        return Response(status_code=HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, headers=refusal_headers)
    headers["Content-Length"] = str(len(sent_range))
    if requested_range is not None:
        headers["Content-Range"] = f"bytes {sent_range[0]}-{sent_range[-1]}/{media.size_bytes}"
    if method == "HEAD":
        return Response(status_code=status, headers=headers, media_type=media.content_type)
    return StreamingResponse(
        media.read(sent_range[0], sent_range[-1]),
        status_code=status,
        headers=headers,
        media_type=media.content_type,
    )


def content_disposition(name: str, *, is_inline: bool) -> str:
    """The header that names a file (RFC 6266): plainly for old programs, and in full,
    encoded as RFC 8187 says.
    """
    ascii_name = re.sub(r'[^ -~]|["\\%]', "_", name)
    return (
        f'{"inline" if is_inline else "attachment"}; filename="{ascii_name}"; '
        f"filename*=UTF-8''{quote(name, safe='')}"
    )


def is_known(headers: Headers, etag: str) -> bool:
    """Whether the client has these bytes (If-None-Match)."""
    tags = {
        tag.strip().removeprefix("W/")
        for header in headers.getlist("If-None-Match")
        for tag in header.split(",")
    }
    return not tags.isdisjoint({etag, "*"})


def _requested_range(headers: Headers, etag: str, size_bytes: int) -> range | None:
    """The bytes that are wanted, perhaps none of those that there are.

    Returns None for all, or if the header makes no sense.
    """
    match = ONE_RANGE.fullmatch(headers.get("Range", ""))
    if match is None or headers.get("If-Range", etag) != etag:
        return None
    file_range, first_byte, last_byte = range(size_bytes), match[1], match[2]
    if not first_byte:
        return file_range[size_bytes - min(int(last_byte), size_bytes) :] if last_byte else None
    if last_byte and int(last_byte) < int(first_byte):
        return None
    return file_range[int(first_byte) : int(last_byte) + 1 if last_byte else None]


def _number(text: str, max_value: int) -> int:
    if not NUMBER.fullmatch(text) or int(text) > max_value:
        raise Missing(NO_FILE)
    return int(text)
