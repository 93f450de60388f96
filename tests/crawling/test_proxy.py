"""The proxy of the browser: every trick, as a plain request and as a tunnel."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from urllib.parse import urlsplit

import pytest

from telegram_assistant.crawling.proxy import FilteringProxy, filtering_proxy
from telegram_assistant.outbound.guard import Guard
from testkit.web import EVERYTHING, OUTSIDE, Web, answer
from tests.crawling.tricks import TRICKS

TUNNELS = {name: trick for name, trick in TRICKS.items() if name != "header-smuggling"}
"""A tunnel has no headers to smuggle into."""
NONSENSE = [
    "",
    "GET",
    "GET /",
    "CONNECT news.example",
    "CONNECT :",
    "\x00\x01",
    "GET " + "a" * 100_000,
    "CONNECT news.example:x HTTP/1.1",
]
every_trick = pytest.mark.parametrize("trick", TRICKS.values(), ids=TRICKS)


@pytest.fixture
async def proxy(web: Web) -> AsyncIterator[FilteringProxy]:
    async with filtering_proxy(web.guard()) as running:
        yield running


async def ask(proxy: FilteringProxy, head: str, body: str = "") -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(f"{head}\r\n\r\n{body}".encode())
    async with asyncio.timeout(30):
        answered = (await reader.read()).decode()
    writer.close()
    return answered


async def test_a_page_of_the_public_web_comes_through(web: Web, proxy: FilteringProxy) -> None:
    web.outside.pages["/a"] = answer("Снег")
    answered = await ask(
        proxy,
        f"GET {web.url('/a')} HTTP/1.1\r\nHost: news.example\r\nProxy-Connection: keep-alive\r\nX-Kept: yes",
    )
    assert answered.startswith("HTTP/1.1 200")
    assert answered.endswith("Снег")
    assert web.outside.heads[0].startswith(
        f"GET /a HTTP/1.1\r\nHost: news.example:{web.port}\r\nConnection: close\r\nX-Kept: yes\r\n"
    )


async def test_a_tunnel_to_the_public_web_comes_through(web: Web, proxy: FilteringProxy) -> None:
    web.outside.pages["/a"] = answer("Снег")
    answered = await ask(
        proxy, f"CONNECT news.example:{web.port} HTTP/1.1\r\nHost: x", "GET /a HTTP/1.1\r\n\r\n"
    )
    assert answered.startswith("HTTP/1.1 200 Connected")
    assert answered.endswith("Снег")


async def test_without_the_guard_the_secret_would_be_read(web: Web) -> None:
    async with filtering_proxy(web.guard(EVERYTHING)) as open_proxy:
        assert "the secret" in await ask(open_proxy, f"GET http://127.0.0.1:{web.port}/ HTTP/1.1")


@every_trick
async def test_a_trick_in_a_plain_request_reaches_nothing(
    web: Web, proxy: FilteringProxy, trick: str
) -> None:
    answered = await ask(proxy, f"GET {trick.replace('{port}', str(web.port))} HTTP/1.1")
    assert not answered.startswith("HTTP/1.1 2")
    assert web.inside.connections == 0
    assert not any("127.0.0.1" in head for head in web.outside.heads)


@pytest.mark.parametrize("trick", TUNNELS.values(), ids=TUNNELS)
async def test_a_trick_in_a_tunnel_reaches_nothing(web: Web, proxy: FilteringProxy, trick: str) -> None:
    authority = urlsplit(
        trick.replace("{port}", str(web.port)).replace("[::1:", "::1:").replace("[localhost]", "localhost")
    ).netloc
    answered = await ask(proxy, f"CONNECT {authority or trick} HTTP/1.1")
    assert not answered.startswith("HTTP/1.1 2")
    assert web.inside.connections == web.outside.connections == 0


async def test_a_name_that_changes_its_mind_after_the_check_gains_nothing(web: Web) -> None:
    answers = iter([[OUTSIDE], ["127.0.0.1"], ["127.0.0.1"]])

    async def rebinding(_host: str) -> Sequence[str]:
        return next(answers)

    web.outside.pages["/"] = answer("outside")
    async with filtering_proxy(
        Guard(rebinding, frozenset({web.port}), web.guard().although_private)
    ) as proxy:
        assert (await ask(proxy, f"GET {web.url()} HTTP/1.1")).endswith("outside")
        assert "403" in await ask(proxy, f"GET {web.url()} HTTP/1.1")
        assert "403" in await ask(proxy, f"CONNECT news.example:{web.port} HTTP/1.1")
    assert web.inside.connections == 0


@pytest.mark.parametrize(
    "head",
    [
        "",
        "GET",
        "GET /",
        "CONNECT news.example",
        "CONNECT :",
        "\x00\x01",
        "GET " + "a" * 100_000,
        "CONNECT news.example:x HTTP/1.1",
    ],
)
async def test_nonsense_is_not_answered(web: Web, proxy: FilteringProxy, head: str) -> None:
    assert not (await ask(proxy, head)).startswith("HTTP/1.1 2")
    assert web.inside.connections == web.outside.connections == 0
