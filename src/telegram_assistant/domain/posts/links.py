"""The links in a post, and the link to it."""

from collections.abc import Sequence
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.posts.post import TextEntity

MAX_URL_LENGTH = 2000
USUAL_PORTS = {"http": ":80", "https": ":443"}
WHO_SENT_YOU = frozenset({"fbclid", "gclid", "dclid", "yclid", "ysclid", "msclkid", "igshid", "mc_cid", "mc_eid", "_openstat", "twclid"})
"""Parameters that say who sent a reader, and nothing about the page; and all that begin with utm_."""


def urls_of(text: str, entities: Sequence[TextEntity]) -> tuple[str, ...]:
    """Each address once, in the order of the text; only http and https, without fragments."""
    units = text.encode("utf-16-le", "surrogatepass")
    found: dict[str, None] = {}
    for entity in entities:
        if entity.kind == "text_url":
            address = entity.url or ""
        elif entity.kind == "url":
            address = units[entity.offset * 2 : (entity.offset + entity.length) * 2].decode("utf-16-le", "replace")
        else:
            continue
        normal = normal_url(address)
        if normal is not None:
            found[normal] = None
    return tuple(found)


def normal_url(address: str) -> str | None:
    """The same page, the same address: a scheme, a lower-case host, no fragment. None where it is no web address."""
    address = address.strip()
    if "://" not in address:
        address = f"http://{address}"
    try:
        parts = urlsplit(address)
        host = (parts.hostname or "").lower()
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return None
    if parts.scheme not in {"http", "https"} or "." not in host or len(address) > MAX_URL_LENGTH:
        return None
    return urlunsplit((parts.scheme, f"{host}{port}", parts.path or "/", parts.query, ""))


def canonical_url(url: str) -> str:
    """The same page, whoever sent the reader there: without the usual port, and without parameters that only count.

    What leads to no host stays as it is.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port  # a port that is no number raises when it is read
        given = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        return url
    if not host:
        return url
    kept = [(name, value) for name, value in given if not name.lower().startswith("utm_") and name.lower() not in WHO_SENT_YOU]
    query = parts.query if len(kept) == len(given) else urlencode(kept)
    return urlunsplit((parts.scheme, parts.netloc.removesuffix(USUAL_PORTS.get(parts.scheme, "")), parts.path or "/", query, ""))


def link_to(post_id: PostId, username: str | None) -> str:
    """Where Telegram itself shows the post."""
    return f"https://t.me/{username or f'c/{post_id.channel_id}'}/{post_id.message_id}"
