"""The links in a post, and the link to it."""

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.posts.post import Post, TextEntity

MAX_URL_LENGTH = 2000
USUAL_PORTS = {"http": ":80", "https": ":443"}
TRACKING_PARAMETERS = frozenset(
    {
        "fbclid",
        "gclid",
        "dclid",
        "yclid",
        "ysclid",
        "msclkid",
        "igshid",
        "mc_cid",
        "mc_eid",
        "_openstat",
        "twclid",
    }
)
"""Query parameters that identify the referrer and not the page; so do all that begin with utm_."""


def urls_of(text: str, entities: Sequence[TextEntity]) -> tuple[str, ...]:
    """The distinct http and https links of a text, in its order, without fragments."""
    units = text.encode("utf-16-le", "surrogatepass")
    urls: dict[str, None] = {}
    for entity in entities:
        if entity.kind == "text_url":
            address = entity.url or ""
        elif entity.kind == "url":
            address = units[entity.offset * 2 : (entity.offset + entity.length) * 2].decode(
                "utf-16-le", "replace"
            )
        else:
            continue
        normal = normal_url(address)
        if normal is not None:
            urls[normal] = None
    return tuple(urls)


def addresses_of(post: Post) -> tuple[str, ...]:
    """The distinct web addresses behind the words and the buttons of a post."""
    buttons = post.facts.get("buttons")
    behind_buttons = (
        [
            url
            for button in buttons
            if isinstance(button, Mapping)
            and isinstance(address := button.get("url"), str)
            and (url := normal_url(address)) is not None
        ]
        if isinstance(buttons, Sequence) and not isinstance(buttons, str)
        else []
    )
    return tuple(dict.fromkeys((*urls_of(post.text, post.entities), *behind_buttons)))


def normal_url(address: str) -> str | None:
    """Normalises a link: with a scheme, a lower-case host and no fragment.

    Returns None if it is no web address.
    """
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
    """The link without the default port and without tracking parameters.

    A link without a host stays unchanged.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port  # a port that is no number raises when it is read
        query_pairs = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        return url
    if not host:
        return url
    parameters = [
        (name, value)
        for name, value in query_pairs
        if not name.lower().startswith("utm_") and name.lower() not in TRACKING_PARAMETERS
    ]
    query = parts.query if len(parameters) == len(query_pairs) else urlencode(parameters)
    return urlunsplit(
        (
            parts.scheme,
            parts.netloc.removesuffix(USUAL_PORTS.get(parts.scheme, "")),
            parts.path or "/",
            query,
            "",
        )
    )


def link_to(post_id: PostId, username: str | None) -> str:
    """The t.me link of the post."""
    return f"https://t.me/{username or f'c/{post_id.channel_id}'}/{post_id.message_id}"
