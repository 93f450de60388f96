"""Recognises addresses that somebody paid for, by the mark that law requires and by those of trade."""

import re
from collections.abc import Iterable

MAX_ADDRESSES = 50
"""A post with more links is a list of links."""
_PAID = re.compile(
    r"(?:[?&]|/|%26|%3f)erid(?:=|%3d|[_/-]?[a-z0-9]*\d)|"
    r"[?&]utm_medium=(?:cpa|cpc|cpv|cpm|posev|seeding|paid|fix|blogger|tgads)(?![a-z])|"
    r"^https?://(?:[\w-]+\.)*(?:onelink\.me|adjust\.(?:com|io)|app\.adjust\.\w+|appsflyer\.com|tglink\.io|"
    r"commercial\.link|sponsored\.link)(?:[/:?]|$)",
    re.IGNORECASE,
)
_SHORT = re.compile(r"^https?://([\w-]{2,12}\.[a-z]{2,8})/(?=\w*\d)(?=\w*[a-z])\w{4,10}/?$", re.IGNORECASE)
_OWN_HOSTS = frozenset({"t.me", "youtu.be", "vk.com", "x.com", "dzen.ru", "ok.ru", "rutube.ru"})
"""Their short addresses lead to posts and videos."""


def has_paid_link(addresses: Iterable[str]) -> bool:
    return any(_PAID.search(address) for address in addresses)


def has_short_link(addresses: Iterable[str]) -> bool:
    """Whether an address is a code that hides its page."""
    return any(
        (short := _SHORT.match(address)) is not None and short[1].casefold() not in _OWN_HOSTS
        for address in addresses
    )
