"""Writes documents as plain text, and as HTML for mails and feeds."""

import re
from html import escape

from telegram_assistant.documents.document import (
    Block,
    BlockKind,
    Document,
    Span,
    items_of,
    number_references,
)

_REFERENCE = re.compile(r"\[\d+\]")
_TAGS = {
    BlockKind.TITLE: ("h1", "font-size:22px;margin:0 0 4px"),
    BlockKind.PART: ("h2", "font-size:14px;margin:32px 0 0;border-bottom:1px solid #ccc;color:#667"),
    BlockKind.HEADING: ("h2", "font-size:18px;line-height:1.3;margin:28px 0 4px"),
    BlockKind.TEXT: ("p", "margin:4px 0"),
    BlockKind.NOTE: ("p", "margin:4px 0;font-size:13px;color:#667"),
    BlockKind.ENTRY: ("p", "margin:4px 0"),
    BlockKind.QUOTE: ("blockquote", "margin:8px 0;white-space:pre-wrap"),
}
_BULLETS = {BlockKind.ENTRY: "• "}
_LINK = "color:#1f5fa8;text-decoration:none"


def write_plain(document: Document) -> str:
    """As plain text: what references lead to stands below their item."""
    return "\n\n".join(map(_plain_item, items_of(document))) + "\n"


def write_html(document: Document, *, language: str) -> str:
    """As a page that mail programs show: styles stand in the tags, nothing is loaded,
    everything is escaped.
    """
    body = "\n".join(_tag(block) for item in items_of(document) for block in number_references(item)[0])
    frame = (
        "margin:0 auto;max-width:640px;padding:16px;font:16px/1.5 -apple-system,'Segoe UI',Roboto,sans-serif"
    )
    return (
        f'<!doctype html>\n<html lang="{escape(language)}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"></head>\n<body style="{frame}">\n{body}\n'
        "</body></html>\n"
    )


def write_fragment(document: Document) -> str:
    """As a part of a page that others show: without styles, everything is escaped."""
    return "\n".join(
        _tag(written_block, is_styled=False)
        for item in items_of(document)
        for written_block in number_references(item)[0]
    )


def _plain_item(item: tuple[Block, ...]) -> str:
    numbered_item, links = number_references(item)
    lines = [_plain_block(block) for block in numbered_item]
    return "\n".join((*lines, *(f"[{number}] {link}" for number, link in enumerate(links, start=1))))


def _plain_block(block: Block) -> str:
    text = _BULLETS.get(block.kind, "") + "".join(map(_plain_span, block.spans))
    return f"{text.upper()}\n" if block.kind is BlockKind.PART else text


def _plain_span(span: Span) -> str:
    return span.text if not span.link or _REFERENCE.fullmatch(span.text) else f"{span.text} ({span.link})"


def _tag(block: Block, *, is_styled: bool = True) -> str:
    name, style = _TAGS[block.kind]
    words = "".join(_html_span(span, is_styled=is_styled) for span in block.spans)
    return f'<{name} dir="auto"{f' style="{style}"' if is_styled else ""}>{words}</{name}>'


def _html_span(span: Span, *, is_styled: bool) -> str:
    text = escape(span.text)
    if not span.link:
        return text
    link = f'<a href="{escape(span.link)}"{f' style="{_LINK}"' if is_styled else ""}>{text}</a>'
    return f"<sup>{link}</sup>" if _REFERENCE.fullmatch(span.text) else link
