"""Writes a copy in the formats in which it leaves: text, Markdown, CSV and JSON."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from telegram_assistant.documents.document import Block, BlockKind, Document, Span, block
from telegram_assistant.documents.markdown import write_markdown
from telegram_assistant.documents.tables import write_csv
from telegram_assistant.documents.writing import write_plain
from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.sharing.content import SharedContent, SharedLine, SourcePost
from telegram_assistant.reasons import Reason
from telegram_assistant.translation import translate

SOURCES = Reason("share_sources", "Sources")
COLUMNS = ("number", "channel", "posted_at", "link", "revision", "deleted_at", "sha256", "text")


class ShareFormat(StrEnum):
    """How a copy is written."""

    TEXT = "text"
    MARKDOWN = "markdown"
    CSV = "csv"
    """A row for each post."""
    JSON = "json"


@dataclass(frozen=True, slots=True)
class ShareFile:
    """The media type of a format, and the ending of its files."""

    media_type: str
    ending: str


SHARE_FILES = {
    ShareFormat.TEXT: ShareFile("text/plain", "txt"),
    ShareFormat.MARKDOWN: ShareFile("text/markdown", "md"),
    ShareFormat.CSV: ShareFile("text/csv", "csv"),
    ShareFormat.JSON: ShareFile("application/json", "json"),
}


def write_content(content: SharedContent, share_format: ShareFormat, *, language: str) -> str:
    """The copy in this format; headings are in this language, quoted texts stay as they are."""
    match share_format:
        case ShareFormat.TEXT:
            return write_plain(_document(content, language, with_proof=False))
        case ShareFormat.MARKDOWN:
            return write_markdown(_document(content, language, with_proof=True))
        case ShareFormat.CSV:
            return write_csv(COLUMNS, (_row(number, post) for number, post in _number_posts(content.posts)))
        case ShareFormat.JSON:
            return json.dumps(_as_json(content, language), ensure_ascii=False, indent=2) + "\n"


def _document(content: SharedContent, language: str, *, with_proof: bool) -> Document:
    """`with_proof`: sources have the revision and the hash of their text."""
    sources = content.sources

    def references(post_ids: tuple[PostId, ...], revision: int | None = None) -> Iterator[Span]:
        for number, post in _number_posts(sources):
            if post.post_id in post_ids and revision in {None, post.revision}:
                yield Span(" ")
                yield Span(f"[{number}]", post.link)

    def line_block(line: SharedLine) -> Block:
        label = f"{_capitalize(translate(line.label, language))}: " if line.label else ""
        kind = BlockKind.QUOTE if line.is_quote else BlockKind.ENTRY
        reference_spans = () if line.is_quote else references(line.posts, line.revision)
        return block(kind, *([label] if label and not line.is_quote else []), line.text, *reference_spans)

    blocks = [
        block(BlockKind.TITLE, translate(content.title, language, zone=UTC), *references(content.title_posts))
    ]
    for section in content.sections:
        if section.heading is not None:
            blocks.append(block(BlockKind.HEADING, _capitalize(translate(section.heading, language))))
        for line in section.lines:
            if line.is_quote and line.label is not None:
                blocks.append(block(BlockKind.NOTE, f"{_capitalize(translate(line.label, language))}:"))
            blocks.append(line_block(line))
    blocks.append(block(BlockKind.HEADING, translate(SOURCES, language)))
    blocks += [
        _source_block(number, post, language, with_proof=with_proof)
        for number, post in _number_posts(sources)
    ]
    return tuple(blocks)


def _source_block(number: int, post: SourcePost, language: str, *, with_proof: bool) -> Block:
    facts = [_utc(post.posted_at)]
    if post.deleted_at is not None:
        facts.append(translate(Reason("share_deleted", "deleted {at}", at=_utc(post.deleted_at)), language))
    if with_proof:
        facts.append(translate(Reason("share_revision", "revision {number}", number=post.revision), language))
        facts.append(f"SHA-256 {post.text_hash}")
    return block(BlockKind.ENTRY, f"[{number}] ", Span(post.channel, post.link), f", {', '.join(facts)}")


def _row(number: int, post: SourcePost) -> tuple[str | int | None, ...]:
    deleted_at = post.deleted_at.astimezone(UTC).isoformat() if post.deleted_at else None
    return (
        number,
        post.channel,
        post.posted_at.astimezone(UTC).isoformat(),
        post.link,
        post.revision,
        deleted_at,
        post.text_hash,
        post.text,
    )


def _as_json(content: SharedContent, language: str) -> dict[str, object]:
    return {
        "title": translate(content.title, language, zone=UTC),
        "sections": [
            {
                "heading": translate(section.heading, language) if section.heading else None,
                "lines": [
                    {
                        "text": line.text,
                        "label": translate(line.label, language) if line.label else None,
                        "posts": list(map(str, line.posts)),
                    }
                    for line in section.lines
                ],
            }
            for section in content.sections
        ],
        "posts": [
            {"post_id": str(post.post_id), **dict(zip(COLUMNS, _row(number, post), strict=True))}
            for number, post in _number_posts(content.posts)
        ],
    }


def _number_posts(posts: tuple[SourcePost, ...]) -> Iterator[tuple[int, SourcePost]]:
    return enumerate(posts, start=1)


def _utc(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]
