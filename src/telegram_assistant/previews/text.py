"""The words of a bubble with their marks, as Telegram itself would have sent them."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from telegram_assistant.domain.posts.post import TextEntity
from telegram_assistant.domain.posts.text import storable
from telegram_assistant.previews.tree import UNREAD, Node

MAX_ADDRESS_LENGTH = 4096
SCHEMES = frozenset({"http", "https", "tg", "ton"})
SOURCE_LINES = re.compile(r"[ \t]*[\r\n]\s*")
"""A line of the source is no line of the text: those are `<br/>`."""

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
    """A text and its marks; offsets count UTF-16 units and lie inside the text."""

    text: str
    entities: tuple[TextEntity, ...]


def written_in(node: Node) -> PreviewText:
    pen = _Pen()
    pen.write(node)
    text = "".join(pen.pieces)
    before, kept = _units(text) - _units(text.lstrip()), text.strip()
    return PreviewText(kept, tuple(_within(sorted(pen.entities, key=lambda one: (one.offset, -one.length)), before, _units(kept))))


def _within(entities: list[TextEntity], before: int, size: int) -> list[TextEntity]:
    """After `before` units were taken from the beginning of the text, which has `size` units now."""
    kept = []
    for one in entities:
        start, end = max(0, one.offset - before), min(size, one.offset - before + one.length)
        if start < end:
            kept.append(TextEntity(one.kind, start, end - start, one.url, one.detail))
    return kept


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


class _Pen:
    """Writes from left to right, and knows where it is in UTF-16 units."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.entities: list[TextEntity] = []
        self._at = 0

    def write(self, node: Node, *, as_it_is: bool = False) -> None:
        """The tree is not deep, so this may call itself."""
        for child in node.children:
            if isinstance(child, str):
                self._say(child if as_it_is else SOURCE_LINES.sub(" ", child))
            elif child.tag == "br":
                self._say("\n")
            elif child.tag not in UNREAD:
                self._write_marked(child, inside=node, as_it_is=as_it_is or child.tag == "pre")

    def _write_marked(self, node: Node, *, inside: Node, as_it_is: bool) -> None:
        start, first = self._at, len(self.pieces)
        if "emoji" in node.classes:
            self._say(node.words())
            return
        self.write(node, as_it_is=as_it_is)
        mark = _mark_of(node, inside, "".join(self.pieces[first:]))
        if mark is not None and self._at > start:
            kind, url, detail = mark
            self.entities.append(TextEntity(kind, start, self._at - start, url, detail))

    def _say(self, text: str) -> None:
        written = storable(text)
        self._at += _units(written)
        self.pieces.append(written)


type Mark = tuple[str, str | None, str | int | None]


def _mark_of(node: Node, inside: Node, words: str) -> Mark | None:
    """Kind, address and detail."""
    if node.tag == "a":
        return _link(node.get("href"), words)
    if node.tag == "code" and inside.tag == "pre":
        return None
    kind = _MARKS.get(node.tag)
    detail = _DETAILS.get(node.tag)
    return None if kind is None else (kind, None, None if detail is None else detail(node))


def _language(node: Node) -> str | None:
    code = next((one for one in node.inside() if one.tag == "code"), None)
    names = [name.removeprefix("language-") for name in (code.classes if code else ()) if name.startswith("language-")]
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
    """What Telegram made a link by itself has no address of its own: the words are it."""
    address, shown = storable(address), words.strip()
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
    if shown.startswith("@") and path.lower() == shown[1:].lower():
        return "mention", None, None
    return ("url", None, None) if _is_spelled(address, shown) else ("text_url", address, None)


def _is_spelled(address: str, words: str) -> bool:
    spelled = {one.rstrip("/") for one in (words, f"http://{words}", f"https://{words}")}
    return address.rstrip("/") in spelled or unquote(address).rstrip("/") in spelled
