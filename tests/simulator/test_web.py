"""Public previews as a browser gets them."""

import base64
import io
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from PIL import Image

from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from telegram_simulator.web.messages import shorten_number
from telegram_simulator.web.text import as_html
from telegram_simulator.world.post import Entity, FileKind
from telegram_simulator.world.tiny import CITY
from tests.simulator.serving import web_side

NAME = "gorod_news"


@pytest.fixture
async def browser(sim: Simulator) -> AsyncIterator[httpx.AsyncClient]:
    async with web_side(sim) as url, httpx.AsyncClient(base_url=url, trust_env=False) as client:
        yield client


async def page(browser: httpx.AsyncClient, name: str = NAME, **query: int) -> str:
    answer = await browser.get(f"/s/{name}", params=query)
    assert answer.status_code == 200
    return answer.text


def bubble_ids(html: str) -> list[int]:
    """The bubbles of a page."""
    return [int(number) for number in re.findall(r'data-post="[a-z_0-9]+/(\d+)"', html)]


def bubble_of(html: str, message_id: int) -> str:
    return next(
        bubble
        for bubble in html.split("tgme_widget_message_wrap")
        if f'data-post="{NAME}/{message_id}"' in bubble
    )


async def test_a_page_shows_the_newest_posts_oldest_first_and_leads_on_to_the_others(
    browser: httpx.AsyncClient,
) -> None:
    newest = await page(browser)
    assert bubble_ids(newest) == [20, *range(23, 41)]  # the album is shown whole
    assert '<link rel="prev" href="/s/gorod_news?before=20">' in newest
    older = await page(browser, before=20)
    assert bubble_ids(older) == list(range(1, 20))
    assert 'rel="prev"' not in older
    assert bubble_ids(await page(browser, after=33)) == list(range(34, 41))
    assert "tme_no_messages_found" in await page(browser, before=1)


async def test_the_channel_id_and_title_are_in_the_page(browser: httpx.AsyncClient) -> None:
    html = await page(browser)
    assert (
        '<div class="tgme_channel_info_header_title"><span dir="auto">Городские новости</span></div>' in html
    )
    view = re.findall(r'data-view="([\w-]+)"', html)[0]
    seen: dict[str, Any] = json.loads(base64.urlsafe_b64decode(view + "=" * (-len(view) % 4)))
    assert seen["c"] == -CITY


async def test_an_album_is_one_bubble_that_names_its_items(browser: httpx.AsyncClient) -> None:
    html = await page(browser, before=24)
    assert 20 in bubble_ids(html)
    assert not {21, 22} & set(bubble_ids(html))
    assert re.findall(r'href="https://t.me/gorod_news/(\d+)\?single"', bubble_of(html, 20)) == [
        "20",
        "21",
        "22",
    ]


async def test_everything_that_a_post_shows_has_its_markup(
    browser: httpx.AsyncClient, control: Control
) -> None:
    control.edit(CITY, 25, "исправлено")
    older, newer = await page(browser, before=20), await page(browser)
    for number, words in {
        1: ("service_message", "Channel created"),
        8: ("tgme_widget_message_photo_wrap", "background-image:url("),
        10: ("tgme_widget_message_document_title", "plan.pdf", "48.8 KB"),
        11: ("tgme_widget_message_link_preview", "https://news.example/most", "Мост закрыт"),
        12: ("tgme_widget_message_poll_question", "Как вы добираетесь?", "на автобусе"),
        13: ("message_media_not_supported_wrap",),
        15: ("tgme_widget_message_forwarded_from_name", "https://t.me/tech_daily/5", "Tech Daily"),
        16: ("tgme_widget_message_reply", "https://t.me/gorod_news/15"),
        17: ("tgme_widget_message_video_player", "message_video_duration"),
    }.items():
        assert all(word in bubble_of(older, number) for word in words), number
    assert "edited &nbsp;" in bubble_of(newer, 25)
    assert "tgme_widget_service_strong_text" in bubble_of(newer, 30)
    assert '<span class="tgme_widget_message_views">3.3K</span>' in bubble_of(newer, 33)
    assert '<span class="tgme_reaction">' in bubble_of(newer, 33)


