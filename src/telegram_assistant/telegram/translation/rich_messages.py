"""Translates messages written as a page (headings, lists, tables,
pictures between them) into one text with entities.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from telethon.tl import TLObject, types

from telegram_assistant.domain.posts.post import Facts, TextEntity
from telegram_assistant.domain.posts.text import storable
from telegram_assistant.telegram.translation.values import pick_facts


class RichText(NamedTuple):
    """The text of a message.

    `ids` are the files that a page shows between its words, `facts` belong to the post.
    """

    text: str
    entities: tuple[TextEntity, ...]
    ids: tuple[int, ...]
    facts: Facts


def rich_text_of(page: types.RichMessage) -> RichText:
    """Translate a page. A page longer than Telegram sends with a message is marked `part`."""
    builder = _TextBuilder()
    builder.write(page.blocks)
    entities = sorted(builder.entities, key=lambda entity: (entity.offset, -entity.length))
    facts = pick_facts(page, ("rtl", "part", "photos", "documents"))
    ids = tuple(file.id for file in (*page.photos, *page.documents))
    return RichText("".join(builder.pieces), tuple(entities), ids, {"rich": facts})


_MARKS = {
    types.TextBold: "bold",
    types.TextItalic: "italic",
    types.TextUnderline: "underline",
    types.TextStrike: "strike",
    types.TextSpoiler: "spoiler",
    types.TextFixed: "code",
    types.TextMarked: "marked",
    types.TextSubscript: "subscript",
    types.TextSuperscript: "superscript",
    types.TextMath: "math",
    types.TextAutoUrl: "url",
    types.TextEmail: "email",
    types.TextAutoEmail: "email",
    types.TextPhone: "phone",
    types.TextAutoPhone: "phone",
    types.TextBankCard: "bank_card",
    types.TextMention: "mention",
    types.TextMentionName: "mention_name",
    types.TextHashtag: "hashtag",
    types.TextCashtag: "cashtag",
    types.TextBotCommand: "bot_command",
    types.TextCustomEmoji: "custom_emoji",
    types.TextDate: "formatted_date",
    types.PageBlockTitle: "heading",
    types.PageBlockSubtitle: "heading",
    types.PageBlockHeader: "heading",
    types.PageBlockSubheader: "heading",
    types.PageBlockHeading1: "heading",
    types.PageBlockHeading2: "heading",
    types.PageBlockHeading3: "heading",
    types.PageBlockHeading4: "heading",
    types.PageBlockHeading5: "heading",
    types.PageBlockHeading6: "heading",
    types.PageBlockPreformatted: "pre",
    types.PageBlockMath: "math",
    types.PageBlockBlockquote: "blockquote",
    types.PageBlockBlockquoteBlocks: "blockquote",
    types.PageBlockPullquote: "blockquote",
}

_DETAILS: dict[type, Callable[[Any], str | int | None]] = {
    types.TextMentionName: lambda node: int(node.user_id),
    types.TextCustomEmoji: lambda node: int(node.document_id),
    types.TextDate: lambda node: str(node.date.isoformat()),
    types.PageBlockPreformatted: lambda node: storable(node.language) or None,
    types.PageBlockBlockquote: lambda node: "collapsed" if node.collapsed else None,
}

_LINES = {
    kind.SUBCLASS_OF_ID
    for kind in (
        types.PageBlockParagraph,
        types.PageListItemText,
        types.PageListOrderedItemText,
        types.PageTableRow,
        types.PageRelatedArticle,
    )
}
"""Types that begin on a new line."""

_TEXT_FIELDS = (
    *("cover", "title", "author", "description", "texts", "text", "source", "alt", "channel"),
    *("blocks", "items", "rows", "cells", "buttons", "articles", "caption", "credit"),
)
"""Fields that hold text, in reading order.

Any node with one of them is read, so that no new type of block is lost.
"""


class _TextBuilder:
    """Builds the text from left to right, and counts its position in UTF-16 units."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.entities: list[TextEntity] = []
        self._position = 0
        self._on_new_line = False
        self._after_bullet = False

    def write(self, node: TLObject | list[Any] | str) -> None:
        if isinstance(node, str):
            self._append(node)
        elif isinstance(node, list):
            for child in node:
                self.write(child)
        else:
            self._write_marked(node)

    def _write_marked(self, node: TLObject) -> None:
        if node.SUBCLASS_OF_ID in _LINES:
            self._break()
        start = self._position + self._on_new_line
        self._write_inside(node)
        mark = _mark_of(node)
        if mark is not None and self._position > start:
            kind, url, detail = mark
            self.entities.append(TextEntity(kind, start, self._position - start, url, detail))

    def _write_inside(self, node: TLObject) -> None:
        for name in _TEXT_FIELDS:
            content = getattr(node, name, None)
            if content is None:
                continue
            if name in {"caption", "credit"}:
                self._break()
            if name == "items" and type(node) in _BULLETS:
                self._write_list(node)
            elif name == "cells":
                self._write_cells(content)
            else:
                self.write(content)

    def _write_list(self, node: types.PageBlockList | types.PageBlockOrderedList) -> None:
        for number, item in enumerate(node.items, getattr(node, "start", None) or 1):
            self._break()
            self._append(_BULLETS[type(node)](item, number))
            self._after_bullet = True
            self.write(item)

    def _write_cells(self, cells: list[types.PageTableCell]) -> None:
        for cell_index, cell in enumerate(cells):
            self._append(" | " if cell_index else "")
            self.write(cell)

    def _append(self, text: str) -> None:
        if text:
            storable_text = storable(f"\n{text}" if self._on_new_line else text)
            self._on_new_line = self._after_bullet = False
            self._position += len(storable_text.encode("utf-16-le")) // 2
            self.pieces.append(storable_text)

    def _break(self) -> None:
        self._on_new_line = bool(self.pieces) and not self._after_bullet


_BULLETS: dict[type, Callable[[Any, int], str]] = {
    types.PageBlockList: lambda item, _: ("☑ " if item.checked else "☐ ") if item.checkbox else "• ",
    types.PageBlockOrderedList: lambda item, number: f"{item.num or number}. ",
}


def _mark_of(node: TLObject) -> tuple[str, str | None, str | int | None] | None:
    """Return kind, URL and detail. Everything with a URL is a link: text, buttons, pictures."""
    address = getattr(node, "url", None) or getattr(getattr(node, "type", None), "url", None)
    if address:
        return "text_url", storable(address), None
    kind, detail = _MARKS.get(type(node)), _DETAILS.get(type(node))
    return None if kind is None else (kind, None, None if detail is None else detail(node))
