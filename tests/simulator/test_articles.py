"""The web around the demo world: pages that its posts link to, each as a real client gets it,
and the truth about them.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from html import unescape
from pathlib import Path
from typing import Any
from urllib.robotparser import RobotFileParser

import httpx
import pytest

from telegram_simulator.control.seeing import truth
from telegram_simulator.mtproto.crypto import RsaKey
from telegram_simulator.simulator import Options, Simulator
from telegram_simulator.world.article import PageKind
from telegram_simulator.world.demo.demo import Demo
from telegram_simulator.world.demo.links import read_page_id
from telegram_simulator.world.post import Photo, WebPage
from telegram_simulator.world.world import World
from testkit.servers import own_servers
from tests.simulator.serving import tga_sim, web_side

NOW = 1_794_700_000

type Told = dict[str, Any]


@pytest.fixture(scope="module")
def demo() -> Demo:
    return Demo(seed=1, present=NOW, clock=lambda: NOW)


@pytest.fixture(scope="module")
def pages(demo: Demo) -> list[Told]:
    return list(demo.pages())


@pytest.fixture
def sim(demo: Demo, rsa_key: RsaKey) -> Simulator:
    return Simulator(
        World(seed=1, clock=lambda: NOW, channels=demo.channels, press=demo.press()),
        rsa_key,
        Options(limits={}),
    )


@pytest.fixture
async def browser(sim: Simulator) -> AsyncIterator[httpx.AsyncClient]:
    async with web_side(sim) as url, httpx.AsyncClient(base_url=url, trust_env=False) as client:
        yield client


@pytest.fixture
def chromium() -> Iterator[str]:
    """The address of a browser's own door."""
    with own_servers("chromium") as servers:
        yield servers.environ()["TEST_CHROMIUM_URL"]


def of_kind(pages: list[Told], kind: PageKind, count: int = 1) -> list[Told]:
    matching = [page for page in pages if page["kind"] == kind.value]
    assert len(matching) >= count
    return matching[:count]


def words(html: str) -> str:
    """The visible text of a page."""
    body = re.sub(r"<(script|style|noscript)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", body)))


def test_every_kind_of_page_is_linked_to_in_both_languages(pages: list[Told]) -> None:
    assert {(page["kind"], page["language"]) for page in pages} == {
        (kind.value, language) for kind in PageKind for language in ("ru", "en")
    }
    shares = Counter(page["kind"] for page in pages)
    assert 0.7 < shares["article"] / shares.total() < 0.9


def test_the_truth_of_a_post_says_what_its_link_leads_to(demo: Demo, pages: list[Told]) -> None:
    by_page = {page["page"]: page for page in pages}
    linking = [
        post
        for post in truth(World(seed=1, clock=lambda: NOW, channels=demo.channels))
        if post.get("article")
    ]
    assert len(linking) > 1000
    for post in linking:
        page = dict(by_page[post["article"]["page"]])
        assert page.pop("paragraphs")
        assert post["article"] == page
        assert page["language"] == post["language"]
        assert datetime.fromisoformat(page["published"]).timestamp() < post["date"]


def test_a_post_links_to_its_page_and_previews_it(demo: Demo) -> None:
    linked = previewed = 0
    for channel in demo.channels[:12]:
        for number in range(1, channel.newest_id + 1):
            post, article = channel.get(number), channel.about(number).get("article")
            if post is None or article is None or post.grouped_id is not None:
                continue
            marked = {entity.kind: entity for entity in post.entities}
            assert (
                article["url"] in post.text if "url" in marked else marked["text_url"].url == article["url"]
            )
            linked += 1
            if isinstance(post.media, WebPage):
                assert (post.media.url, post.media.title) == (article["url"], article["title"])
                previewed += 1
    assert linked > 300
    assert previewed > 100


def test_addresses_of_pages_are_read_strictly() -> None:
    assert read_page_id("4d47e") == (0x4D47 * 16, "en")
    assert [read_page_id(wrong) for wrong in ("", "e", "4d47", "xyzr", "-1r", "4d_7r")] == [None] * 6


