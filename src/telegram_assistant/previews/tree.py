"""Parses HTML into a searchable tree. Any input ends in a tree of bounded size or in UnknownMarkup."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import override

from telegram_assistant.errors import UnknownMarkup
from telegram_assistant.reasons import Reason

MAX_NODES = 60_000
MAX_DEPTH = 100
VOID_ELEMENTS = frozenset(
    {
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
    }
)
"""Elements without an end tag."""
SKIPPED_ELEMENTS = frozenset({"script", "style"})


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One element."""

    tag: str
    attributes: Mapping[str, str]
    children: list["Node | str"] = field(default_factory=list)

    @property
    def classes(self) -> Collection[str]:
        return self.attributes.get("class", "").split()

    def get(self, attribute: str) -> str:
        return self.attributes.get(attribute, "")

    def inside(self, *, leave_out: Collection[str] = ()) -> Iterator["Node"]:
        """Yield every element below this one in page order.

        Skips elements of a class in `leave_out` and everything below them.
        """
        waiting_nodes = [child for child in reversed(self.children) if isinstance(child, Node)]
        while waiting_nodes:
            node = waiting_nodes.pop()
            if leave_out and not set(leave_out).isdisjoint(node.classes):
                continue
            yield node
            waiting_nodes += [child for child in reversed(node.children) if isinstance(child, Node)]

    def all(self, class_name: str, *, leave_out: Collection[str] = ()) -> Iterator["Node"]:
        return (node for node in self.inside(leave_out=leave_out) if class_name in node.classes)

    def first(self, class_name: str, *, leave_out: Collection[str] = ()) -> "Node | None":
        return next(self.all(class_name, leave_out=leave_out), None)

    def words(self) -> str:
        """Return the visible text on one line."""
        texts, waiting_nodes = list[str](), list[Node | str](reversed(self.children))
        while waiting_nodes:
            child = waiting_nodes.pop()
            if isinstance(child, str):
                texts.append(child)
            elif child.tag not in SKIPPED_ELEMENTS:
                waiting_nodes += reversed(child.children)
        return " ".join("".join(texts).split())


def tree_of(html: str) -> Node:
    """Parse HTML. Unclosed elements are closed at the end; an end tag without a start is ignored."""
    builder = _Builder()
    try:
        builder.feed(html)
        builder.close()
    except (AssertionError, ValueError) as error:  # raised by the standard library's parser
        raise UnknownMarkup(Reason("markup_not_html", "the page is not HTML")) from error
    return builder.root


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("", {})
        self._open = [self.root]
        self._nodes = 0

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add(tag, attrs, stays_open=tag not in VOID_ELEMENTS)

    @override
    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add(tag, attrs, stays_open=False)

    @override
    def handle_endtag(self, tag: str) -> None:
        for depth in range(len(self._open) - 1, 0, -1):
            if self._open[depth].tag == tag:
                del self._open[depth:]
                return

    @override
    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)

    def _add(self, tag: str, attrs: list[tuple[str, str | None]], *, stays_open: bool) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES or len(self._open) > MAX_DEPTH:
            raise UnknownMarkup(Reason("markup_too_deep", "the page is larger or deeper than any preview"))
        node = Node(tag, {name: value or "" for name, value in attrs})
        self._open[-1].children.append(node)
        if stays_open:
            self._open.append(node)
