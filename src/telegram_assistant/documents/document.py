"""A document: blocks of text with links. Its content does not depend on the output format."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum


class BlockKind(StrEnum):
    """The role of a block in its document."""

    TITLE = "title"
    PART = "part"
    """Names the items that follow; it stays with the first of them."""
    HEADING = "heading"
    """Begins an item, which writers keep together."""
    TEXT = "text"
    NOTE = "note"
    """Small print."""
    ENTRY = "entry"
    """An entry of a list."""
    QUOTE = "quote"
    """The whole text of somebody else."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text.

    With a link and without a text it is a reference, which writers number within its item.
    """

    text: str
    link: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph."""

    kind: BlockKind
    spans: tuple[Span, ...]


type Document = tuple[Block, ...]


def block(kind: BlockKind, *spans: Span | str) -> Block:
    """Builds a block; a plain text is a span without a link."""
    return Block(kind, tuple(Span(span) if isinstance(span, str) else span for span in spans))


def items_of(document: Document) -> Iterator[tuple[Block, ...]]:
    """The document in its items: each begins with a heading, the first one with the document."""
    item: list[Block] = []
    for next_block in document:
        if _begins_item(next_block) and item and item[-1].kind is not BlockKind.PART:
            yield tuple(item)
            item = []
        item.append(next_block)
    if item:
        yield tuple(item)


def _begins_item(candidate: Block) -> bool:
    return candidate.kind in {BlockKind.PART, BlockKind.HEADING}


def number_references(item: Sequence[Block]) -> tuple[tuple[Block, ...], tuple[str, ...]]:
    """The item with its references written as [1], [2], …, and what they lead to.

    The same link has the same number.
    """
    links: dict[str, int] = {}
    for part in item:
        for span in part.spans:
            if span.link and not span.text:
                links.setdefault(span.link, len(links) + 1)
    written_blocks = tuple(
        Block(
            item_block.kind,
            tuple(
                Span(span.text or f"[{links[span.link]}]", span.link) if span.link else span
                for span in item_block.spans
            ),
        )
        for item_block in item
    )
    return written_blocks, tuple(links)
