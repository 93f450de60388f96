"""A page of the web around the world: what a newspaper wrote about something that posts tell, too."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from telegram_simulator.world.post import File


class PageKind(StrEnum):
    """How a page behaves when somebody fetches it."""

    ARTICLE = "article"
    SCRIPT = "script"
    """Without JavaScript there is nothing to read."""
    PAYWALL = "paywall"
    """Only the beginning is shown."""
    CLOSED = "closed"
    """robots.txt asks not to fetch it."""
    SLOW = "slow"
    HUGE = "huge"
    """An article, and then comments without end."""
    PRIVATE = "private"
    """A redirect to an address that is nobody's business."""


class Section(NamedTuple):
    """Paragraphs under a heading; the first section has none."""

    heading: str
    paragraphs: tuple[str, ...]


class Furniture(NamedTuple):
    """The texts that a newspaper prints on every page."""

    paper: str
    motto: str
    sections: Mapping[str, str]
    photo: str
    also: str
    comments: str
    wall: Sequence[str]
    loading: str
    no_script: str
    months: Sequence[str]
    readers: Sequence[str]


class Mention(NamedTuple):
    """Another article, as it is named on a page."""

    path: str
    title: str


@dataclass(frozen=True, slots=True)
class Article:
    """One article."""

    page_id: str
    kind: PageKind
    path: str
    site: str
    language: str
    rubric: str
    title: str
    author: str
    published: int
    sections: tuple[Section, ...]
    picture: File
    also: tuple[Mention, ...]
    furniture: Furniture

    @property
    def url(self) -> str:
        return self.site + self.path

    @property
    def paragraphs(self) -> tuple[str, ...]:
        return tuple(paragraph for section in self.sections for paragraph in section.paragraphs)

    @property
    def description(self) -> str:
        return self.paragraphs[0]


@dataclass(frozen=True, slots=True)
class Press:
    """The newspapers of a world: a page by its id, the newest pages of a language, and the truth about all
    pages that posts link to.
    """

    page: Callable[[str], Article | None] = lambda _: None
    newest: Callable[[str], Sequence[Article]] = lambda _: ()
    truth: Callable[[], Iterator[dict[str, Any]]] = lambda: iter(())
