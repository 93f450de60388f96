"""One page over plain HTTP: its limits, and what a server may do to us."""

import asyncio
import gzip
import ssl
import subprocess
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from telegram_assistant.crawling.fetching import USER_AGENT, PageFetcher
from telegram_assistant.domain.understanding.pages import PageStatus, Unreadable
from telegram_assistant.outbound.guard import Target
from testkit.web import OUTSIDE, Web, answer, hang, redirect, small_web
from tests.outbound.test_guard import at_once, get, refusal_status

MAX_BYTES = 100_000


@pytest.fixture
async def fetcher(web: Web) -> AsyncIterator[PageFetcher]:
    opened = PageFetcher(web.guard(), max_bytes=MAX_BYTES)
    yield opened
    await opened.close()


async def test_who_asks_says_so_and_sends_nothing_else(web: Web, fetcher: PageFetcher) -> None:
    web.outside.pages["/"] = answer("<p>", Set_Cookie="who=me")
    await get(fetcher, web.url())
    await get(fetcher, web.url())
    assert all(
        f"User-Agent: {USER_AGENT}" in head and f"Host: news.example:{web.port}" in head
        for head in web.outside.heads
    )
    assert not any(
        word in head for head in web.outside.heads for word in ("Cookie", "Referer", "Authorization")
    )


async def test_an_answer_that_is_too_large_is_left(web: Web, fetcher: PageFetcher) -> None:
    web.outside.pages["/"] = answer(b"a" * (MAX_BYTES + 1))
    assert await refusal_status(fetcher, web.url()) == PageStatus.TOO_LARGE


