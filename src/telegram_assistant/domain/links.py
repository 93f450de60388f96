"""The links in a post."""

from collections.abc import Sequence
from urllib.parse import urlsplit, urlunsplit

from telegram_assistant.domain.post import Entity

LONGEST_URL = 2000


def urls_of(text: str, entities: Sequence[Entity]) -> tuple[str, ...]:
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
    if parts.scheme not in {"http", "https"} or "." not in host or len(address) > LONGEST_URL:
        return None
    return urlunsplit((parts.scheme, f"{host}{port}", parts.path or "/", parts.query, ""))
