"""Files of posts as browsers get them: types, ranges, caches, and nothing that runs."""

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from telegram_assistant.api.server import HttpServer
from telegram_assistant.assembly import ApiApp
from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.media.content_types import ContentType
from telegram_assistant.domain.media.showing import MediaUnavailable
from telegram_assistant.errors import Missing
from telegram_assistant.features.media.media import OpenedMedia
from telegram_assistant.settings import Settings
from telegram_assistant.stores.files import PIECE_BYTES
from telegram_assistant.stores.postgres.stores import SystemStores, TenantStores
from telegram_assistant.web.media import (
    ORIGINAL_PATH,
    THUMBNAIL_PATH,
    content_disposition,
    media_response,
    serve_media,
)
from testkit.factories import make_tenant
from tests.conftest import Admin
from tests.features.shelf import Shelf, draw_picture, open_requests_app

DATA = bytes(range(100))
ETAG = '"abc"'


async def read_range(first: int, last: int) -> AsyncIterator[bytes]:
    yield DATA[first : last + 1]


def media(
    *, content_type: ContentType = ContentType.JPEG, name: str = "photo.jpg", is_private: bool = False
) -> OpenedMedia:
    return OpenedMedia(
        etag="abc",
        size_bytes=len(DATA),
        content_type=content_type,
        download_name=name,
        is_private=is_private,
        read=read_range,
    )


async def respond(
    method: str = "GET", headers: dict[str, str] | None = None, *, opened: OpenedMedia | None = None
) -> httpx.Response:

    async def endpoint(request: Request) -> Response:
        return media_response(request.headers, request.method, opened or media())

    transport = httpx.ASGITransport(app=Starlette(routes=[Route("/", endpoint)]))
    async with httpx.AsyncClient(transport=transport, base_url="http://web") as client:
        return await client.request(method, "/", headers=headers)


async def test_a_whole_file_comes_with_its_type_its_name_and_its_size() -> None:
    answer = await respond()
    assert (answer.status_code, answer.content) == (200, DATA)
    assert answer.headers["content-type"] == "image/jpeg"
    assert answer.headers["content-length"] == "100"
    assert answer.headers["etag"] == ETAG
    assert answer.headers["accept-ranges"] == "bytes"
    assert (
        answer.headers["content-disposition"] == "inline; filename=\"photo.jpg\"; filename*=UTF-8''photo.jpg"
    )


async def test_head_tells_the_same_without_the_bytes() -> None:
    whole, head = await respond(), await respond("HEAD", {"Range": "bytes=0-9"})
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers == whole.headers


@pytest.mark.parametrize(
    "headers", [{}, {"Range": "bytes=0-1"}, {"Range": "bytes=500-"}, {"If-None-Match": ETAG}]
)
async def test_no_response_is_run_or_taken_for_another_type(headers: dict[str, str]) -> None:
    for method in ("GET", "HEAD"):
        answer = await respond(method, headers)
        assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_what_no_browser_should_show_is_an_attachment() -> None:
    answer = await respond(opened=media(content_type=ContentType.OTHER, name="page.html"))
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment; ")


async def test_files_of_private_channels_are_asked_for_again_each_time() -> None:
    assert (await respond()).headers["cache-control"] == "private, max-age=86400"
    assert (await respond(opened=media(is_private=True))).headers["cache-control"] == "private, no-cache"


@pytest.mark.parametrize(
    ("wanted", "sent"),
    [
        ("bytes=0-0", "0-0"),
        ("bytes=10-19", "10-19"),
        ("bytes=90-", "90-99"),
        ("bytes=0-", "0-99"),
        ("bytes=95-5000", "95-99"),
        ("bytes=-7", "93-99"),
        ("bytes=-5000", "0-99"),
        ("Bytes= 1-2 ", "1-2"),
    ],
)
async def test_a_range_is_sent_alone(wanted: str, sent: str) -> None:
    answer = await respond(headers={"Range": wanted})
    first, last = map(int, sent.split("-"))
    assert (answer.status_code, answer.content) == (206, DATA[first : last + 1])
    assert answer.headers["content-range"] == f"bytes {sent}/100"
    assert answer.headers["content-length"] == str(last - first + 1)


@pytest.mark.parametrize("wanted", ["bytes=100-", "bytes=100-200", "bytes=-0", f"bytes={'9' * 30}-"])
async def test_a_range_beyond_the_end_is_refused_with_the_size(wanted: str) -> None:
    answer = await respond(headers={"Range": wanted})
    assert (answer.status_code, answer.content) == (416, b"")
    assert answer.headers["content-range"] == "bytes */100"


@pytest.mark.parametrize(
    "wanted",
    [
        "bytes=9-3",
        "bytes=-",
        "bytes=a-b",
        "bytes=0-1,5-6",
        "lines=1-2",
        "bytes",
        f"bytes={'9' * 5000}-",
        "bytes=٣-٤",
    ],
)
async def test_a_range_that_makes_no_sense_or_is_several_gives_the_whole_file(wanted: str) -> None:
    response = media_response(Headers(raw=[(b"range", wanted.encode())]), "GET", media())
    assert (response.status_code, response.headers["content-length"]) == (200, "100")


@pytest.mark.parametrize(
    ("known", "status"),
    [(ETAG, 206), ('"other"', 200), (f"W/{ETAG}", 200), ("Mon, 02 Nov 2026 10:00:00 GMT", 200)],
)
async def test_a_range_is_sent_only_of_the_file_that_was_begun(known: str, status: int) -> None:
    assert (await respond(headers={"Range": "bytes=1-2", "If-Range": known})).status_code == status