@pytest.mark.parametrize("language", ["ru", "en"])
async def test_an_article_has_its_facts_author_date_picture_and_address(
    browser: httpx.AsyncClient, pages: list[Told], language: str
) -> None:
    chosen = [page for page in of_kind(pages, PageKind.ARTICLE, 300) if page["language"] == language][:20]
    for page in chosen:
        answer = await browser.get(page["path"])
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        html, text = answer.text, words(answer.text)
        assert f'<html lang="{language}">' in html
        assert f'<link rel="canonical" href="{page["url"]}">' in html
        assert f'<time datetime="{page["published"]}">' in html
        assert page["title"] in text
        assert page["author"] in text
        assert len(page["paragraphs"]) >= 6
        assert all(paragraph in text for paragraph in page["paragraphs"])
    pictures = [await browser.get(f"/articles/{page['page']}.jpg") for page in chosen[:2]]
    assert all(
        picture.headers["content-type"] == "image/jpeg" and picture.content.startswith(b"\xff\xd8")
        for picture in pictures
    )


async def test_pages_tell_of_themselves_in_three_manners(
    browser: httpx.AsyncClient, pages: list[Told]
) -> None:
    manners: Counter[tuple[bool, bool]] = Counter()
    for page in of_kind(pages, PageKind.ARTICLE, 60):
        html = (await browser.get(page["path"])).text
        linked = re.search(r'<script type="application/ld\+json">(.*?)</script>', html)
        if linked:
            metadata = json.loads(linked[1])
            assert (metadata["headline"], metadata["author"]["name"], metadata["datePublished"]) == (
                page["title"],
                page["author"],
                page["published"],
            )
        manners["og:title" in html, linked is not None] += 1
    assert set(manners) == {(True, True), (True, False), (False, False)}


async def test_an_article_tells_the_facts_of_its_story_and_shows_the_picture_of_its_posts(demo: Demo) -> None:
    stories = {story["story"]: story for story in demo.stories()}
    articles = pictured = 0
    for channel in demo.channels[:12]:
        for number in range(1, channel.newest_id + 1):
            about, post = channel.about(number), channel.get(number)
            article = demo.page(about["article"]["page"]) if about.get("article") else None
            if article is None or about["role"] != "first" or "contradicts" in about:
                continue
            articles += 1
            text = " ".join((article.title, *article.paragraphs))
            names = [entity[article.language] for entity in stories[about["story"]]["entities"]]
            assert any(name[:3] in text for name in names) or not names
            if post is not None and isinstance(post.media, Photo) and post.grouped_id is None:
                pictured += post.media.file.file_id == article.picture.file_id
    assert articles > 50
    assert pictured > 10


async def test_a_page_built_by_script_has_nothing_to_read_without_it(
    browser: httpx.AsyncClient, pages: list[Told]
) -> None:
    (page,) = of_kind(pages, PageKind.SCRIPT)
    text = words((await browser.get(page["path"])).text)
    assert page["title"] not in text
    assert not any(paragraph in text for paragraph in page["paragraphs"])


async def test_a_browser_builds_the_page(sim: Simulator, pages: list[Told], chromium: str) -> None:
    (page,) = of_kind(pages, PageKind.SCRIPT)
    async with (
        web_side(sim) as url,
        httpx.AsyncClient(base_url=chromium, trust_env=False) as devtools,
        asyncio.timeout(20),
    ):
        tab = (await devtools.put(f"/json/new?{url}{page['path']}")).json()
        try:
            while not (title := await _title(devtools, tab["id"])).startswith(page["title"]):
                assert page["title"] not in title
                await asyncio.sleep(0.05)
        finally:
            await devtools.get(f"/json/close/{tab['id']}")


async def _title(devtools: httpx.AsyncClient, tab_id: str) -> str:
    tabs = (await devtools.get("/json/list")).json()
    return next(str(tab["title"]) for tab in tabs if tab["id"] == tab_id)


async def test_behind_a_paywall_only_the_beginning_is_shown(
    browser: httpx.AsyncClient, pages: list[Told]
) -> None:
    (page,) = of_kind(pages, PageKind.PAYWALL)
    html = (await browser.get(page["path"])).text
    first, *others = page["paragraphs"]
    assert first in words(html)
    assert not any(paragraph in html for paragraph in others)
    assert 'class="wall"' in html


