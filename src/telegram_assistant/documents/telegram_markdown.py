"""Writes documents in the Markdown that Telegram reads (MarkdownV2), as messages that it accepts."""

import re
from collections.abc import Iterator, Sequence

from telegram_assistant.documents.document import (
    Block,
    BlockKind,
    Document,
    Span,
    items_of,
    number_references,
)

MAX_UNITS = 4096
"""Of a message, in UTF-16 code units.

Telegram counts without the marks; counting them too is simpler and never too much.
"""
_MARKS = re.compile(r"[_*\[\]()~`>#+\-=|{}.!\\]")
_MARKS_IN_LINK = re.compile(r"[)\\]")
_PIECE = re.compile(r"\s*\S{1,200}|\s+")
BOLD = frozenset({BlockKind.TITLE, BlockKind.PART, BlockKind.HEADING})
BETWEEN_ITEMS, BETWEEN_BLOCKS = "\n\n", "\n"


def escape_markdown(text: str) -> str:
    """The text so that Telegram shows it as it is."""
    return _MARKS.sub(r"\\\g<0>", text)


def write_messages(document: Document, *, max_units: int = MAX_UNITS) -> tuple[str, ...]:
    """The document as messages.

    An item is divided only if it is longer than a message, then between paragraphs, then between words.
    """
    messages: list[str] = []
    for item in items_of(document):
        numbered_item, _ = number_references(item)
        item_text = BETWEEN_BLOCKS.join(map(_write_block, numbered_item))
        parts = (
            [item_text]
            if _units(item_text) <= max_units
            else list(
                _pack((part for block in numbered_item for part in _divide(block, max_units)), max_units)
            )
        )
        if messages and _units(longer_message := messages[-1] + BETWEEN_ITEMS + parts[0]) <= max_units:
            messages[-1] = longer_message
            parts = parts[1:]
        messages += parts
    return tuple(messages)


def _pack(parts: Iterator[str], max_units: int) -> Iterator[str]:
    message = ""
    for part in parts:
        longer_message = message + BETWEEN_BLOCKS + part if message else part
        if _units(longer_message) > max_units:
            yield message
            longer_message = part
        message = longer_message
    if message:
        yield message


def _divide(block: Block, max_units: int) -> Iterator[str]:
    """The block as pieces that each fit into a message."""
    if _units(block_text := _write_block(block)) <= max_units:
        yield block_text
        return
    current_spans: list[Span] = []
    for piece in _pieces(block.spans):
        longer = _append_piece(current_spans, piece)
        if current_spans and _units(_write_block(Block(block.kind, tuple(longer)))) > max_units:
            yield _write_block(Block(block.kind, tuple(current_spans)))
            longer = [Span(piece.text.lstrip(), piece.link)]
        current_spans = longer
    yield _write_block(Block(block.kind, tuple(current_spans)))


def _append_piece(spans: list[Span], piece: Span) -> list[Span]:
    if spans and spans[-1].link == piece.link:
        return [*spans[:-1], Span(spans[-1].text + piece.text, piece.link)]
    return [*spans, piece]


def _pieces(spans: Sequence[Span]) -> Iterator[Span]:
    for span in spans:
        yield from (Span(piece, span.link) for piece in _PIECE.findall(span.text))


def _write_block(block: Block) -> str:
    return "".join(_write_span(span, is_bold=block.kind in BOLD) for span in block.spans)


def _write_span(span: Span, *, is_bold: bool) -> str:
    text = escape_markdown(span.text)
    if is_bold and text.strip():
        text = f"*{text}*"
    return f"[{text}]({_MARKS_IN_LINK.sub(_escape_mark, span.link)})" if span.link else text


def _escape_mark(match: re.Match[str]) -> str:
    return f"\\{match[0]}"


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
