"""Strangers' links: which of them a page offers, and when it says where they lead.

An accepted address is written anew from its parts, in printable ASCII, so that the browser finds the same
host in it as we did.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from operator import itemgetter
from urllib.parse import quote

from telegram_assistant.domain.posts.links import MAX_URL_LENGTH
from telegram_assistant.domain.posts.post import TextEntity
from telegram_assistant.web.characters import has_visible

MAX_HOST_LENGTH = 253
_REFUSED = re.compile(r"[\s\\\x00-\x1f\x7f-\x9f]")
"""Browsers drop some of these inside an address, and read a backslash as a slash."""
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.ASCII | re.IGNORECASE)
_WEB_ADDRESS = re.compile(
    r"https?://(?:[^/?#]*@)?(?P<host>\[[0-9a-f:.]+\]|"
    r"[^/?#@:\[\]]+)(?::(?P<port>[0-9]{0,5}))?(?P<rest>(?:[/?#].*)?)",
    re.ASCII | re.IGNORECASE,
)
"""The part before an @ is left out: nobody needs it, and it passes for the host."""
_TELEPHONE = re.compile(r"[+0-9().-]+")
"""Star and hash are commands to a telephone."""
_USERNAME = re.compile(r"@[a-z0-9_]{1,32}", re.ASCII | re.IGNORECASE)
_UNQUOTED = "/?#:@!$&'()*+,;=~%[]"

_UNSEEN = "\u00ad\u034f\u061c\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff"
_INVISIBLE = re.compile(f"[{_UNSEEN}]")
_LABEL = rf"[\w\-{_UNSEEN}]"
_HOST_LIKE = re.compile(rf"(?<!{_LABEL}){_LABEL}++(?:[.․。．｡]{_LABEL}++)+")
_ENDING = re.compile(r"[^\W\d_][\w-]+")
"""At least two letters: 3.5 and U.S. are no hosts."""


@dataclass(frozen=True, slots=True)
class SafeLink:
    """An address that a page may offer, and its host in a spelling that passes for no other."""

    address: str
    host: str


def link_of(entity: TextEntity, words: str) -> SafeLink | None:
    """The link that Telegram shows for these words.

    Returns None if there is none, or if pages do not offer it.
    """
    address_of = _ADDRESSES.get(entity.kind)
    return safe_link(address_of(entity, words)) if address_of else None


def safe_link(address: str) -> SafeLink | None:
    """Accepts the schemes http, https, mailto, tel, tg and ton."""
    address = address.strip()
    if len(address) > MAX_URL_LENGTH or _REFUSED.search(address):
        return None
    scheme, _, address_part = address.partition(":")
    scheme = scheme.lower()
    match scheme:
        case "http" | "https":
            return _web_link(scheme, address)
        case "mailto":
            return SafeLink(
                f"mailto:{_quote_path(address_part)}",
                _host(address_part.partition("?")[0].rpartition("@")[2]) or "mailto:",
            )
        case "tg" | "ton":
            return SafeLink(f"{scheme}:{_quote_path(address_part)}", f"{scheme}:")
        case "tel" if _TELEPHONE.fullmatch(address_part):
            return SafeLink(f"tel:{address_part}", "tel:")
    return None


def _web_link(scheme: str, address: str) -> SafeLink | None:
    parts = _WEB_ADDRESS.fullmatch(address)
    host = _host(parts["host"]) if parts else None
    if parts is None or host is None:
        return None
    port = f":{parts['port']}" if parts["port"] else ""
    return SafeLink(f"{scheme}://{quote(host, safe='[]:%')}{port}{_quote_path(parts['rest'])}", host)


def _host(address: str) -> str | None:
    """The host in one spelling.

    Letters of other scripts stay under an ending of their own (мвд.рф), and are quoted under .com.
    """
    host = _fold_host(address)
    ending = host.rpartition(".")[2]
    if len(host) > MAX_HOST_LENGTH or not (
        _is_ipv4(host) if ending[:1].isdigit() else host.startswith("[") or _is_name(host)
    ):
        return None
    return quote(host, safe="[]:") if ending.isascii() else host


def _is_ipv4(host: str) -> bool:
    """Browsers also accept other spellings, like 2130706433 and 0x7f.1, which nobody can read."""
    try:
        IPv4Address(host)
    except ValueError:
        return False
    return True


def _is_name(host: str) -> bool:
    return bool(host) and all(
        letter.isalnum() or letter in "-._" or unicodedata.category(letter)[0] == "M" for letter in set(host)
    )


def _fold_host(host: str) -> str:
    return unicodedata.normalize("NFKC", host).lower().replace("。", ".").strip(".")


def _quote_path(path: str) -> str:
    return quote(path, safe=_UNQUOTED, errors="replace")


_ADDRESSES: dict[str, Callable[[TextEntity, str], str]] = {
    "url": lambda _, words: words if _SCHEME.match(words) else f"http://{words}",
    "text_url": lambda entity, _: entity.url or "",
    "mention": lambda _, words: f"https://t.me/{words[1:]}" if _USERNAME.fullmatch(words) else "",
    "mention_name": lambda entity, _: (
        f"tg://user?id={entity.detail}" if isinstance(entity.detail, int) else ""
    ),
    "email": lambda _, words: f"mailto:{quote(words, safe='@+', errors='replace')}" if "@" in words else "",
    "phone": lambda _, words: f"tel:{'+' * words.startswith('+')}{re.sub('[^0-9]', '', words)}",
}


type VisibleHost = tuple[int, int, str]
"""The end of the host in the text, its beginning, and the host itself."""


def visible_hosts(text: str) -> list[VisibleHost]:
    """The words of a text that look like hosts, as a reader would read them: without what is invisible,
    in common letters.
    """
    candidates = (
        (match.end(), match.start(), _fold_host(_INVISIBLE.sub("", match[0])))
        for match in _HOST_LIKE.finditer(text)
    )
    return [
        (end, start, host.removeprefix("www."))
        for end, start, host in candidates
        if _ENDING.fullmatch(host.rpartition(".")[2])
    ]


def unexpected_host(
    link: SafeLink, text: str, start: int, end: int, hosts: Sequence[VisibleHost]
) -> str | None:
    """The host of the link from `start` to `end`, if its reader expects another one, or sees nothing.

    A link that covers only a part of a word is compared with the whole word.
    """
    host_index = bisect_right(hosts, start, key=itemgetter(0))
    expected_text = (
        hosts[host_index][2]
        if host_index < len(hosts) and hosts[host_index][1] < end
        else link.host.removeprefix("www.")
    )
    is_expected = expected_text == link.host.removeprefix("www.") and "%" not in link.host
    return None if is_expected and has_visible(text[start:end]) else link.host
