"""Targets of the links in posts: each story has a page in each language,
and what kind of page that is follows from the story.
"""

import random
from typing import NamedTuple

from telegram_simulator.world.article import PageKind
from telegram_simulator.world.demo.packs import LANGUAGES
from telegram_simulator.world.demo.plan import Planned, Shows, Story

SITE = "https://news.example"
"""A name that is reserved, so that it leads nowhere: worlds are the same wherever their pages are served."""
SHARES = (
    (0.80, PageKind.ARTICLE),
    (0.87, PageKind.SCRIPT),
    (0.92, PageKind.PAYWALL),
    (0.95, PageKind.CLOSED),
    (0.965, PageKind.SLOW),
    (0.98, PageKind.HUGE),
    (1.0, PageKind.PRIVATE),
)


class Link(NamedTuple):
    """A link to the article about a story."""

    story: Story
    language: str

    @property
    def page_id(self) -> str:
        return f"{self.story.number // 16:x}{self.language[0]}"

    @property
    def kind(self) -> PageKind:
        chance = random.Random(f"page {self.page_id} {self.story.event.name}").random()
        return next(kind for until, kind in SHARES if chance < until)

    @property
    def path(self) -> str:
        return f"/{'closed' if self.kind is PageKind.CLOSED else 'articles'}/{self.page_id}"


def link_of(post: Planned) -> Link | None:
    """The page that the post links to, if any."""
    linked_post = post.root
    if linked_post.story is None or not (linked_post.links or linked_post.shows is Shows.PAGE):
        return None
    return Link(linked_post.story, linked_post.channel.language)


def read_page_id(page_id: str) -> tuple[int, str] | None:
    """Number of the story and language, if it is a page id."""
    number, letter = page_id[:-1], page_id[-1:]
    language = next((language for language in LANGUAGES if language[0] == letter), None)
    if language is None or not number or not set(number) <= set("0123456789abcdef"):
        return None
    return int(number, 16) * 16, language
