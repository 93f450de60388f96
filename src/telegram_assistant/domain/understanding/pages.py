"""Pages that posts link to, and how reading them ended."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from telegram_assistant.domain.posts.post import Json
from telegram_assistant.errors import AssistantError
from telegram_assistant.reasons import Reason

MAX_EXCERPT_LENGTH = 4000
"""The length of the excerpt of a page's text that is stored with each post that links to it."""


class PageStatus(StrEnum):
    """How reading a page ended."""

    READ = "read"
    EMPTY = "empty"
    """The page exists, but nothing on it could be read: often scripts build it,
    and no browser was available.
    """
    GONE = "gone"
    """The server does not have it, or does not show it to us."""
    BLOCKED = "blocked"
    """The address is not on the public web."""
    ROBOTS = "robots"
    """The site asks programs to stay away."""
    NOT_A_PAGE = "not_a_page"
    TOO_LARGE = "too_large"
    TOO_SLOW = "too_slow"
    FAILED = "failed"
    """The server did not answer, or answered with an error."""
    WAITING = "waiting"
    """Waiting for the site's turn, or for another process that reads the page,
    would have taken longer than a post waits.
    """


class Unreadable(AssistantError):
    """A linked page cannot be read; the post goes on without it."""

    def __init__(self, status: PageStatus, reason: Reason) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


_DAY = timedelta(days=1)
LIFETIMES: dict[PageStatus, timedelta] = {
    PageStatus.READ: 7 * _DAY,
    PageStatus.EMPTY: _DAY,
    PageStatus.GONE: _DAY,
    PageStatus.BLOCKED: _DAY,
    PageStatus.ROBOTS: _DAY,
    PageStatus.NOT_A_PAGE: 7 * _DAY,
    PageStatus.TOO_LARGE: 7 * _DAY,
    PageStatus.TOO_SLOW: timedelta(minutes=10),
    PageStatus.FAILED: timedelta(minutes=10),
    PageStatus.WAITING: timedelta(0),
}
"""How long a result is valid, for all tenants; a page that cannot be read at the moment is retried sooner."""
MAX_KEPT_LENGTH = 7 * _DAY


@dataclass(frozen=True, slots=True)
class Extracted:
    """The content extracted from a page. Everything but the text may be missing."""

    text: str = ""
    title: str | None = None
    author: str | None = None
    published_on: str | None = None
    lang: str | None = None
    image_url: str | None = None
    canonical_url: str | None = None
    needs_browser: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedPage:
    """A read page.

    `url` is the address after redirects; `canonical_url` is what the page claims, unverified.
    """

    url: str
    status: PageStatus
    title: str | None = None
    author: str | None = None
    published_at: datetime | None = None
    lang: str | None = None
    text: str = ""
    image_url: str | None = None
    canonical_url: str | None = None
    why: Reason | None = None
    """The reason if the page was not read."""
    by_browser: bool = False

    def as_json(self, asked_url: str) -> dict[str, Json]:
        """The facts for a post that links to the page as `asked_url`."""
        facts: dict[str, Json] = {"url": asked_url, "status": self.status.value}
        optional_facts: dict[str, Json] = {
            "found_at": self.url if self.url != asked_url else None,
            "title": self.title,
            "author": self.author,
            "published_at": self.published_at.isoformat() if self.published_at else None,
            "lang": self.lang,
            "excerpt": self.text[:MAX_EXCERPT_LENGTH],
            "image_url": self.image_url,
            "why": None if self.why is None else str(self.why),
            "reason": None if self.why is None else self.why.as_json(),
        }
        return facts | {name: value for name, value in optional_facts.items() if value}


def lifetime_of(status: PageStatus, attempt_count: int) -> timedelta:
    """How long the result is valid; each failure in a row doubles it."""
    longer = (
        LIFETIMES[status] * 2 ** min(max(attempt_count - 1, 0), 16)
        if status in {PageStatus.FAILED, PageStatus.TOO_SLOW}
        else LIFETIMES[status]
    )
    return min(longer, MAX_KEPT_LENGTH)
