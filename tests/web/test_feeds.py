"""RSS, Atom and JSON feeds conform, and nothing that strangers write breaks them: read by feedparser,
strict XML and JSON parsers.
"""

import json
import re
import xml.etree.ElementTree as ET
from calendar import timegm
from datetime import UTC, datetime, timedelta
from typing import Any

import feedparser
import pytest
from markupsafe import Markup

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.posts.post import TextEntity
from telegram_assistant.domain.posts.text import storable
from telegram_assistant.features.receivers.rss_feeds import FeedContent, SyndicatedEntry
from telegram_assistant.stores.postgres.receivers.feed_posts import FeedPicture
from telegram_assistant.web.feeds import FORMATS
from tests.web import hostile
from tests.web.markup import read_markup

ATOM, CONTENT, MEDIA = (
    "{http://www.w3.org/2005/Atom}",
    "{http://purl.org/rss/1.0/modules/content/}",
    "{http://search.yahoo.com/mrss/}",
)
DC = "{http://purl.org/dc/elements/1.1/}"
NOW = datetime(2026, 11, 16, 10, 30, tzinfo=UTC)
TEXTS = [text for text in dict.fromkeys(map(storable, hostile.texts())) if text]
WEB_ADDRESS = re.compile("https?://[!-~]+")
PICTURE = FeedPicture(PostId(ChannelId(1), MessageId(2)), 0)


def entry_of(text: str = "Снег", **changed: Any) -> SyndicatedEntry:
    values: dict[str, Any] = {
        "entry_id": "post:1/2",
        "title": text[:100],
        "text": text,
        "link": "https://t.me/c/1/2",
        "at": NOW,
        "changed_at": NOW + timedelta(minutes=5),
        "author": "Городские новости",
        **changed,
    }
    return SyndicatedEntry(**values)


def feed_of(
    *entries: SyndicatedEntry, title: str = "Город", feed_id: str = "folder:Город & мир"
) -> FeedContent:
    return FeedContent(
        title=title,
        feed_id=feed_id,
        language="ru",
        page="https://news.example/t/1/feed?folder=a&b",
        entries=entries,
    )


def picture_address(picture: FeedPicture) -> str:
    return f"https://news.example/feeds/pictures/1/{picture.post_id}/{picture.ordinal}/x?a=1&b=2"


def write_feed(kind: str, feed: FeedContent) -> bytes:
    return FORMATS[kind][0](feed, picture_address)


def contents(kind: str, feed: FeedContent) -> list[str]:
    """The HTML of each entry, by strict parsers."""
    if kind == "json":
        return [item["content_html"] for item in json.loads(write_feed(kind, feed))["items"]]
    path = f"{ATOM}entry/{ATOM}content" if kind == "atom" else f"channel/item/{CONTENT}encoded"
    return [element.text or "" for element in xml_of(kind, feed).findall(path)]


def xml_of(kind: str, feed: FeedContent) -> ET.Element:
    return ET.fromstring(write_feed(kind, feed))  # noqa: S314 -- what we have written ourselves


@pytest.mark.parametrize("kind", ["atom", "rss"])
def test_a_reader_finds_everything_of_an_entry(kind: str) -> None:
    text = "Снег выпал.\n\nМост закрыт, подробности здесь."
    entities = (
        TextEntity("bold", 0, 4),
        TextEntity("text_url", text.index("здесь"), 5, url="https://example.org/мост?a=1&b=2"),
    )
    parsed = feedparser.parse(
        write_feed(kind, feed_of(entry_of(text, entities=entities, pictures=(PICTURE,))))
    )
    assert not parsed.bozo
    assert (parsed.feed.title, parsed.feed.link) == ("Город", "https://news.example/t/1/feed?folder=a&b")
    (entry,) = parsed.entries
    assert (entry.title, entry.link, entry.author) == (text, "https://t.me/c/1/2", "Городские новости")
    assert entry.id.endswith("post:1/2")
    assert datetime.fromtimestamp(timegm(entry.published_parsed), UTC) == NOW
    (content,) = [content for content in entry.content if content.type == "text/html"]
    assert "<b>Снег</b> выпал." in content.value
    assert 'href="https://example.org/%D0%BC%D0%BE%D1%81%D1%82?a=1&amp;b=2"' in content.value
    assert content.value.count("<p") == 3
    assert f'<img alt="" src="{picture_address(PICTURE).replace("&", "&amp;")}" />' in content.value.replace(
        "&amp;amp;", "&amp;"
    )
    assert [(link.href, link.type) for link in entry.enclosures] == [(picture_address(PICTURE), "image/jpeg")]


def test_atom_has_what_its_standard_requires() -> None:
    root = xml_of("atom", feed_of(entry_of(author="")))
    assert {child.tag for child in root} == {
        f"{ATOM}{name}" for name in ("title", "id", "updated", "link", "entry")
    }
    assert (
        root.findtext(f"{ATOM}id")
        == "urn:telegram-assistant:folder:%D0%93%D0%BE%D1%80%D0%BE%D0%B4%20%26%20%D0%BC%D0%B8%D1%80"
    )
    assert root.findtext(f"{ATOM}updated") == "2026-11-16T10:35:00+00:00"
    entry = root.find(f"{ATOM}entry")
    assert entry is not None
    assert entry.findtext(f"{ATOM}published") == "2026-11-16T10:30:00+00:00"
    assert entry.findtext(f"{ATOM}updated") == "2026-11-16T10:35:00+00:00"
    assert entry.findtext(f"{ATOM}author/{ATOM}name") == "Город", "an author has a name"


