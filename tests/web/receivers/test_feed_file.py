"""Feeds over HTTP: formats, conditional requests, addresses that no request decides,
and pictures that open without a login.
"""

import re
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime

import feedparser
import httpx
import pytest

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.stores.postgres.receivers.feed_addresses import FeedKind
from testkit.web_clients import open_browser
from tests.conftest import Admin
from tests.web.feed_reading import BASE, load_address, load_pictures
from tests.web.reading_world import ReadingWorld

PLAIN = {"Accept-Encoding": "identity"}
PICTURE = re.compile(rf"{BASE}(/feeds/pictures/[^\"&<]+)")


@pytest.mark.parametrize(
    ("kind", "media_type"),
    [("atom", "application/atom+xml"), ("rss", "application/rss+xml"), ("json", "application/feed+json")],
)
async def test_a_folder_is_read_in_every_format_with_formatting_and_albums(
    feed_reader: httpx.AsyncClient, folder_feed: str, reading_world: ReadingWorld, kind: str, media_type: str
) -> None:
    answer = await feed_reader.get(f"{folder_feed}.{kind}")
    assert answer.status_code == 200
    assert answer.headers["content-type"].partition(";")[0] == media_type
    if kind == "json":
        entries = {item["id"]: item["content_html"] for item in answer.json()["items"]}
    else:
        entries = {
            entry.id.removeprefix("urn:telegram-assistant:"): entry.content[-1].value
            for entry in feedparser.parse(answer.content).entries
        }
    assert list(entries) == [f"post:{reading_world.ferries}/{number}" for number in (3, 2, 1)], (
        "an album is one entry"
    )
    formatted, album = entries[f"post:{reading_world.ferries}/1"], entries[f"post:{reading_world.ferries}/3"]
    assert "<b>Ferry line</b>" in formatted
    assert 'href="https://ferries.example/winter"' in formatted
    assert "[spoiler] The vote is on Thursday." in formatted
    assert "#ferries" in formatted
    assert album.count("<img") == len(set(PICTURE.findall(album))) == 4


async def test_the_body_of_a_feed_does_not_hold_its_secret(
    feed_reader: httpx.AsyncClient, folder_feed: str
) -> None:
    token = folder_feed.removeprefix("/feeds/")
    for kind in ("atom", "rss", "json"):
        answer = await feed_reader.get(f"{folder_feed}.{kind}")
        assert token not in answer.text
        assert token.removeprefix("feed_") not in answer.text
        assert not [value for value in answer.headers.values() if token in value]
    assert not [address for address in await load_pictures(feed_reader, folder_feed) if token in address]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1:8000@evil.example"])
async def test_no_request_decides_an_address_in_a_feed(
    app_with_files: App, reader_tenant: TenantId, feed_reader: httpx.AsyncClient, folder_feed: str, host: str
) -> None:
    story_feed = await load_address(app_with_files, reader_tenant, FeedKind.STORY, "all")
    for feed in (folder_feed, story_feed):
        for kind in ("atom", "rss", "json"):
            own = await feed_reader.get(f"{feed}.{kind}")
            forwarded = await feed_reader.get(
                f"{feed}.{kind}", headers={"X-Forwarded-Host": host, "Forwarded": f"host={host}"}
            )
            assert own.content == forwarded.content
            assert (await feed_reader.get(f"{feed}.{kind}", headers={"Host": host})).status_code == 421


async def test_addresses_begin_with_base_url(app_with_files: App, folder_feed: str) -> None:
    settings = app_with_files.settings
    changed = settings.model_copy(
        update={"web": settings.web.model_copy(update={"base_url": "https://news.example"})}
    )
    async with assemble(changed) as app, open_browser(app) as browser:
        feed = (await browser.client.get(f"{folder_feed}.json")).json()
        address = feed["items"][0]["image"]
        assert feed["home_page_url"].startswith("https://news.example/t/")
        assert address.startswith("https://news.example/feeds/pictures/")
        assert (await browser.client.get(address.removeprefix("https://news.example"))).status_code == 200


