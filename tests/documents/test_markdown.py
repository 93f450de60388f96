"""Markdown shows foreign texts as they are."""

import pytest

from telegram_assistant.documents.document import BlockKind, Span, block
from telegram_assistant.documents.markdown import escape_text, write_markdown


@pytest.mark.parametrize(
    ("hostile", "harmless"),
    [
        ("# big", "\\# big"),
        ("1. first", "1\\. first"),
        ("- a\n+ b\n===", "\\- a\n\\+ b\n\\==="),
        ("[click](javascript:alert(1))", "\\[click\\](javascript:alert(1))"),
        ("<img src=x onerror=y>", "\\<img src=x onerror=y\\>"),
        ("![x](http://tracker.example)", "!\\[x\\](http://tracker.example)"),
        ("    code", "code"),
        ("a\u2028# b", "a\n\\# b"),
        ("snake_case, 12-й дом, 3.5 %", "snake\\_case, 12-й дом, 3.5 %"),
    ],
)
def test_marks_of_a_post_are_shown_and_not_obeyed(hostile: str, harmless: str) -> None:
    assert escape_text(hostile) == harmless


def test_a_document_becomes_headings_lists_and_quotes() -> None:
    document = (
        block(BlockKind.TITLE, "Two\nlines", Span(" "), Span("[1]", "https://t.me/a/1")),
        block(BlockKind.QUOTE, "first line\nsecond\n\n# last"),
        block(BlockKind.HEADING, "Sources"),
        block(BlockKind.ENTRY, "one", " # two"),
        block(BlockKind.ENTRY, Span("two", "https://t.me/c(1)/2 <x>")),
    )
    assert write_markdown(document) == (
        "# Two lines [\\[1\\]](https://t.me/a/1)\n\n"
        "> first line\\\n> second\n>\n> \\# last\n\n"
        "## Sources\n\n"
        "- one # two\n- [two](https://t.me/c%281%29/2%20%3Cx%3E)\n"
    )
