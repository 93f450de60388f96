"""Reading the body of a request: whole, in time, and not too large."""

import asyncio
from collections.abc import Mapping

from starlette.responses import Response
from starlette.types import Receive

from telegram_assistant.api.problems import TITLES, problem

CLOSE = {"Connection": "close"}
"""What was not read would be taken for the next request."""
MAX_VALUES = 20_000
"""In one JSON body. Half a million empty lists fit into a megabyte, and reading them would hold up every other request."""


async def read_body(receive: Receive, headers: Mapping[bytes, bytes], *, max_bytes: int, timeout_seconds: float) -> bytes | Response:
    """The body, or the refusal. A body that is announced as too large is not read at all."""
    announced = headers.get(b"content-length", b"0")
    if announced.isdigit() and int(announced) > max_bytes:
        return _too_large(max_bytes)
    body = bytearray()
    try:
        async with asyncio.timeout(timeout_seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return problem(400, TITLES[400], "The connection was closed before the whole body had arrived.")
                body += message.get("body", b"")
                if len(body) > max_bytes:
                    return _too_large(max_bytes)
                if not message.get("more_body", False):
                    return bytes(body) if _count_values(body) <= MAX_VALUES else _too_many_values()
    except TimeoutError:
        return problem(408, TITLES[408], f"The body did not arrive within {timeout_seconds:g} s (HTTP_REQUEST_TIMEOUT_SECONDS).", headers=CLOSE)


def _too_large(max_bytes: int) -> Response:
    return problem(413, TITLES[413], f"At most {max_bytes} bytes are read (API_MAX_BODY_BYTES).", headers=CLOSE)


def _count_values(body: bytearray) -> int:
    """At least as many as there are: signs within texts count too."""
    return body.count(b",") + body.count(b"[") + body.count(b"{")


def _too_many_values() -> Response:
    return problem(413, TITLES[413], f"At most {MAX_VALUES} values are read from one body. Send several requests.")
