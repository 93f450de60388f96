"""Reads a request body completely, within limits of time and size."""

import asyncio
from collections.abc import Mapping

from starlette.responses import Response
from starlette.types import Receive

from telegram_assistant.api.problems import problem
from telegram_assistant.reasons import Reason

CLOSE = {"Connection": "close"}
"""Closes the connection: unread bytes of the body would be parsed as the next request."""
MAX_VALUES = 20_000
"""Per JSON body.

Half a million empty lists fit into a megabyte, and parsing them would delay every other request.
"""


async def read_body(
    receive: Receive, headers: Mapping[bytes, bytes], *, max_bytes: int, timeout_seconds: float
) -> bytes | Response:
    """Returns the body, or the error response.

    A body whose Content-Length is too large is not read at all.
    """
    announced_bytes = headers.get(b"content-length", b"0")
    if announced_bytes.isdigit() and int(announced_bytes) > max_bytes:
        return _too_large(max_bytes)
    body = bytearray()
    try:
        async with asyncio.timeout(timeout_seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return problem(
                        400,
                        Reason("body_cut_off", "The connection was closed before the whole body arrived."),
                    )
                body += message.get("body", b"")
                if len(body) > max_bytes:
                    return _too_large(max_bytes)
                if not message.get("more_body", False):
                    return bytes(body) if _count_values(body) <= MAX_VALUES else _too_many_values()
    except TimeoutError:
        late = Reason(
            "body_too_slow",
            "The body did not arrive within {seconds:g} s.",
            seconds=timeout_seconds,
        )
        return problem(408, late, headers=CLOSE)


def _too_large(max_bytes: int) -> Response:
    reason = Reason(
        "body_too_large",
        "The body may have at most {max_bytes} bytes.",
        max_bytes=max_bytes,
    )
    return problem(413, reason, headers=CLOSE)


def _count_values(body: bytearray) -> int:
    """Returns an upper bound: characters inside strings count too."""
    return body.count(b",") + body.count(b"[") + body.count(b"{")


def _too_many_values() -> Response:
    return problem(
        413,
        Reason(
            "body_too_many_values",
            "The body may have at most {max_values} values. Send several requests.",
            max_values=MAX_VALUES,
        ),
    )