@pytest.mark.parametrize("kind", ["atom", "rss", "json"])
async def test_a_reader_that_has_the_feed_gets_no_body(
    feed_reader: httpx.AsyncClient, folder_feed: str, kind: str
) -> None:
    whole = await feed_reader.get(f"{folder_feed}.{kind}")
    etag, modified = whole.headers["etag"], whole.headers["last-modified"]
    assert re.fullmatch('"[0-9a-f]{64}"', etag), "a strong one"
    assert whole.headers["cache-control"] == "private, no-cache"
    later = format_datetime(parsedate_to_datetime(modified) + timedelta(hours=1), usegmt=True)
    for headers in (
        {"If-None-Match": etag},
        {"If-None-Match": f'"x", W/{etag}'},
        {"If-Modified-Since": modified},
        {"If-Modified-Since": later},
    ):
        answer = await feed_reader.get(f"{folder_feed}.{kind}", headers=headers)
        assert (answer.status_code, answer.content) == (304, b""), headers
        assert (answer.headers["etag"], answer.headers["last-modified"]) == (etag, modified)
    earlier = format_datetime(parsedate_to_datetime(modified) - timedelta(seconds=1), usegmt=True)
    for headers in (
        {"If-None-Match": '"x"', "If-Modified-Since": later},
        {"If-Modified-Since": earlier},
        {"If-Modified-Since": "yesterday"},
    ):
        assert (await feed_reader.get(f"{folder_feed}.{kind}", headers=headers)).status_code == 200, headers


async def test_head_tells_the_same_without_the_body(feed_reader: httpx.AsyncClient, folder_feed: str) -> None:
    for kind in ("atom", "rss", "json"):
        whole, head = [
            await feed_reader.request(method, f"{folder_feed}.{kind}", headers=PLAIN)
            for method in ("GET", "HEAD")
        ]
        assert (head.status_code, head.content) == (200, b"")
        for name in ("etag", "last-modified", "content-type", "content-length", "cache-control"):
            assert head.headers[name] == whole.headers[name]


async def test_a_changed_post_is_sent_to_readers_that_ask_by_etag_and_by_time(
    feed_reader: httpx.AsyncClient, folder_feed: str, reading_world: ReadingWorld, admin: Admin
) -> None:
    before = await feed_reader.get(f"{folder_feed}.atom")
    await admin.execute(
        "UPDATE posts SET text = 'Movement opens in May' WHERE channel_id = $1 AND message_id = 1",
        reading_world.ferries,
    )
    for headers in (
        {"If-None-Match": before.headers["etag"]},
        {"If-Modified-Since": before.headers["last-modified"]},
    ):
        answer = await feed_reader.get(f"{folder_feed}.atom", headers=headers)
        assert answer.status_code == 200
        assert "Movement opens in May" in answer.text
    assert parsedate_to_datetime(answer.headers["last-modified"]) > parsedate_to_datetime(
        before.headers["last-modified"]
    )
    same = {"If-Modified-Since": answer.headers["last-modified"]}
    assert (await feed_reader.get(f"{folder_feed}.atom", headers=same)).status_code == 304


@pytest.mark.parametrize(
    "moment",
    [
        "",
        "0",
        "Mon, 99 Nov 2026 10:00:00 GMT",
        "Mon, 16 Nov 99999999 10:00:00 GMT",
        "\xff",
        "16 Nov 2026 10:00:00 +9999",
    ],
)
async def test_a_damaged_time_is_no_time(
    feed_reader: httpx.AsyncClient, folder_feed: str, moment: str
) -> None:
    answer = await feed_reader.get(
        f"{folder_feed}.rss", headers={b"If-Modified-Since": moment.encode("latin-1")}
    )
    assert answer.status_code == 200


async def test_a_feed_is_answered_without_its_time_while_redis_is_away(
    app_with_files: App, feed_reader: httpx.AsyncClient, folder_feed: str
) -> None:
    """Only the ETag is compared then."""
    settings = app_with_files.settings
    away = settings.redis.model_copy(update={"url": type(settings.redis.url)("redis://127.0.0.1:1/0")})
    etag = (await feed_reader.get(f"{folder_feed}.atom")).headers["etag"]
    async with (
        assemble(settings.model_copy(update={"redis": away}), needs_redis=False) as app,
        open_browser(app) as browser,
    ):
        answer = await browser.client.get(f"{folder_feed}.atom")
        assert (answer.status_code, answer.headers["etag"], "last-modified" in answer.headers) == (
            200,
            etag,
            False,
        )
        now = format_datetime(datetime.now(UTC), usegmt=True)
        assert (
            await browser.client.get(f"{folder_feed}.atom", headers={"If-Modified-Since": now})
        ).status_code == 200
        assert (
            await browser.client.get(f"{folder_feed}.atom", headers={"If-None-Match": etag})
        ).status_code == 304