def test_rss_has_what_its_standard_requires() -> None:
    second = FeedPicture(PICTURE.post_id, 1)
    channel = xml_of("rss", feed_of(entry_of(pictures=(PICTURE, second)))).find("channel")
    assert channel is not None
    assert [channel.findtext(name) for name in ("title", "description", "language")] == [
        "Город",
        "Город",
        "ru",
    ]
    assert channel.findtext("lastBuildDate") == "Mon, 16 Nov 2026 10:35:00 +0000"
    item = channel.find("item")
    assert item is not None
    assert (item.findtext("guid"), item.findtext("pubDate")) == (
        "post:1/2",
        "Mon, 16 Nov 2026 10:30:00 +0000",
    )
    assert item.findtext(f"{DC}creator") == "Городские новости"
    assert [element.attrib for element in item.findall("enclosure")] == [
        {"url": picture_address(PICTURE), "type": "image/jpeg", "length": "0"}
    ]
    assert [element.attrib["url"] for element in item.findall(f"{MEDIA}content")] == [
        picture_address(PICTURE),
        picture_address(second),
    ]


def test_a_json_feed_has_what_its_standard_requires() -> None:
    feed = json.loads(
        write_feed("json", feed_of(entry_of(pictures=(PICTURE,)), entry_of(entry_id="alert:3", link="")))
    )
    assert feed["version"] == "https://jsonfeed.org/version/1.1"
    assert (feed["title"], feed["home_page_url"], feed["language"]) == (
        "Город",
        "https://news.example/t/1/feed?folder=a&b",
        "ru",
    )
    first, second = feed["items"]
    assert first["id"] == "post:1/2"
    assert first["url"] == "https://t.me/c/1/2"
    assert first["date_published"] == "2026-11-16T10:30:00+00:00"
    assert first["authors"] == [{"name": "Городские новости"}]
    assert first["content_html"].startswith("<div")
    assert first["attachments"] == [{"url": picture_address(PICTURE), "mime_type": "image/jpeg"}]
    assert first["image"] == picture_address(PICTURE)
    assert {"url", "image", "attachments"}.isdisjoint(second)


@pytest.mark.parametrize("kind", FORMATS)
def test_an_empty_feed_is_a_feed(kind: str) -> None:
    assert contents(kind, feed_of()) == []


@pytest.mark.parametrize("kind", FORMATS)
def test_no_format_names_its_own_address(kind: str) -> None:
    body = write_feed(kind, feed_of(entry_of(pictures=(PICTURE,)))).decode()
    assert "feed_" not in body
    assert 'rel="self"' not in body
    assert "feed_url" not in body


@pytest.mark.parametrize("kind", FORMATS)
def test_two_hundred_hostile_texts_stay_texts(kind: str) -> None:
    assert len(TEXTS) >= 200
    entries = [
        entry_of(
            text,
            entry_id=f"post:1/{number}",
            author=text,
            link=text if number % 2 else "https://t.me/c/1/2",
            entities=tuple(TextEntity(name, 0, 2 * len(text), text, text) for name in hostile.KINDS),
        )
        for number, text in enumerate(TEXTS)
    ]
    feed = feed_of(*entries, title=TEXTS[0], feed_id=f"folder:{TEXTS[1]}")
    texts = contents(kind, feed)
    assert len(texts) == len(TEXTS)
    for html in texts:
        read_markup(Markup(html))  # noqa: S704 -- it is read more strictly than any browser does
    if kind != "json":
        parsed = feedparser.parse(write_feed(kind, feed))
        assert not parsed.bozo
        assert len(parsed.entries) == len(TEXTS)
        assert {entry.id.rpartition(":")[2] for entry in parsed.entries} == {
            f"1/{number}" for number in range(len(TEXTS))
        }


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", hostile.entities())
def test_hostile_formatting_is_valid_html(kind: str, name: str) -> None:
    text = "Снег и лёд на мосту 🔥 https://evil.example/a?b=c #тег @name\n\nвторой абзац"
    (html,) = contents(kind, feed_of(entry_of(text, entities=hostile.entities()[name])))
    read = read_markup(Markup(html))  # noqa: S704 -- as above
    assert not {"input", "label", "details"} & set(read.tags), "feed readers have no style sheet of ours"
    assert not [address for address in read.addresses if address.startswith("/")]


@pytest.mark.parametrize("link", hostile.links())
def test_an_entry_leads_into_the_web_or_nowhere(link: str) -> None:
    feed = feed_of(entry_of(link=link))
    atom, rss = (
        xml_of("atom", feed).find(f"{ATOM}entry/{ATOM}link"),
        xml_of("rss", feed).find("channel/item/link"),
    )
    item = json.loads(write_feed("json", feed))["items"][0]
    (address,) = {
        "" if atom is None else atom.attrib["href"],
        "" if rss is None else rss.text,
        item.get("url", ""),
    }
    assert address == "" or WEB_ADDRESS.fullmatch(address)


def test_a_spoiler_is_announced_and_a_deceiving_link_says_where_it_leads() -> None:
    text = "Убийца дворецкий. sberbank.ru"
    entities = (
        TextEntity("spoiler", 0, 16),
        TextEntity("text_url", 18, 11, url="https://evil.example/"),
        TextEntity("hashtag", 0, 6),
    )
    (html,) = contents("json", feed_of(entry_of(text, entities=entities)))
    assert "[спойлер] Убийца дворецкий" in html
    assert '>sberbank.ru</a> (<span dir="ltr">evil.example</span>)' in html
