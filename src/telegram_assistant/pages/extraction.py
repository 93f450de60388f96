"""What is on a page: title, author, date, text, language, image. Runs in a process of its own, see `readers.py`.

A page that somebody wrote on purpose keeps the parser busy for minutes or fills the memory. So this process can be killed
at any time, may use so much memory and no more, and knows no secrets.
"""

import json
import logging
import resource
import sys
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import urljoin

import trafilatura

from telegram_assistant.domain.posts.language import language_of
from telegram_assistant.domain.posts.links import MAX_URL_LENGTH, normal_url
from telegram_assistant.domain.understanding.pages import Extracted

MAX_MEMORY_BYTES = 1_500_000_000
MAX_TEXT_LENGTH = 100_000
MAX_LINE_LENGTH = 500
ENOUGH_TEXT = 200
"""A page with less text and with scripts is probably built by them."""
SCRIPTED = ("<script", "<noscript")


def extract(body: bytes, charset: str | None, url: str) -> Extracted:
    """Read a page. `charset` is what the server says; without it the page's own word and a guess."""
    html = _decoded(body, charset)
    if "<" not in html:  # plain text is read as it is
        text = _clean(html)[:MAX_TEXT_LENGTH]
        return Extracted(text=text, lang=language_of(text))
    given: Any = trafilatura.bare_extraction(html, url=url, with_metadata=True, include_comments=False, include_images=False)
    scripted = any(sign in html.lower() for sign in SCRIPTED)
    if given is None:
        metadata: Any = trafilatura.extract_metadata(html, default_url=url)
        return _found("", metadata, url, needs_browser=scripted)
    return _found(_clean(given.text or "")[:MAX_TEXT_LENGTH], given, url, needs_browser=scripted and len(given.text or "") < ENOUGH_TEXT)


def _found(text: str, metadata: Any, url: str, *, needs_browser: bool) -> Extracted:  # noqa: ANN401 -- trafilatura's Document has no types
    return Extracted(
        text=text,
        title=_line(getattr(metadata, "title", None)),
        author=_line(getattr(metadata, "author", None)),
        published_on=_past_day(getattr(metadata, "date", None)),
        lang=language_of(text),
        image_url=_address(getattr(metadata, "image", None), url),
        canonical_url=_address(getattr(metadata, "url", None), url),
        needs_browser=needs_browser,
    )


def _decoded(body: bytes, charset: str | None) -> str:
    if charset:
        try:
            return body.decode(charset, "replace")
        except LookupError:
            pass
    return str(trafilatura.utils.decode_file(body))


def _clean(text: str) -> str:
    """What PostgreSQL can store."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8").strip()


def _line(text: object) -> str | None:
    return " ".join(_clean(text)[:MAX_LINE_LENGTH].split()) or None if isinstance(text, str) else None


def _past_day(text: object) -> str | None:
    """A day that has been; what pages say about the future is a mistake."""
    try:
        day = date.fromisoformat(str(text)[:10])
    except ValueError:
        return None
    return day.isoformat() if day <= datetime.now(UTC).date() + timedelta(days=1) else None


def _address(address: object, url: str) -> str | None:
    """A web address; what it leads to is not asked for."""
    if not isinstance(address, str) or not address or len(address) > MAX_URL_LENGTH:
        return None
    try:
        return normal_url(_clean(urljoin(url, address)))
    except ValueError:
        return None


def main() -> None:
    """Page after page from standard input: a line of JSON, then so many bytes. A line when it is ready, then a line of JSON for each."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    logging.disable(logging.CRITICAL)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        body = sys.stdin.buffer.read(asked["size"])
        try:
            found = extract(body, asked["charset"], asked["url"])
        except Exception:  # noqa: BLE001 -- whatever the parser stumbles over, the page is unreadable and the next one is not
            sys.stdout.write("null\n")
        else:
            sys.stdout.write(json.dumps(asdict(found)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
