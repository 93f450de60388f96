"""Pages that need a browser: asked of another process, and read without it when it is away."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from telegram_assistant.crawling.readers import Readers
from telegram_assistant.crawling.rendering import Load, Renderer, serving
from telegram_assistant.domain.understanding.pages import PageStatus, Unreadable
from telegram_assistant.reasons import quote
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.engines import free_port
from testkit.web import Web, answer
from tests.crawling.test_extraction import NEWS, page
from tests.stages.reading import reading_posts

SHELL = (
    '<html><head><title>Лента</title></head><body><div id="root"></div><script '
    'src="/app.js"></script></body></html>'
)


@pytest.fixture(scope="module")
async def readers() -> AsyncIterator[Readers]:
    running = Readers(at_once=1, max_seconds=20)
    yield running
    await running.close()


@pytest.mark.turns("CRAWLER_ADDRESS")
async def test_a_browser_reads_what_scripts_build_and_nothing_else(
    system: SystemStores, database: dict[str, str], readers: Readers
) -> None:
    opened: list[str] = []

    async def load(url: str) -> tuple[str, str]:
        opened.append(url)
        return url, NEWS

    address = f"127.0.0.1:{free_port()}"
    async with reading_posts(system, database, readers, CRAWLER_ADDRESS=address) as reading:
        reading.web.outside.pages["/app"] = answer(SHELL)
        alone = await reading.reader.read(reading.url("/app"))
        assert (alone.status, alone.title) == (PageStatus.EMPTY, "Лента")
        assert "unreachable" in str(alone.why)
        async with serving(load, address, guard=reading.web.guard(), max_bytes=100_000):
            built, plain = (
                await reading.reader.read(reading.url("/app")),
                await reading.reader.read(reading.url("/a")),
            )
        assert [(article.title, article.by_browser) for article in (built, plain)] == [
            ("Мост закрыт", True),
            ("Мост закрыт", False),
        ]
        assert opened == [reading.url("/app")]


async def test_what_the_browser_shows_is_what_is_read(web: Web, readers: Readers) -> None:
    async def load(url: str) -> tuple[str, str]:
        return f"{url}?page=1", NEWS

    async with serving(load, "127.0.0.1:0", guard=web.guard(), max_bytes=100_000) as port:
        renderer = Renderer(f"127.0.0.1:{port}", guard=web.guard(), max_bytes=100_000)
        shell = page(SHELL)
        rendered = await renderer.render(
            type(shell)(web.guard().target(web.url("/app")), 200, "text/html", "utf-8", shell.body)
        )
    assert rendered.target.url == web.url("/app?page=1")
    assert (await readers.extract(rendered)).title == "Мост закрыт"


@pytest.mark.parametrize("ended_at", ["http://127.0.0.1/", "file:///etc/passwd", "about:blank"])
async def test_a_page_that_ends_up_elsewhere_is_not_believed(web: Web, ended_at: str) -> None:
    async def load(_url: str) -> tuple[str, str]:
        return ended_at, NEWS

    with pytest.raises(Unreadable):
        await render_shell(web, load)


async def test_trouble_of_the_browser_is_told_in_words(web: Web) -> None:
    async def fails(_url: str) -> tuple[str, str]:
        raise Unreadable(PageStatus.FAILED, quote("the browser could not open it"))

    async def large(url: str) -> tuple[str, str]:
        return url, "a" * 200_000

    with pytest.raises(Unreadable, match="could not open"):
        await render_shell(web, fails)
    with pytest.raises(Unreadable, match="larger"):
        await render_shell(web, large)


async def test_a_browser_that_is_away_is_no_disaster(web: Web) -> None:
    shell = page(SHELL)
    with pytest.raises(Unreadable, match="unreachable"):
        await Renderer("127.0.0.1:1", guard=web.guard(), max_bytes=1000).render(shell)


async def render_shell(web: Web, load: Load) -> None:
    shell = page(SHELL)
    async with serving(load, "127.0.0.1:0", guard=web.guard(), max_bytes=100_000) as port:
        renderer = Renderer(f"127.0.0.1:{port}", guard=web.guard(), max_bytes=100_000)
        await renderer.render(
            type(shell)(web.guard().target(web.url("/app")), 200, "text/html", "utf-8", shell.body)
        )


@pytest.mark.parametrize(
    "question",
    [
        b"\n",
        b"{}\n",
        b"[]\n",
        b'{"url": 5}\n',
        b'{"url": "http://127.0.0.1/"}\n',
        b'{"url": "file:///etc/passwd"}\n',
        b"x" * 50_000,
    ],
)
async def test_the_process_with_the_browser_opens_only_what_the_guard_allows(
    web: Web, question: bytes
) -> None:
    opened: list[str] = []

    async def load(url: str) -> tuple[str, str]:
        opened.append(url)
        return url, ""

    async with serving(load, "127.0.0.1:0", guard=web.guard(), max_bytes=1000) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(question)
        writer.write_eof()
        assert b"html" not in await reader.read()
        writer.close()
    assert opened == []