@pytest.mark.parametrize("known", [ETAG, f"W/{ETAG}", f'"other", {ETAG}', "*"])
async def test_what_the_browser_has_is_not_sent_again(known: str) -> None:
    for headers in (dict[str, str](), {"Range": "bytes=0-9"}):
        answer = await respond(headers={"If-None-Match": known, **headers})
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", ETAG)
        assert answer.headers["cache-control"] == "private, max-age=86400"
    assert (await respond(headers={"If-None-Match": '"other"'})).status_code == 200


@given(st.text())
def test_any_name_fits_into_a_header_and_comes_out_as_it_was(name: str) -> None:
    name = name.encode("utf-8", "ignore").decode()
    match = re.fullmatch(
        r"attachment; filename=\"([^\"\\]*)\"; filename\*=UTF-8''([A-Za-z0-9%._~-]*)",
        content_disposition(name, is_inline=False),
    )
    assert match is not None
    assert match[1].isascii()
    assert match[1].isprintable()
    assert unquote(match[2]) == name


@pytest.fixture(scope="module")
async def app(installation: Settings, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ApiApp]:
    async with open_requests_app(installation, tmp_path_factory.mktemp("files")) as opened:
        yield opened


@pytest.fixture
async def shelf(app: ApiApp, system: SystemStores, admin: Admin, tmp_path: Path) -> Shelf:
    return Shelf(app, system, admin, tmp_path, await make_tenant(system))


@asynccontextmanager
async def browsing(shelf: Shelf, stores: TenantStores | None = None) -> AsyncIterator[httpx.AsyncClient]:
    """The endpoint on the real server, for one tenant."""

    async def say(_request: Request, error: Exception) -> Response:
        return PlainTextResponse(str(error), 404 if isinstance(error, Missing) else 409)

    endpoint = partial(serve_media, stores=stores or shelf.stores, app=shelf.app)
    site = Starlette(
        routes=[Route(path, endpoint) for path in (ORIGINAL_PATH, THUMBNAIL_PATH)],
        exception_handlers={Missing: say, MediaUnavailable: say},
    )
    server = HttpServer(site, request_timeout_seconds=10)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}") as client:
            yield client
        server.should_exit = True
        await serving


def path_of(post_id: PostId) -> str:
    return f"/media/{post_id}/0"


async def test_a_large_file_and_its_thumbnail_are_served(shelf: Shelf) -> None:
    data = draw_picture("BMP", size=(1200, 800))
    assert len(data) > 2 * PIECE_BYTES
    post_id = await shelf.post(data, file_name="зима.bmp")
    async with browsing(shelf) as client:
        whole = await client.get(path_of(post_id))
        assert (whole.status_code, whole.content, whole.headers["content-type"]) == (200, data, "image/bmp")
        part = await client.get(
            path_of(post_id),
            headers={
                "Range": f"bytes={PIECE_BYTES - 5}-{2 * PIECE_BYTES + 5}",
                "If-Range": whole.headers["etag"],
            },
        )
        assert (part.status_code, part.content) == (206, data[PIECE_BYTES - 5 : 2 * PIECE_BYTES + 6])
        assert (await client.head(path_of(post_id))).headers["content-length"] == str(len(data))
        small = await client.get(f"{path_of(post_id)}/s")
        assert (small.status_code, small.headers["content-type"]) == (200, "image/jpeg")
        assert len(small.content) < 30_000
        again = await client.get(f"{path_of(post_id)}/s", headers={"If-None-Match": small.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


async def test_a_page_that_calls_itself_a_picture_is_downloaded(shelf: Shelf) -> None:
    post_id = await shelf.post(
        b"<!doctype html><script>alert(document.cookie)</script>", file_name="photo.jpg"
    )
    async with browsing(shelf) as client:
        answer = await client.get(path_of(post_id))
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"].startswith("attachment; ")
        assert (await client.get(f"{path_of(post_id)}/s")).status_code == 409


async def test_to_another_tenant_and_under_any_other_path_there_is_nothing(shelf: Shelf) -> None:
    post_id = await shelf.post(draw_picture())
    async with browsing(shelf, await shelf.stranger()) as client:
        for path in (path_of(post_id), f"{path_of(post_id)}/s"):
            assert (await client.get(path)).status_code == 404
    others = (
        "0/1/0",
        "-1/1/0",
        "x/1/0",
        f"{2**63}/1/0",
        f"1/{'9' * 5000}/0",
        "1/1/32768",
        "1/1/01",
        f"{post_id}/0/xl",
        f"{post_id}/0/%00",
    )
    async with browsing(shelf) as client:
        for other in others:
            assert (await client.get(f"/media/{other}")).status_code == 404, other


async def test_a_file_that_is_lost_on_the_way_does_not_look_complete(shelf: Shelf) -> None:
    data = draw_picture("BMP", size=(3000, 3000))
    post_id = await shelf.post(data)
    async with browsing(shelf) as client:
        with pytest.raises(httpx.RemoteProtocolError):
            async with client.stream("GET", path_of(post_id)) as answer:
                assert answer.headers["content-length"] == str(len(data))
                await shelf.files.delete([sha256(data).digest()])
                async for _ in answer.aiter_bytes():
                    pass
