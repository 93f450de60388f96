"""Writes feeds as RSS 2.0 and Atom. Texts come from Telegram, so everything is escaped and characters that XML forbids are left out."""

import re
from email.utils import format_datetime
from xml.sax.saxutils import escape, quoteattr

from telegram_assistant.features.watches.feeds import FeedContent, SyndicatedEntry

ATOM_TYPE = "application/atom+xml; charset=utf-8"
RSS_TYPE = "application/rss+xml; charset=utf-8"
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_atom(feed: FeedContent, *, address: str) -> str:
    head = (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f"<title>{_text(feed.title)}</title>\n<id>urn:telegram-assistant:{_text(feed.feed_id)}</id>\n"
        f'<updated>{feed.updated_at.isoformat()}</updated>\n<link rel="self" href={quoteattr(address)}/>\n'
    )
    return head + "".join(map(_atom_entry, feed.entries)) + "</feed>\n"


def write_rss(feed: FeedContent, *, address: str) -> str:
    head = (
        '<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0"><channel>\n'
        f"<title>{_text(feed.title)}</title>\n<link>{_text(address)}</link>\n<description>{_text(feed.title)}</description>\n"
        f"<lastBuildDate>{format_datetime(feed.updated_at)}</lastBuildDate>\n"
    )
    return head + "".join(map(_rss_item, feed.entries)) + "</channel></rss>\n"


def _atom_entry(entry: SyndicatedEntry) -> str:
    link = f"<link href={quoteattr(_allowed(entry.link))}/>" if entry.link else ""
    return (
        f"<entry><title>{_text(entry.title)}</title><id>urn:telegram-assistant:{_text(entry.entry_id)}</id>"
        f"<updated>{entry.at.isoformat()}</updated><author><name>{_text(entry.author)}</name></author>{link}"
        f'<content type="text">{_text(entry.text)}</content></entry>\n'
    )


def _rss_item(entry: SyndicatedEntry) -> str:
    link = f"<link>{_text(entry.link)}</link>" if entry.link else ""
    description = escape(_text(entry.text)).replace("\n", "&lt;br&gt;")
    return (
        f'<item><title>{_text(entry.title)}</title><guid isPermaLink="false">{_text(entry.entry_id)}</guid>'
        f"<pubDate>{format_datetime(entry.at)}</pubDate>{link}<description>{description}</description></item>\n"
    )


def _text(text: str) -> str:
    return escape(_allowed(text))


def _allowed(text: str) -> str:
    return _FORBIDDEN.sub("", text)
