"""Extracts title, author, date, text, language and image of a page. Runs in its own process, see
`readers.py`.

A malicious page can keep the parser busy for minutes or fill the memory. So this process may be killed at any
time, has a memory limit, and knows no secrets.
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
"""A page with scripts and less text than this is probably built by the scripts."""
SCRIPTED = ("<script", "<noscript")


def extract(body: bytes, charset: str | None, url: str) -> Extracted:
    """Extract a page.

    `charset` is what the server declares; without it, the page's own declaration and a guess decide.
    """
    html = _decode(body, charset)
    if "<" not in html:  # plain text needs no extraction
        text = _clean(html)[:MAX_TEXT_LENGTH]
        return Extracted(text=text, lang=language_of(text))
    document: Any = trafilatura.bare_extraction(
        html, url=url, with_metadata=True, include_comments=False, include_images=False
    )
    has_scripts = any(marker in html.lower() for marker in SCRIPTED)
    if document is None:
        metadata: Any = trafilatura.extract_metadata(html, default_url=url)
        return _build_result("", metadata, url, needs_browser=has_scripts)
    return _build_result(
        _clean(document.text or "")[:MAX_TEXT_LENGTH],
        document,
        url,
        needs_browser=has_scripts and len(document.text or "") < ENOUGH_TEXT,
    )


def _build_result(
    text: str,
    metadata: Any,  # noqa: ANN401 -- trafilatura's Document has no types
    url: str,
    *,
    needs_browser: bool,
) -> Extracted:
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


def _decode(body: bytes, charset: str | None) -> str:
    if charset:
        try:
            return body.decode(charset, "replace")
        except LookupError:
            pass
    return str(trafilatura.utils.decode_file(body))


def _clean(text: str) -> str:
    """Remove what PostgreSQL cannot store."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8").strip()


def _line(text: object) -> str | None:
    return " ".join(_clean(text)[:MAX_LINE_LENGTH].split()) or None if isinstance(text, str) else None


def _past_day(text: object) -> str | None:
    """Return a day in the past. A date in the future is a mistake of the page."""
    try:
        day = date.fromisoformat(str(text)[:10])
    except ValueError:
        return None
    return day.isoformat() if day <= datetime.now(UTC).date() + timedelta(days=1) else None


def _address(address: object, url: str) -> str | None:
    """Return an absolute URL. It is not requested."""
    if not isinstance(address, str) or not address or len(address) > MAX_URL_LENGTH:
        return None
    try:
        return normal_url(_clean(urljoin(url, address)))
    except ValueError:
        return None


def main() -> None:
    """Serve pages from standard input: a line of JSON, then `size` bytes.

    Writes a line when ready, then a line of JSON per page.
    """
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    logging.disable(logging.CRITICAL)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin.buffer:
        request = json.loads(line)
        body = sys.stdin.buffer.read(request["size"])
        try:
            extracted_page = extract(body, request["charset"], request["url"])
        except Exception:  # noqa: BLE001 -- one unreadable page must not stop the next
            sys.stdout.write("null\n")
        else:
            sys.stdout.write(json.dumps(asdict(extracted_page)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
