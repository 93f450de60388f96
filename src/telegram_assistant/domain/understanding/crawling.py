"""Rules that decide which links of a post are read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

from telegram_assistant.domain.posts.links import canonical_url
from telegram_assistant.reasons import Reason


class CrawlDecision(StrEnum):
    """Why a link is read or not."""

    READ = "read"
    OFF = "off"
    DENIED = "denied"
    NOT_ALLOWED = "not_allowed"
    TELEGRAM = "telegram"
    NEEDS_LOGIN = "needs_login"
    FILE = "file"
    TRACKER = "tracker"
    TOO_MANY = "too_many"
    NO_PAGE = "no_page"

    @property
    def words(self) -> Reason:
        """The decision for people."""
        return _WORDS[self]


_WORDS = {
    CrawlDecision.READ: Reason("link_read", "it will be read"),
    CrawlDecision.OFF: Reason("links_not_read", "reading of linked pages is switched off on this server"),
    CrawlDecision.DENIED: Reason("link_denied", "its site is excluded on this server"),
    CrawlDecision.NOT_ALLOWED: Reason(
        "link_not_allowed", "its site is not among those that this server reads"
    ),
    CrawlDecision.TELEGRAM: Reason(
        "link_to_telegram", "it leads to Telegram; such links are not read as pages"
    ),
    CrawlDecision.NEEDS_LOGIN: Reason("link_needs_login", "its site shows nothing without a login"),
    CrawlDecision.FILE: Reason("link_to_file", "it leads to a file, not to a page"),
    CrawlDecision.TRACKER: Reason("link_to_tracker", "it only counts clicks"),
    CrawlDecision.TOO_MANY: Reason("links_too_many", "other links of this post use up its limit"),
    CrawlDecision.NO_PAGE: Reason("link_to_no_page", "it is not the address of a page"),
}


@dataclass(frozen=True, slots=True)
class CrawlRules:
    """The installation's rules. A site on a list includes all its subdomains."""

    enabled: bool = True
    allow: frozenset[str] = frozenset()
    """Empty: every site that is not denied is allowed."""
    deny: frozenset[str] = frozenset()
    max_links: int = 3


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about one link."""

    url: str
    verdict: CrawlDecision


TELEGRAM = frozenset(
    {"t.me", "telegram.me", "telegram.dog", "telegram.org", "telesco.pe", "tg.dev", "fragment.com"}
)
NEEDS_LOGIN = frozenset(
    {
        "facebook.com",
        "instagram.com",
        "linkedin.com",
        "threads.net",
        "tiktok.com",
        "twitter.com",
        "x.com",
        "discord.com",
        "discord.gg",
        "wa.me",
    }
)
TRACKERS = frozenset(
    {"doubleclick.net", "googleadservices.com", "mc.yandex.ru", "an.yandex.ru", "appsflyer.com", "onelink.me"}
)
FILE = re.compile(
    r"\.(7z|apk|avi|avif|bmp|csv|deb|dmg|docx?|epub|exe|flac|gif|gz|heic|ico|iso|jpe?g|json"
    r"|m4a|mkv|mov|mp3|mp4|msi|odt|ogg|opus"
    r"|pdf|png|pptx?|rar|rpm|rss|svg|tar|tgz|tiff?|torrent|txt|wav|webm|webp|wma|wmv|xlsx?|xml|xz|zip)$",
    re.IGNORECASE,
)
LOGIN_PATHS = ("/login", "/signin", "/sign-in", "/oauth", "/auth/", "/logout", "/unsubscribe")


def decide(urls: Sequence[str], rules: CrawlRules) -> tuple[Decision, ...]:
    """A decision for each page that a post links to; the first `max_links` suitable ones are read."""
    decisions: dict[str, Decision] = {}
    links_left = rules.max_links
    for url in urls:
        address = canonical_url(url)
        if address in decisions:
            continue
        verdict = worth_reading(address, rules)
        if verdict is CrawlDecision.READ:
            verdict = CrawlDecision.READ if links_left > 0 else CrawlDecision.TOO_MANY
            links_left -= 1
        decisions[address] = Decision(address, verdict)
    return tuple(decisions.values())


def worth_reading(url: str, rules: CrawlRules) -> CrawlDecision:
    """Judges one link by itself. The operator's lists come first, and a denial before a permission."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").removesuffix(".")
    except ValueError:
        return CrawlDecision.NO_PAGE
    objections = (
        (not rules.enabled, CrawlDecision.OFF),
        (parts.scheme not in {"http", "https"} or not host or "@" in parts.netloc, CrawlDecision.NO_PAGE),
        (is_below(host, rules.deny), CrawlDecision.DENIED),
        (bool(rules.allow) and not is_below(host, rules.allow), CrawlDecision.NOT_ALLOWED),
        (is_below(host, TELEGRAM), CrawlDecision.TELEGRAM),
        (is_below(host, TRACKERS), CrawlDecision.TRACKER),
        (FILE.search(parts.path) is not None, CrawlDecision.FILE),
        (
            not rules.allow and (is_below(host, NEEDS_LOGIN) or parts.path.lower().startswith(LOGIN_PATHS)),
            CrawlDecision.NEEDS_LOGIN,
        ),
    )
    return next((verdict for applies, verdict in objections if applies), CrawlDecision.READ)


def is_below(host: str, sites: frozenset[str]) -> bool:
    """Whether a host is one of these sites or a subdomain of one."""
    labels = host.split(".")
    return any(".".join(labels[index:]) in sites for index in range(len(labels)))
