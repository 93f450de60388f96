"""Sends requests as Standard Webhooks describes them.

Addresses come from tenants, so a guard checks every connection.
"""

import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from uuid import UUID

import httpcore

from telegram_assistant import __version__
from telegram_assistant.domain.receivers.delivery import DELIVERED, AttemptResult, signatures
from telegram_assistant.domain.understanding.pages import Unreadable
from telegram_assistant.outbound.guard import Guard
from telegram_assistant.outbound.guarded_network import NAME, GuardedNetwork
from telegram_assistant.reasons import Reason

SILENCE_SECONDS = 10.0
"""How long a receiver may be silent. Whoever sends sets a deadline for the whole attempt."""
MAX_CONNECTIONS = 50
MAX_ANSWER_BYTES = 1000
BUSY_STATUSES = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}


class WebhookClient:
    """One per process. Follows no redirects and keeps no connections."""

    def __init__(self, guard: Guard, *, ssl_context: ssl.SSLContext | None = None) -> None:
        self._guard = guard
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=ssl_context,
            max_connections=MAX_CONNECTIONS,
            max_keepalive_connections=0,
            network_backend=GuardedNetwork(guard),
        )

    async def send(
        self,
        url: str,
        body: bytes,
        *,
        active_secrets: Sequence[str],
        message_id: UUID,
        now: datetime,
        reads_answer: bool = False,
    ) -> AttemptResult:
        """The receiver has taken the request if it answers with a status of 200 to 299."""
        timestamp = int(now.timestamp())
        timeouts = dict.fromkeys(("connect", "read", "write", "pool"), SILENCE_SECONDS)
        try:
            target = self._guard.target(url)
            headers = {
                "Host": target.authority,
                "User-Agent": f"{NAME}/{__version__} (webhook)",
                "Content-Type": "application/json",
                "Content-Length": str(len(body)),
                "webhook-id": str(message_id),
                "webhook-timestamp": str(timestamp),
                "webhook-signature": signatures(active_secrets, str(message_id), timestamp, body),
            }
            address = httpcore.URL(
                scheme=target.scheme.encode(),
                host=target.host.encode(),
                port=target.port,
                target=target.path.encode(),
            )
            async with self._pool.stream(
                "POST", address, headers=list(headers.items()), content=body, extensions={"timeout": timeouts}
            ) as response:
                if not HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES:
                    return _read_refusal(response, now)
                return AttemptResult(answer=await _beginning(response)) if reads_answer else DELIVERED
        except Unreadable as error:
            return AttemptResult(trouble=error.reason)
        except httpcore.TimeoutException:
            return AttemptResult(trouble=silent(SILENCE_SECONDS))
        except (httpcore.NetworkError, httpcore.ProtocolError, ssl.SSLError, OSError) as error:
            return AttemptResult(
                trouble=Reason(
                    "webhook_unreachable", "it cannot be reached ({error})", error=type(error).__name__
                )
            )

    async def close(self) -> None:
        await self._pool.aclose()


def silent(seconds: float) -> Reason:
    return Reason("webhook_silent", "it did not answer within {seconds} seconds", seconds=int(seconds))


def _read_refusal(response: httpcore.Response, now: datetime) -> AttemptResult:
    if response.status == HTTPStatus.GONE:
        return AttemptResult(
            trouble=Reason("webhook_gone", "it answered with status 410: it accepts no more deliveries"),
            is_gone=True,
        )
    trouble = Reason("webhook_refused", "it answered with status {status}", status=response.status)
    return AttemptResult(
        trouble=trouble, retry_after=_retry_after(response, now) if response.status in BUSY_STATUSES else None
    )


def _retry_after(response: httpcore.Response, now: datetime) -> timedelta | None:
    """Seconds, or a date as HTTP writes it; None for anything else."""
    value = next(
        (
            value.decode("ascii", "replace").strip()
            for name, value in response.headers
            if name.lower() == b"retry-after"
        ),
        "",
    )
    if value.isascii() and value.isdecimal():
        return timedelta(seconds=min(int(value[:9]), 10**8))
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(timedelta(), (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now)


async def _beginning(response: httpcore.Response) -> bytes:
    body = b""
    async for chunk in response.aiter_stream():
        body += chunk
        if len(body) >= MAX_ANSWER_BYTES:
            break
    return body[:MAX_ANSWER_BYTES]
