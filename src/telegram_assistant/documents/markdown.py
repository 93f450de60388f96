"""Writes documents in the Markdown that editors and forums read (CommonMark)."""

import re
from itertools import groupby

from telegram_assistant.documents.document import (
    Block,
    BlockKind,
    Document,
    Span,
    items_of,
    number_references,
)

_MARKS = re.compile(r"[\\`*_\[\]<>&~|]")
_LINE_STARTS = re.compile(r"^[^\S\n]*(?:([#+=-])|(\d+)(?=[.)]))|^[^\S\n]+", re.MULTILINE)
_UNSAFE_IN_LINK = re.compile(r"[\s<>()\\]")
_BEGINNINGS = {BlockKind.TITLE: "# ", BlockKind.PART: "## ", BlockKind.HEADING: "## ", BlockKind.ENTRY: "- "}


def escape_text(text: str, *, is_line_start: bool = True) -> str:
    """The text so that it is shown as it is: without headings, lists, links and HTML of its own.

    `is_line_start`: nothing stands before it.
    """
    escaped_text = _MARKS.sub(r"\\\g<0>", "\n".join(text.splitlines()) if text.strip() else text)
    if is_line_start:
        return _LINE_STARTS.sub(_escape_line_start, escaped_text)
    first_line, newline, later_lines = escaped_text.partition("\n")
    return first_line + newline + _LINE_STARTS.sub(_escape_line_start, later_lines)


def write_markdown(document: Document) -> str:
    """The document; entries of a list follow each other, a blank line stands between all other blocks."""
    blocks = [block for item in items_of(document) for block in number_references(item)[0]]
    parts: list[str] = []
    for is_list, block_group in groupby(blocks, key=lambda block: block.kind is BlockKind.ENTRY):
        written_blocks = [_write_block(block) for block in block_group]
        parts += ["\n".join(written_blocks)] if is_list else written_blocks
    return "\n\n".join(parts) + "\n"


def _escape_line_start(match: re.Match[str]) -> str:
    mark, number = match.groups()
    if mark:
        return f"\\{mark}"
    return f"{number}\\" if number else ""


def _write_block(block: Block) -> str:
    lines = "".join(
        _write_span(span, is_line_start=span_index == 0) for span_index, span in enumerate(block.spans)
    ).split("\n")
    if block.kind is BlockKind.QUOTE:
        return "\n".join(
            f"> {line}\\" if line and following else f"> {line}".rstrip()
            for line, following in zip(lines, [*lines[1:], ""], strict=True)
        )
    if block.kind in _BEGINNINGS:
        return _BEGINNINGS[block.kind] + " ".join(lines)
    return "\\\n".join(lines)


def _write_span(span: Span, *, is_line_start: bool) -> str:
    text = escape_text(span.text, is_line_start=is_line_start)
    return f"[{text}]({_UNSAFE_IN_LINK.sub(_percent_encode, span.link)})" if span.link else text


def _percent_encode(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode())