async def test_an_answer_without_an_end_is_left(web: Web, fetcher: PageFetcher) -> None:
    async def endless(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        while True:
            writer.write(b"a" * 65536)
            await writer.drain()

    web.outside.pages["/"] = endless
    assert await refusal_status(fetcher, web.url()) == PageStatus.TOO_LARGE


async def test_a_small_answer_that_unpacks_into_a_large_one_is_left(web: Web, fetcher: PageFetcher) -> None:
    bomb = gzip.compress(b"a" * 50_000_000)
    assert len(bomb) < MAX_BYTES
    web.outside.pages["/"] = answer(bomb, Content_Encoding="gzip")
    assert await refusal_status(fetcher, web.url()) == PageStatus.TOO_LARGE


@pytest.mark.parametrize("endless", ["nothing", "after the end"])
async def test_packed_bytes_count_while_nothing_comes_of_them(
    web: Web, fetcher: PageFetcher, endless: str
) -> None:
    sent = 0

    async def pack(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n")
        writer.write(gzip.compress(b"a") if endless == "after the end" else gzip.compress(b"")[:10])
        while sent < 10 * MAX_BYTES:
            writer.write(b"\x00\x00\x00\xff\xff" * 1000)  # a block that holds nothing
            sent += 5000
            await writer.drain()

    web.outside.pages["/"] = pack
    if endless == "nothing":
        assert await refusal_status(fetcher, web.url()) == PageStatus.TOO_LARGE
    else:
        assert (await get(fetcher, web.url())).body == b"a"


async def test_only_the_first_bytes_of_a_large_answer_may_be_asked_for(
    web: Web, fetcher: PageFetcher
) -> None:
    web.outside.pages |= {
        "/": answer(b"ab" * MAX_BYTES),
        "/packed": answer(gzip.compress(b"ab" * MAX_BYTES), Content_Encoding="gzip"),
    }
    for path in ("/", "/packed"):
        assert (await fetcher.get(web.url(path), before=at_once, first_bytes=5)).body == b"ababa"


async def test_a_packed_answer_is_unpacked(web: Web, fetcher: PageFetcher) -> None:
    web.outside.pages["/"] = answer(gzip.compress("Снег".encode()), Content_Encoding="gzip")
    assert (await get(fetcher, web.url())).body.decode() == "Снег"


@pytest.mark.parametrize("encoding", ["br", "gzip, gzip", "deflate", "nonsense"])
async def test_a_packing_that_was_not_asked_for_is_left(
    web: Web, fetcher: PageFetcher, encoding: str
) -> None:
    web.outside.pages["/"] = answer(b"\x00\x01", Content_Encoding=encoding)
    assert await refusal_status(fetcher, web.url()) == PageStatus.FAILED


@pytest.mark.parametrize(
    "wrong",
    [
        b"",
        b"hello\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
        b"HTTP/1.1 200 OK\r\n" + b"X: " + b"a" * 300_000 + b"\r\n\r\n",
    ],
    ids=["silence", "no-http", "cut-off", "not-packed", "endless-header"],
)
async def test_a_server_that_talks_nonsense_is_left(web: Web, fetcher: PageFetcher, wrong: bytes) -> None:
    async def nonsense(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(wrong)

    web.outside.pages["/"] = nonsense
    assert await refusal_status(fetcher, web.url()) == PageStatus.FAILED


@pytest.mark.parametrize(
    "kind", ["application/pdf", "image/png", "application/octet-stream", "video/mp4", "application/json"]
)
async def test_what_is_no_page_is_not_read(web: Web, fetcher: PageFetcher, kind: str) -> None:
    web.outside.pages["/"] = answer("...", kind=kind)
    assert await refusal_status(fetcher, web.url()) == PageStatus.NOT_A_PAGE


async def test_redirects_end(web: Web, fetcher: PageFetcher) -> None:
    web.outside.pages["/"] = redirect("/")
    assert await refusal_status(fetcher, web.url()) == PageStatus.FAILED
    assert web.outside.count("/") == 6


async def test_a_redirect_is_followed_and_the_end_is_known(web: Web, fetcher: PageFetcher) -> None:
    web.names["short.example"] = [OUTSIDE]
    web.outside.pages |= {"/x": redirect(web.url("/a#part")), "/a": answer("<p>")}
    assert (await get(fetcher, web.url("/x", host="short.example"))).target.url == web.url("/a")


async def test_somebody_is_asked_before_every_hop(web: Web, fetcher: PageFetcher) -> None:
    web.outside.pages |= {"/x": redirect("/a"), "/a": answer("<p>")}
    paths: list[str] = []

    async def note(target: Target) -> None:
        paths.append(target.path)

    await fetcher.get(web.url("/x"), before=note)
    assert paths == ["/x", "/a"]


async def test_a_server_that_is_not_there_is_a_failure(web: Web, fetcher: PageFetcher) -> None:
    assert await refusal_status(fetcher, web.url(host="unknown.example")) == PageStatus.FAILED
    closed = PageFetcher(replace(web.guard(), ports=frozenset({1})), max_bytes=10)
    assert await refusal_status(closed, "http://news.example:1/") == PageStatus.FAILED


async def test_the_caller_may_stop_waiting_at_any_time(web: Web, fetcher: PageFetcher) -> None:
    web.outside.pages["/"] = hang
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await get(fetcher, web.url())


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tls") / "news.pem"
    subject = ["-subj", "/CN=news.example", "-addext", "subjectAltName=DNS:news.example"]
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-keyout",
        str(path),
        "-out",
        f"{path}.crt",
        *subject,
    ]
    subprocess.run(command, check=True, capture_output=True)
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path


async def test_tls_asks_for_the_name_although_an_address_is_connected_to(certificate: Path) -> None:
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(certificate)
    trusting = ssl.create_default_context(cafile=certificate)
    async with small_web({"other.example": [OUTSIDE]}, tls=serving) as web:
        web.outside.pages["/"] = answer("secure")
        fetcher = PageFetcher(web.guard(), max_bytes=100, ssl_context=trusting)
        assert (await get(fetcher, web.url(scheme="https"))).body == b"secure"
        assert (
            await refusal_status(fetcher, web.url(scheme="https", host="other.example")) == PageStatus.FAILED
        )
        distrusting = PageFetcher(web.guard(), max_bytes=100)
        with pytest.raises(Unreadable):
            await get(distrusting, web.url(scheme="https"))
