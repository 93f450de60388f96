"""Downloads one large file over https and computes its SHA-256."""

import hashlib
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException, HTTPMessage
from ipaddress import ip_address
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason

BLOCK_BYTES = 1 << 20
MAX_BYTES = 4_000_000_000
ANSWER_SECONDS = 60


class ModelUnavailable(Exception):
    """A model file cannot be downloaded."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


def fetch(url: str, file: Path, tell: Callable[[str, int], None]) -> str:
    """Downloads a file and returns its SHA-256.

    Raises ModelUnavailable if the server fails, Rejected if the address is not allowed. Blocks.
    """
    check_address(url)
    file_digest, size = hashlib.sha256(), 0
    try:
        with (
            urllib.request.build_opener(_CheckedRedirects).open(url, timeout=ANSWER_SECONDS) as answer,
            file.open("wb") as output,
        ):
            promised_bytes = int(answer.headers.get("Content-Length") or 0)
            while block := answer.read(BLOCK_BYTES):
                size += len(block)
                if size > MAX_BYTES:
                    raise Rejected(
                        Reason(
                            "model_file_too_large",
                            "{url} is larger than any model this program can use",
                            url=url,
                        )
                    )
                file_digest.update(block)
                output.write(block)
                tell(file.name, size)
    except (OSError, HTTPException) as error:
        why = (
            f"HTTP {error.code}"
            if isinstance(error, urllib.error.HTTPError)
            else str(getattr(error, "reason", type(error).__name__))
        )
        raise ModelUnavailable(
            Reason("model_file_not_fetched", "{url} cannot be downloaded ({error})", url=url, error=why)
        ) from error
    if promised_bytes and size != promised_bytes:
        raise ModelUnavailable(
            Reason(
                "model_file_broke_off",
                "the download of {url} broke off after {size:,} of {promised:,} bytes",
                url=url,
                size=size,
                promised=promised_bytes,
            )
        )
    return file_digest.hexdigest()


def check_address(url: str) -> None:
    """Raises Rejected for anything but https, or plain http on this machine."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_this_machine(parts.hostname or "")):
        raise Rejected(
            Reason("model_not_over_https", "models are downloaded over https only, not from {url}", url=url)
        )


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _CheckedRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        check_address(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)
