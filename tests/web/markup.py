"""Reads the HTML of a text more strictly than any browser: what we do not write on purpose is an error."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import override

from markupsafe import Markup, escape

SEARCH = "/search?q="
PHRASING = frozenset({"a", "bdi", "br", "code", "input", "label", "span", "strong", "summary", "time"}) | set(
    "bisu"
)
PHRASING |= {"del", "ins", "mark", "sub", "sup"}
BLOCKS = frozenset({"blockquote", "details", "div", "p", "pre"})
HOLDS_BLOCKS = frozenset({"div", "blockquote", "details"})
INTERACTIVE = frozenset({"a", "label"})
ATTRIBUTES = {
    "a": {"href", "rel", "target", "dir"},
    "bdi": {"class"},
    "code": {"class"},
    "details": {"class"},
    "div": {"class"},
    "input": {"type", "autocomplete", "aria-label"},
    "label": {"class"},
    "p": {"class", "dir"},
    "pre": {"dir"},
    "span": {"class", "dir"},
    "strong": {"class"},
    "time": {"datetime"},
}
CLASSES = re.compile(r"text|quote|spoiler|host|heading|math|diff|sr|fold|snippet|language-[a-z0-9+#-]{1,32}")
SCHEMES = re.compile(r"(?:https?://|mailto:|tel:|tg:|ton:)[!-~]*")
ADDED_BY_US = frozenset({"host", "sr", "fold", "summary"})


@dataclass(slots=True)
class ReadMarkup:
    """`text` is what the author wrote, `notes` are our own words in it,
    `tags` the opened elements in their order.
    """

    text: str = ""
    notes: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)


def read_markup(markup: Markup) -> ReadMarkup:
    """Fails unless the markup consists of allowed elements, properly nested,
    and would be written the same again.
    """
    reader = _Reader()
    reader.feed(str(markup))
    reader.close()
    assert reader.opened == []
    assert "".join(reader.written_again) == str(markup)
    return reader.markup


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.markup = ReadMarkup()
        self.opened: list[tuple[str, str]] = []
        self.written_again: list[str] = []

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        assert len(attributes) == len(attrs), f"an attribute twice: {attrs}"
        assert attributes.keys() <= ATTRIBUTES.get(tag, set()), f"<{tag}> with {attributes}"
        self._check_place(tag)
        self._check_values(tag, attributes)
        self.written_again.append(
            f"<{tag}{''.join(f' {name}="{escape(value)}"' for name, value in attributes.items())}>"
        )
        self.markup.tags.append(tag)
        if tag == "br":
            self._append("\n")
        elif tag != "input":
            self.opened.append((tag, attributes.get("class", tag)))

    @override
    def handle_endtag(self, tag: str) -> None:
        assert self.opened, f"</{tag}> of nothing"
        assert self.opened.pop()[0] == tag
        self.written_again.append(f"</{tag}>")

    @override
    def handle_data(self, data: str) -> None:
        self.written_again.append(str(escape(data)))
        self._append(data)

    def _append(self, data: str) -> None:
        if ADDED_BY_US.intersection(kind for _, kind in self.opened):
            self.markup.notes.append(data)
        else:
            self.markup.text += data

    def _check_place(self, tag: str) -> None:
        around = [name for name, _ in self.opened]
        assert tag in PHRASING | BLOCKS, f"<{tag}> is not allowed"
        if tag in BLOCKS:
            assert set(around) <= HOLDS_BLOCKS, f"<{tag}> in {around}"
        if tag in INTERACTIVE:
            assert tag not in around
            assert "a" not in around
        assert tag != "input" or around[-1] == "label"
        assert tag != "summary" or around[-1] == "details"

    def _check_values(self, tag: str, attributes: dict[str, str]) -> None:
        assert attributes.get("dir", "auto") in {"auto", "ltr"}
        if "class" in attributes:
            assert CLASSES.fullmatch(attributes["class"]), attributes
            self.markup.classes.append(attributes["class"])
        if tag == "a":
            address = attributes["href"]
            self.markup.addresses.append(address)
            assert address.startswith(SEARCH) or (
                SCHEMES.fullmatch(address) and attributes["rel"] == "noreferrer noopener nofollow"
            ), attributes
            assert attributes.get("target") == ("_blank" if address.startswith("http") else None)