async def test_robots_are_asked_to_leave_some_pages_alone(
    browser: httpx.AsyncClient, sim: Simulator, pages: list[Told]
) -> None:
    rules = RobotFileParser()
    rules.parse((await browser.get("/robots.txt")).text.splitlines())
    (closed,), (open_,) = of_kind(pages, PageKind.CLOSED), of_kind(pages, PageKind.ARTICLE)
    assert not rules.can_fetch("any", closed["path"])
    assert rules.can_fetch("any", open_["path"])
    assert rules.can_fetch("any", "/s/severny_vestnik")
    assert sim.counters.articles_served == {}
    assert (await browser.get(closed["path"])).status_code == 200
    assert sim.counters.articles_served == {"closed": 1}
    assert (await browser.get(closed["path"].replace("closed", "articles"))).status_code == 404


async def test_a_slow_page_takes_its_time(
    browser: httpx.AsyncClient, sim: Simulator, pages: list[Told]
) -> None:
    (page,) = of_kind(pages, PageKind.SLOW)
    assert sim.faults.slow_page_seconds > 10
    sim.faults.slow_page_seconds = 0.5
    with pytest.raises(httpx.ReadTimeout):
        await browser.get(page["path"], timeout=0.1)
    sim.faults.slow_page_seconds = 0.01
    assert page["title"] in words((await browser.get(page["path"])).text)


async def test_a_huge_page_is_streamed_and_begins_with_its_article(
    browser: httpx.AsyncClient, sim: Simulator, pages: list[Told]
) -> None:
    (page,) = of_kind(pages, PageKind.HUGE)
    size, first, largest = 0, b"", 0
    async with browser.stream("GET", page["path"]) as answer:
        assert "content-length" not in answer.headers
        async for chunk in answer.aiter_raw():
            size, first, largest = (
                size + len(chunk),
                first + (chunk if len(first) < 20_000 else b""),
                max(largest, len(chunk)),
            )
    assert size > sim.faults.huge_page_bytes > 40 * 2**20
    assert largest < 2**20
    assert all(paragraph in words(first.decode(errors="ignore")) for paragraph in page["paragraphs"])


async def test_some_links_lead_to_addresses_that_are_not_public(
    browser: httpx.AsyncClient, pages: list[Told]
) -> None:
    for page in of_kind(pages, PageKind.PRIVATE, 10):
        answer = await browser.get(page["path"])
        assert answer.status_code == 302
        assert re.match(
            r"http://(10\.|172\.16\.|192\.168\.|169\.254\.|\[fd|\[::ffff:10\.|0x0a)",
            answer.headers["location"],
        )


async def test_the_front_page_leads_to_the_newest_articles(browser: httpx.AsyncClient) -> None:
    for language, paper in (("ru", "Вестник дня"), ("en", "The Daily Ledger")):
        html = (await browser.get("/", params={"language": language})).text
        assert paper in html
        links = re.findall(r'<a href="(/(?:articles|closed)/\w+)">', html)
        assert len(links) == 24
        ordinary = [(await browser.get(link)).status_code for link in links[:3] if "closed" not in link]
        assert set(ordinary) <= {200, 302}


async def test_what_was_never_written_is_not_found_and_trouble_reaches_the_newspaper(
    browser: httpx.AsyncClient, sim: Simulator
) -> None:
    for path in (
        "/articles/ffffffr",
        "/articles/nonsense",
        "/articles/ffffffr.jpg",
        "/articles/ffffffr/content",
        "/closed/ffffffr",
    ):
        assert (await browser.get(path)).status_code == 404
    sim.faults.web_status = 503
    assert (await browser.get("/robots.txt")).status_code == 503


def test_links_lead_where_one_wants_and_nothing_else_changes(demo: Demo) -> None:
    elsewhere = Demo(seed=1, present=NOW, clock=lambda: NOW, site="http://127.0.0.1:8446")

    def list_posts(world: Demo) -> list[str]:
        return [
            repr(channel.get(number))
            for channel in world.channels[:6]
            for number in range(1, channel.newest_id + 1)
        ]

    texts, other = list_posts(demo), list_posts(elsewhere)
    assert texts != other
    for text, another in zip(texts, other, strict=True):
        if "news.example" not in text:
            assert text == another


def test_the_offline_demo_serves_what_it_links_to(tmp_path: Path) -> None:
    """The demo runs as its own process, on free ports."""
    with tga_sim(tmp_path, "demo", "--now", "2026-11-01T12:00:00Z", "--links-to", "here") as process:
        page = next(page for page in process.control.pages() if page["kind"] == "article")
        assert page["url"].startswith(process.where["web"])
        assert page["title"] in words(httpx.get(page["url"], trust_env=False).text)
        assert process.control.state()["articles_served"] == {"article": 1}
