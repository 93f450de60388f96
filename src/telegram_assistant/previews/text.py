"""Translates the text of a bubble and its formatting, as Telegram itself would have sent them."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from telegram_assistant.domain.posts.post import TextEntity
from telegram_assistant.domain.posts.text import storable
from telegram_assistant.previews.tree import SKIPPED_ELEMENTS, Node

MAX_ADDRESS_LENGTH = 4096
SCHEMES = frozenset({"http", "https", "tg", "ton"})
SOURCE_LINES = re.compile(r"[ \t]*[\r\n]\s*")
"""Line breaks in the source are not line breaks in the text: those are `<br/>`."""

_MARKS = {
    **dict.fromkeys(("b", "strong"), "bold"),
    **dict.fromkeys(("i", "em"), "italic"),
    **dict.fromkeys(("u", "ins"), "underline"),
    **dict.fromkeys(("s", "strike", "del"), "strike"),
    "tg-spoiler": "spoiler",
    "code": "code",
    "pre": "pre",
    "blockquote": "blockquote",
    "tg-emoji": "custom_emoji",
}


@dataclass(frozen=True, slots=True)
class PreviewText:
    """A text and its entities. Offsets count UTF-16 units and lie inside the text."""

    text: str
    entities: tuple[TextEntity, ...]


def text_of(node: Node) -> PreviewText:
    builder = _TextBuilder()
    builder.write(node)
    text = "".join(builder.pieces)
    before, stripped_text = _units(text) - _units(text.lstrip()), text.strip()
    return PreviewText(
        stripped_text,
        tuple(
            _clip(
                sorted(builder.entities, key=lambda entity: (entity.offset, -entity.length)),
                before,
                _units(stripped_text),
            )
        ),
    )


def _clip(entities: list[TextEntity], before: int, text_units: int) -> list[TextEntity]:
    """Shift and clip entities after `before` units were removed from the start of the text,
    which now has `size` units.
    """
    clipped_entities = []
    for entity in entities:
        start, end = max(0, entity.offset - before), min(text_units, entity.offset - before + entity.length)
        if start < end:
            clipped_entities.append(TextEntity(entity.kind, start, end - start, entity.url, entity.detail))
    return clipped_entities


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


class _TextBuilder:
    """Builds the text from left to right, and counts its position in UTF-16 units."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.entities: list[TextEntity] = []
        self._position = 0

    def write(self, node: Node, *, keep_whitespace: bool = False) -> None:
        """Write a node and its children. The tree is shallow, so recursion is safe."""
        for child in node.children:
            if isinstance(child, str):
                self._append(child if keep_whitespace else SOURCE_LINES.sub(" ", child))
            elif child.tag == "br":
                self._append("\n")
            elif child.tag not in SKIPPED_ELEMENTS:
                self._write_marked(child, inside=node, keep_whitespace=keep_whitespace or child.tag == "pre")

    def _write_marked(self, node: Node, *, inside: Node, keep_whitespace: bool) -> None:
        start, first_piece_index = self._position, len(self.pieces)
        if "emoji" in node.classes:
            self._append(node.words())
            return
        self.write(node, keep_whitespace=keep_whitespace)
        mark = _mark_of(node, inside, "".join(self.pieces[first_piece_index:]))
        if mark is not None and self._position > start:
            kind, url, detail = mark
            self.entities.append(TextEntity(kind, start, self._position - start, url, detail))

    def _append(self, text: str) -> None:
        storable_text = storable(text)
        self._position += _units(storable_text)
        self.pieces.append(storable_text)


type Mark = tuple[str, str | None, str | int | None]


def _mark_of(node: Node, inside: Node, words: str) -> Mark | None:
    """Return kind, URL and detail."""
    if node.tag == "a":
        return _link(node.get("href"), words)
    if node.tag == "code" and inside.tag == "pre":
        return None
    kind = _MARKS.get(node.tag)
    detail = _DETAILS.get(node.tag)
    return None if kind is None else (kind, None, None if detail is None else detail(node))


def _language(node: Node) -> str | None:
    code = next((element for element in node.inside() if element.tag == "code"), None)
    names = [
        name.removeprefix("language-")
        for name in (code.classes if code else ())
        if name.startswith("language-")
    ]
    return storable(names[0]) if names else None


def _emoji_id(node: Node) -> int | None:
    number = node.get("emoji-id")
    return int(number) if number.isascii() and number.isdecimal() and int(number) < 2**63 else None


_DETAILS: dict[str, Callable[[Node], str | int | None]] = {
    "pre": _language,
    "tg-emoji": _emoji_id,
    "blockquote": lambda node: "collapsed" if "expandable" in node.attributes else None,
}


def _link(address: str, words: str) -> Mark | None:
    """Return the entity of a link. A link that Telegram made by itself has no URL: the text is the URL."""
    address, visible_text = storable(address), words.strip()
    if address.startswith("?q="):
        return ("cashtag" if unquote(address).startswith("?q=$") else "hashtag"), None, None
    try:
        scheme, path = urlsplit(address).scheme, urlsplit(address).path.strip("/")
    except ValueError:
        return None
    if scheme in {"mailto", "tel"}:
        return ("email" if scheme == "mailto" else "phone"), None, None
    if scheme not in SCHEMES or len(address) > MAX_ADDRESS_LENGTH:
        return None
    if visible_text.startswith("@") and path.lower() == visible_text[1:].lower():
        return "mention", None, None
    return ("url", None, None) if _is_same_url(address, visible_text) else ("text_url", address, None)


def _is_same_url(address: str, words: str) -> bool:
    spellings = {spelling.rstrip("/") for spelling in (words, f"http://{words}", f"https://{words}")}
    return address.rstrip("/") in spellings or unquote(address).rstrip("/") in spellings
