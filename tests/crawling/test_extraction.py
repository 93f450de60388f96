"""Extraction of articles from pages, including hostile pages."""

import os
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from telegram_assistant.crawling.extraction import extract
from telegram_assistant.crawling.fetching import FetchedResponse
from telegram_assistant.crawling.readers import Readers
from telegram_assistant.domain.understanding.pages import Extracted, Unreadable
from telegram_assistant.outbound.guard import Target

PARAGRAPH = (
    "Городские службы закрыли мост через реку на ремонт до конца недели, объезд организован по набережной. "
    * 3
)
NEWS = f"""<!DOCTYPE html><html lang="ru"><head><title>Мост закрыт - Новости</title>
<link rel="canonical" href="https://news.example/news/most"><meta property="og:image" content="/most.jpg">
<meta property="og:title" content="Мост закрыт">
<meta name="author" content="Анна Петрова">
<meta property="article:published_time" content="2026-10-30T08:00:00+03:00"></head>
<body><nav><a href="/">Главная</a><a href="/sport">Спорт</a></nav>
<article><h1>Мост закрыт</h1><p>{PARAGRAPH}</p><p>{PARAGRAPH}</p></article>
<footer>Все права защищены</footer></body></html>"""
ADDRESS = Target("https", "news.example", 443, "/a?utm_source=tg")


def page(html: str | bytes, charset: str | None = "utf-8") -> FetchedResponse:
    return FetchedResponse(
        ADDRESS, 200, "text/html", charset, html.encode() if isinstance(html, str) else html
    )


@pytest.fixture(scope="module")
async def readers() -> AsyncIterator[Readers]:
    running = Readers(at_once=1, max_seconds=10)
    yield running
    await running.close()


async def test_title_author_date_text_language_and_image_are_found(readers: Readers) -> None:
    article = await readers.extract(page(NEWS))
    assert (article.title, article.author, article.published_on, article.lang) == (
        "Мост закрыт",
        "Анна Петрова",
        "2026-10-30",
        "ru",
    )
    assert article.image_url == "https://news.example/most.jpg"
    assert article.canonical_url == "https://news.example/news/most"
    assert "объезд организован" in article.text
    assert "Спорт" not in article.text
    assert not article.needs_browser


@pytest.mark.parametrize(
    ("charset", "declared"),
    [("windows-1251", "windows-1251"), ("koi8-r", "koi8-r"), ("utf-8", None), ("utf-8", "no-such-charset")],
)
async def test_letters_are_read_in_the_charset_that_the_server_names(
    readers: Readers, charset: str, declared: str | None
) -> None:
    assert (await readers.extract(page(NEWS.encode(charset), declared))).title == "Мост закрыт"


@pytest.mark.parametrize(
    "html",
    [
        "",
        "<p>",
        "<html><body><div id=root></div></body></html>",
        "<html><head><title>Заголовок</title></head></html>",
    ],
)
async def test_a_page_without_text_is_empty(readers: Readers, html: str) -> None:
    article = await readers.extract(page(html))
    assert article.text == ""
    assert not article.needs_browser


async def test_a_page_that_scripts_would_build_needs_a_browser(readers: Readers) -> None:
    article = await readers.extract(
        page(
            '<html><head><title>Лента</title></head><body><div id="root"></div><script '
            'src="/app.js"></script></body></html>'
        )
    )
    assert article.needs_browser
    assert article.title == "Лента"


@pytest.mark.parametrize("day", ["2126-01-01", "0000-00-00", "yesterday"])
def test_a_day_that_has_not_been_is_no_date(day: str) -> None:
    assert (
        extract(NEWS.replace("2026-10-30T08:00:00+03:00", day).encode(), "utf-8", ADDRESS.url).published_on
        is None
    )


@pytest.mark.parametrize(
    "address",
    ["javascript:alert(1)", "data:image/png;base64,AA", "file:///etc/passwd", "http://[", "a" * 5000],
)
def test_a_picture_that_is_no_web_address_is_none(address: str) -> None:
    image_url = extract(NEWS.replace("/most.jpg", address).encode(), "utf-8", ADDRESS.url).image_url
    assert image_url is None


HOSTILE = {
    "deep": "<div>" * 100_000 + "x",
    "tables": "<table>" * 5_000 + "x",
    "lists": "<ul><li>" * 20_000 + "x",
    "attributes": "<p " + " ".join(f'a{number}="b"' for number in range(5_000)) + ">",
    "entities": '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><p>&b;</p>',
    "comments": "<!--" * 100_000,
    "zeros": "<p>a\x00b</p>" * 1000,
    "nested-json": '<script type="application/ld+json">' + "[" * 20_000 + "</script><p>a",
    "metas": '<meta property="og:title" content="a">' * 20_000,
    "lone-surrogates": "<title>&#xD800;&#xDFFF;</title><p>&#xD800;",
}


@pytest.mark.parametrize("html", HOSTILE.values(), ids=HOSTILE)
async def test_a_hostile_page_is_read_or_given_up_and_the_next_one_is_read(
    readers: Readers, html: str
) -> None:
    with suppress(Unreadable):
        article = await readers.extract(page(html))
        assert "\x00" not in f"{article.text}{article.title}".encode().decode()
    assert (await readers.extract(page(NEWS))).title == "Мост закрыт"


async def test_a_page_cannot_make_the_parser_read_a_file(readers: Readers, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hidden words", encoding="utf-8")
    article = await readers.extract(
        page(
            "<!DOCTYPE x [<!ENTITY a SYSTEM "
            f'"file://{tmp_path}/secret">]><article><p>{PARAGRAPH}&a;</p></article>'
        )
    )
    assert "hidden words" not in article.text


async def test_a_page_that_keeps_its_reader_busy_costs_a_reader_and_no_more() -> None:
    readers = Readers(at_once=1, max_seconds=3.0)
    assert (await readers.extract(page(NEWS))).title == "Мост закрыт"
    began = time.monotonic()
    with pytest.raises(Unreadable, match="takes longer"):
        await readers.extract(page("<p>a" * 300_000))
    assert time.monotonic() - began < 10
    assert (await readers.extract(page(NEWS))).title == "Мост закрыт"
    await readers.close()


async def test_readers_are_replaced_and_never_more_than_agreed() -> None:
    readers = Readers(at_once=1, max_seconds=10, max_pages=2)
    assert [(await readers.extract(page(NEWS))).title for _ in range(5)] == ["Мост закрыт"] * 5
    await readers.close()


async def test_a_reader_knows_no_secrets(readers: Readers) -> None:
    assert (await readers.extract(page(NEWS))) == extract(page(NEWS).body, "utf-8", ADDRESS.url)
    environments = environments_of_readers()
    assert environments
    assert not any(
        b"DATABASE_URL" in environment or b"REDIS_URL" in environment for environment in environments
    )


def environments_of_readers() -> list[bytes]:
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    readers = [pid for pid in children if b"crawling.extraction" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return [Path(f"/proc/{pid}/environ").read_bytes() for pid in readers]


def test_what_was_found_is_small() -> None:
    article = extract(
        ("<article>" + f"<p>{PARAGRAPH}</p>" * 600 + "</article>").encode(), "utf-8", ADDRESS.url
    )
    assert isinstance(article, Extracted)
    assert len(article.text) <= 100_000
