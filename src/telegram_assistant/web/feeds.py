"""Writes feeds as RSS 2.0, Atom and JSON Feed. Texts come from Telegram, so everything is escaped and
characters that XML forbids are left out.

No format names the address of the feed itself: it is a secret, and readers republish what they read.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import format_datetime
from functools import lru_cache
from html import escape as escape_html
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from pydantic_core import to_json

from telegram_assistant.domain.posts.post import TextEntity
from telegram_assistant.features.receivers.rss_feeds import FeedContent, SyndicatedEntry
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.receivers.feed_posts import FeedPicture
from telegram_assistant.translation import translate
from telegram_assistant.web.formatting import render_for_feed
from telegram_assistant.web.links import safe_link

PICTURE_TYPE = "image/jpeg"
NAMESPACES = (
    'xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/" '
    'xmlns:media="http://search.yahoo.com/mrss/"'
)
MAX_KEPT_TEXTS, MAX_KEPT_LETTERS, MAX_KEPT_ENTITIES = 500, 4_096, 100
JSON_FEED = "https://jsonfeed.org/version/1.1"
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class _WrittenEntry:
    """An entry with its HTML and the addresses that it leads to."""

    entry: SyndicatedEntry
    link: str
    author: str
    html: str
    pictures: tuple[str, ...]


type PictureAddress = Callable[[FeedPicture], str]
type Write = Callable[[FeedContent, PictureAddress], bytes]


def write_atom(feed: FeedContent, picture_address: PictureAddress) -> bytes:
    feed_start = (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<feed xmlns="http://www.w3.org/2005/Atom" xml:lang={quoteattr(feed.language)}>\n'
        f"<title>{_text(feed.title)}</title>\n<id>{_urn(feed.feed_id)}</id>\n"
        f"<updated>{feed.updated_at.isoformat()}</updated>\n"
        f'<link rel="alternate" type="text/html" href={_attribute(feed.page)}/>\n'
    )
    return (
        feed_start
        + "".join(_atom_entry(written_entry) for written_entry in _entries(feed, picture_address))
        + "</feed>\n"
    ).encode()


def write_rss(feed: FeedContent, picture_address: PictureAddress) -> bytes:
    feed_start = (
        f'<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0" {NAMESPACES}><channel>\n'
        f"<title>{_text(feed.title)}</title>\n<link>{_text(feed.page)}</link>\n"
        f"<description>{_text(feed.title)}</description>\n"
        f"<language>{_text(feed.language)}</language>\n"
        f"<lastBuildDate>{format_datetime(feed.updated_at)}</lastBuildDate>\n"
    )
    return (
        feed_start
        + "".join(_rss_item(written_entry) for written_entry in _entries(feed, picture_address))
        + "</channel></rss>\n"
    ).encode()


def write_json(feed: FeedContent, picture_address: PictureAddress) -> bytes:
    items = [_json_item(written_entry) for written_entry in _entries(feed, picture_address)]
    feed_fields = {
        "version": JSON_FEED,
        "title": _drop_forbidden(feed.title),
        "home_page_url": feed.page,
        "language": feed.language,
    }
    return to_json({**feed_fields, "items": items})


FORMATS: dict[str, tuple[Write, str]] = {
    "atom": (write_atom, "application/atom+xml; charset=utf-8"),
    "rss": (write_rss, "application/rss+xml; charset=utf-8"),
    "json": (write_json, "application/feed+json"),
}
"""By the ending of the address."""


def _entries(feed: FeedContent, picture_address: PictureAddress) -> list[_WrittenEntry]:
    spoiler_label = translate(Reason("feed_spoiler", "spoiler"), feed.language)
    return [_write_entry(entry, feed, picture_address, spoiler_label) for entry in feed.entries]


@lru_cache(maxsize=MAX_KEPT_TEXTS)
def _render_html(text: str, entities: tuple[TextEntity, ...], spoiler_label: str) -> str:
    return str(render_for_feed(text, entities, spoiler_label=spoiler_label))


def _html_of(entry: SyndicatedEntry, spoiler_label: str) -> str:
    """The HTML of a text.

    Feeds are read again and again, so it is kept, unless it is longer than messages usually are.
    """
    is_kept = len(entry.text) <= MAX_KEPT_LETTERS and len(entry.entities) <= MAX_KEPT_ENTITIES
    return entry.html or (_render_html if is_kept else _render_html.__wrapped__)(
        entry.text, entry.entities, spoiler_label
    )


def _write_entry(
    entry: SyndicatedEntry, feed: FeedContent, picture_address: PictureAddress, spoiler_label: str
) -> _WrittenEntry:
    pictures = tuple(picture_address(picture) for picture in entry.pictures)
    words = _html_of(entry, spoiler_label)
    images = "".join(f'<p><img src="{escape_html(address)}" alt=""></p>' for address in pictures)
    return _WrittenEntry(
        entry, _web_address(entry.link), entry.author or feed.title, _drop_forbidden(words + images), pictures
    )


def _atom_entry(written_entry: _WrittenEntry) -> str:
    entry = written_entry.entry
    link = f'<link rel="alternate" href={_attribute(written_entry.link)}/>' if written_entry.link else ""
    enclosures = "".join(
        f'<link rel="enclosure" type="{PICTURE_TYPE}" href={_attribute(address)}/>'
        for address in written_entry.pictures
    )
    return (
        f"<entry><title>{_text(entry.title)}</title><id>{_urn(entry.entry_id)}</id>"
        f"<published>{entry.at.isoformat()}</published><updated>{entry.changed_at.isoformat()}</updated>"
        f"<author><name>{_text(written_entry.author)}</name></author>{link}{enclosures}"
        f'<content type="html">{escape(written_entry.html)}</content></entry>\n'
    )


def _rss_item(written_entry: _WrittenEntry) -> str:
    entry = written_entry.entry
    link = f"<link>{_text(written_entry.link)}</link>" if written_entry.link else ""
    # RSS knows one enclosure, whose size need not be known; each picture has its element beside it.
    enclosure = "".join(
        f'<enclosure url={_attribute(address)} type="{PICTURE_TYPE}" length="0"/>'
        for address in written_entry.pictures[:1]
    )
    media = "".join(
        f'<media:content url={_attribute(address)} type="{PICTURE_TYPE}" medium="image"/>'
        for address in written_entry.pictures
    )
    description = escape(_text(entry.text)).replace("\n", "&lt;br&gt;")
    return (
        f'<item><title>{_text(entry.title)}</title><guid isPermaLink="false">{_text(entry.entry_id)}</guid>'
        f"<pubDate>{format_datetime(entry.at)}</pubDate>"
        f"<dc:creator>{_text(written_entry.author)}</dc:creator>{link}"
        f"<description>{description}</description>"
        f"<content:encoded>{escape(written_entry.html)}</content:encoded>{enclosure}{media}</item>\n"
    )


def _json_item(written_entry: _WrittenEntry) -> dict[str, object]:
    entry = written_entry.entry
    item: dict[str, object] = {
        "id": entry.entry_id,
        "title": _drop_forbidden(entry.title),
        "content_html": written_entry.html,
        "content_text": _drop_forbidden(entry.text),
        "date_published": entry.at.isoformat(),
        "date_modified": entry.changed_at.isoformat(),
        "authors": [{"name": _drop_forbidden(written_entry.author)}],
    }
    if written_entry.link:
        item["url"] = written_entry.link
    if written_entry.pictures:
        item["image"] = written_entry.pictures[0]
        item["attachments"] = [
            {"url": address, "mime_type": PICTURE_TYPE} for address in written_entry.pictures
        ]
    return item


def _web_address(link: str) -> str:
    """The link as a page would offer it; empty if it does not lead into the web."""
    offered_link = safe_link(link)
    return (
        offered_link.address if offered_link is not None and offered_link.address.startswith("http") else ""
    )


def _urn(name: str) -> str:
    """The name of a folder may contain anything, a URN may not."""
    return f"urn:telegram-assistant:{quote(name, safe=':/')}"


def _attribute(value: str) -> str:
    return quoteattr(_drop_forbidden(value))


def _text(text: str) -> str:
    return escape(_drop_forbidden(text))


def _drop_forbidden(text: str) -> str:
    return _FORBIDDEN.sub("", text)
