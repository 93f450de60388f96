"""Removes secrets from log messages, by field name and by text pattern."""

import re

from structlog.typing import EventDict, WrappedLogger

HIDDEN = "[hidden]"

SECRET_FIELDS = re.compile(
    r"passw|secret|token|credential|authoriz|api_hash|access_hash|auth_key|session_string|operator_key"
    r"|phone(?!_masked)|(^|_)(session|cookie|code)$",
    re.IGNORECASE,
)

SECRET_TEXTS = (
    (re.compile(r"(?<![\w-])1[A-Za-z0-9_-]{200,}={0,2}"), HIDDEN),  # a Telethon session string: a full login
    (re.compile(r"(?<!\d)\d{6,12}:[A-Za-z0-9_-]{30,}"), HIDDEN),  # a bot token
    (re.compile(r"(?<=://)([^\s:/@]+):[^\s/@]+(?=@)"), rf"\1:{HIDDEN}"),  # the password inside a URL
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{6,}"), rf"\1 {HIDDEN}"),
    (
        re.compile(r"\b(share_|feed_)[A-Za-z0-9_-]{40,}"),
        rf"\1{HIDDEN}",
    ),  # the token of a public link or a feed
    (re.compile(r"\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*"), HIDDEN),  # a JSON web token
    (re.compile(r"(?<![\w+])\+\d(?:[\s()-]*\d){8,14}(?!\d)"), HIDDEN),  # a phone number, with its plus sign
    (
        re.compile(
            r"(?i)\b(password|secret|token|api_hash|phone(?:_number)?)(['\"]?\s*[=:]\s*['\"]?)[^\s'\",;)]+"
        ),
        rf"\1\2{HIDDEN}",
    ),
)


def scrub_text(text: str) -> str:
    """Hides everything in the text that looks like a secret."""
    for pattern, replacement in SECRET_TEXTS:
        text = pattern.sub(replacement, text)
    return text


def scrub(value: object, field: str = "") -> object:
    """Hides secrets in a value, however deeply nested."""
    if SECRET_FIELDS.search(field) and value is not None:
        return HIDDEN
    match value:
        case bytes() | bytearray() | memoryview():
            return f"[{len(value)} bytes]"
        case dict():
            return {key: scrub(item, str(key)) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [scrub(item) for item in value]
        case bool() | int() | float() | None:
            return value
        case _:
            return scrub_text(str(value))


def scrub_event(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """The structlog processor; it runs after tracebacks have become text."""
    return {key: scrub(value, "" if key in {"event", "exception"} else key) for key, value in event.items()}
