"""Documents say the same however they are written, and Telegram accepts every message."""

import re

from hypothesis import given
from hypothesis import strategies as st

from telegram_assistant.documents.document import (
    Block,
    BlockKind,
    Document,
    Span,
    items_of,
    number_references,
)
from telegram_assistant.documents.telegram_markdown import escape_markdown, write_messages
from telegram_assistant.documents.writing import write_fragment, write_html, write_plain

LETTERS = st.text(
    st.one_of(st.sampled_from("_*[]()~`>#+-=|{}.!\\ \nабв"), st.characters(exclude_categories=["Cs", "Cc"])),
    min_size=1,
    max_size=400,
)
LINKS = st.sampled_from(["", "https://t.me/a_b/1", "https://here.example/x(y)\\z"])
SPANS = st.builds(Span, LETTERS, LINKS) | st.builds(Span, st.just(""), LINKS.filter(bool))
BLOCKS = st.builds(Block, st.sampled_from(BlockKind), st.lists(SPANS, min_size=1, max_size=6).map(tuple))
DOCUMENTS = st.lists(BLOCKS, min_size=1, max_size=12).map(tuple)
_MARKED = re.compile(r"\\(.)|\]\((?:\\.|[^)\\])*\)|[*\[]", re.DOTALL)


def visible_text(message: str) -> str:
    """The text of a message as Telegram shows it: escaped letters as they are, no marks, no addresses."""
    return _MARKED.sub(lambda match: match[1] or "", message)


def words_of(text: str) -> str:
    return "".join(text.split())


@given(DOCUMENTS)
def test_messages_show_the_text_of_the_document_and_are_short_enough(document: Document) -> None:
    messages = write_messages(document, max_units=1000)
    assert all(len(message.encode("utf-16-le")) // 2 <= 1000 for message in messages)
    text = "".join(
        span.text
        for item in items_of(document)
        for block in number_references(item)[0]
        for span in block.spans
    )
    assert words_of("".join(map(visible_text, messages))) == words_of(text)


@given(LETTERS)
def test_escaped_text_is_shown_as_it_is(text: str) -> None:
    assert visible_text(escape_markdown(text)) == text


def test_the_name_of_a_part_stays_with_the_first_item_after_it() -> None:
    title, part, heading, other = (
        Block(kind, (Span(text),))
        for kind, text in (
            (BlockKind.TITLE, "Digest"),
            (BlockKind.PART, "City"),
            (BlockKind.HEADING, "Bridge"),
            (BlockKind.HEADING, "Fire"),
        )
    )
    document = (title, part, heading, other)
    assert list(items_of(document)) == [(title,), (part, heading), (other,)]
    assert write_plain(document) == "Digest\n\nCITY\n\nBridge\n\nFire\n"
    assert ">City</h2>" in write_html(document, language="en")
    assert write_messages(document) == ("*Digest*\n\n*City*\n*Bridge*\n\n*Fire*",)


def test_an_item_stays_in_one_message_and_references_lead_to_posts_in_every_writing() -> None:
    item = (
        Block(BlockKind.HEADING, (Span("Мост <закрыт>", "https://here/story/1"),)),
        Block(BlockKind.TEXT, (Span("Найдены 4 трещины. " * 20), Span("", "https://t.me/gorod/1"))),
    )
    messages = write_messages(item * 9)
    assert [message.count("*Мост") for message in messages] == [8, 1]
    assert r"[\[1\]](https://t.me/gorod/1)" in messages[0]
    assert "[1] https://t.me/gorod/1" in write_plain(item)
    assert '<sup><a href="https://t.me/gorod/1"' in write_html(item, language="ru")
    assert "Мост &lt;закрыт&gt;" in write_html(item, language="ru")
    fragment = write_fragment(item)
    assert fragment.startswith('<h2 dir="auto"><a href="https://here/story/1">Мост &lt;закрыт&gt;</a></h2>')
    assert '<sup><a href="https://t.me/gorod/1">[1]</a></sup>' in fragment
