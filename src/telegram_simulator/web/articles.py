"""The pages that posts link to. Most are articles; the others are what a crawler has to be careful with."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from telegram_simulator.simulator import Simulator
from telegram_simulator.web.newspaper import (
    article_page,
    beginning,
    comments,
    ending,
    front_page,
    script_page,
)
from telegram_simulator.web.trouble import Answer, with_faults
from telegram_simulator.world.article import Article, PageKind

ROBOTS = "User-agent: *\nDisallow: /closed/\nAllow: /\n"
PRIVATE_ADDRESSES = (
    *(
        "http://10.0.0.7/admin",
        "http://192.168.1.1/setup",
        "http://169.254.169.254/latest/meta-data/",
        "http://172.16.0.3:8500/v1/kv/",
    ),
    *("http://[fd00::7]/", "http://[::ffff:10.0.0.7]/admin", "http://0x0a000007/"),
)
"""Internal addresses to which a page redirects; a careful crawler does not follow."""
CHUNK = 64 * 2**10


def newspaper(simulator: Simulator) -> list[Route]:
    """The routes of the newspaper: its front page, its articles and its robots.txt."""
    press = simulator.world.press

    def find_article(request: Request) -> Article | None:
        return press.page(request.path_params["page"])

    async def front(request: Request) -> Response:
        language = "en" if request.query_params.get("language") == "en" else "ru"
        return _html(front_page(articles)) if (articles := press.newest(language)) else _nothing()

    async def page(request: Request) -> Response:
        article = find_article(request)
        if article is None or article.path != request.url.path:
            return _nothing()
        simulator.counters.articles_served[article.kind.value] += 1
        if article.kind is PageKind.SLOW:
            await asyncio.sleep(simulator.faults.slow_page_seconds)
        return _answer(article, simulator.faults.huge_page_bytes)

    async def content(request: Request) -> Response:
        """The content that the script of a page loads."""
        article = find_article(request)
        return (
            JSONResponse({"html": article_page(article)})
            if article is not None and article.kind is PageKind.SCRIPT
            else _nothing()
        )

    async def picture(request: Request) -> Response:
        article = find_article(request)
        return (
            _nothing()
            if article is None
            else Response(simulator.files.whole(article.picture), media_type=article.picture.kind.value)
        )

    async def robots(_request: Request) -> Response:
        return PlainTextResponse(ROBOTS)

    answers: Sequence[tuple[str, Answer]] = (
        ("/", front),
        ("/robots.txt", robots),
        ("/articles/{page}.jpg", picture),
        ("/articles/{page}/content", content),
        ("/articles/{page}", page),
        ("/closed/{page}", page),
    )
    return [Route(path, with_faults(simulator, answer)) for path, answer in answers]


def _answer(article: Article, huge_page_bytes: int) -> Response:
    match article.kind:
        case PageKind.SCRIPT:
            return _html(script_page(article))
        case PageKind.PAYWALL:
            first_section, *_ = article.sections
            return _html(
                article_page(
                    replace(
                        article, sections=(first_section._replace(paragraphs=first_section.paragraphs[:1]),)
                    )
                )
            )
        case PageKind.PRIVATE:
            return RedirectResponse(
                PRIVATE_ADDRESSES[int(article.page_id[:-1], 16) % len(PRIVATE_ADDRESSES)], status_code=302
            )
        case PageKind.HUGE:
            return StreamingResponse(
                _endless(article, huge_page_bytes), media_type="text/html; charset=utf-8"
            )
    return _html(article_page(article))


async def _endless(article: Article, size_bytes: int) -> AsyncIterator[bytes]:
    """The article, and after it the same comments again and again: the page is never held as a whole."""
    head, foot, block = (
        beginning(article).encode(),
        ending(article).encode(),
        comments(article, CHUNK).encode(),
    )
    yield head
    for _ in range(max(size_bytes - len(head) - len(foot), 0) // len(block) + 1):
        yield block
    yield foot


def _html(page: str) -> Response:
    return HTMLResponse(page)


def _nothing() -> Response:
    return PlainTextResponse("there is no such page", status_code=404)