async def test_pictures_and_films_can_be_fetched(browser: httpx.AsyncClient) -> None:
    html = await page(browser, before=20)
    (picture,) = re.findall(r"url\('(http[^']+/8\.jpg)'\)", html)
    answer = await browser.get(picture)
    assert answer.headers["content-type"] == "image/jpeg"
    Image.open(io.BytesIO(answer.content)).verify()
    (film,) = re.findall(r'<video src="([^"]+/17\.mp4)"', html)
    assert (await browser.get(film)).headers["content-type"] == "video/mp4"


async def test_what_was_deleted_is_not_shown(browser: httpx.AsyncClient, control: Control) -> None:
    control.delete(CITY, [38, 39])
    assert not {38, 39} & set(bubble_ids(await page(browser)))


async def test_who_has_no_preview_is_redirected(browser: httpx.AsyncClient, control: Control) -> None:
    control.change_channel(CITY, preview=False)
    for name in (NAME, "nobody_has_this"):
        answer = await browser.get(f"/s/{name}")
        assert (answer.status_code, answer.headers["location"]) == (302, f"https://t.me/{name}")
    control.change_channel(CITY, preview=True, private=True)
    assert (await browser.get(f"/s/{NAME}")).status_code == 302


async def test_a_protected_channel_shows_its_words_and_not_its_media(
    browser: httpx.AsyncClient, control: Control
) -> None:
    control.change_channel(CITY, protected=True)
    html = await page(browser, before=20)
    assert "message_media_not_supported_wrap" in bubble_of(html, 8)
    assert "(8)" in bubble_of(html, 8)
    assert "photo_wrap" not in html
    assert (await browser.get(f"/file/{CITY}/8.jpg")).status_code == 404


async def test_trouble_on_purpose(browser: httpx.AsyncClient, sim: Simulator) -> None:
    sim.faults.web_status, sim.faults.web_retry_after_seconds = 429, 7
    refused = await browser.get(f"/s/{NAME}")
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "7")
    sim.faults.web_status = 0
    sim.faults.web_unknown_markup = True
    assert "tgme_widget_message" not in await page(browser)


def test_counts_are_rounded_as_people_see_them() -> None:
    assert [shorten_number(number) for number in (0, 999, 1000, 4849, 79_812, 123_456, 1_200_000)] == [
        "0",
        "999",
        "1K",
        "4.85K",
        "79.8K",
        "123K",
        "1.2M",
    ]


def test_marks_become_tags_and_text_stays_text() -> None:
    text = "Жирный <b> 👍 link\nкод"
    entities = (
        Entity("bold", 0, 6),
        Entity("text_url", 14, 4, "https://e.example/?a=1&b=2"),
        Entity("code", 19, 3),
    )
    html = as_html(text, entities)
    assert html.startswith('<b>Жирный</b> &lt;b&gt; <i class="emoji"')
    assert 'href="https://e.example/?a=1&amp;b=2"' in html
    assert html.endswith("link</a><br/><code>код</code>")


def test_marks_that_cross_are_closed_and_opened_again() -> None:
    assert as_html("abcdef", (Entity("bold", 0, 4), Entity("italic", 2, 4))) == "<b>ab<i>cd</i></b><i>ef</i>"


async def test_albums_of_files_and_other_worlds_are_shown_too(
    browser: httpx.AsyncClient, control: Control
) -> None:
    control.album(CITY, [FileKind.PDF, FileKind.PDF], "Бумаги")
    html = await page(browser)
    assert bubble_of(html, 41).count("tgme_widget_message_document_wrap") == 2
    assert len(bubble_ids(await page(browser, "load_7"))) > 3
