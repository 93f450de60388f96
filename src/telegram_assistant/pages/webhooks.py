"""Sends signed requests to webhooks. Their addresses come from tenants, so the guard of linked pages checks every connection."""

import ssl
from datetime import datetime
from http import HTTPStatus
from uuid import UUID

import httpcore

from telegram_assistant import __version__
from telegram_assistant.domain.understanding.pages import Unreadable
from telegram_assistant.domain.watches.delivery import sign
from telegram_assistant.pages.fetching import NAME, GuardedNetwork
from telegram_assistant.pages.guard import Guard
from telegram_assistant.reasons import Reason

SECONDS = 10.0
"""How long a receiver may take to connect, and again to answer."""
MAX_CONNECTIONS = 50


class WebhookClient:
    """One per process. Follows no redirects, reads no answers, and keeps no connections."""

    def __init__(self, guard: Guard, *, ssl_context: ssl.SSLContext | None = None) -> None:
        self._guard = guard
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=ssl_context, max_connections=MAX_CONNECTIONS, max_keepalive_connections=0, network_backend=GuardedNetwork(guard)
        )

    async def send(self, url: str, body: bytes, *, secret: str, delivery_id: UUID, now: datetime) -> Reason | None:
        """Returns why the receiver has not taken the request; None: it has, with a status of 200 to 299."""
        timestamp = int(now.timestamp())
        try:
            target = self._guard.target(url)
            headers = {
                "Host": target.authority,
                "User-Agent": f"{NAME}/{__version__} (webhook)",
                "Content-Type": "application/json",
                "Content-Length": str(len(body)),
                "Webhook-Id": str(delivery_id),
                "Webhook-Timestamp": str(timestamp),
                "Webhook-Signature": f"v1={sign(secret, timestamp, body)}",
            }
            address = httpcore.URL(scheme=target.scheme.encode(), host=target.host.encode(), port=target.port, target=target.path.encode())
            timeouts = dict.fromkeys(("connect", "read", "write", "pool"), SECONDS)
            async with self._pool.stream("POST", address, headers=list(headers.items()), content=body, extensions={"timeout": timeouts}) as response:
                status = response.status
        except Unreadable as error:
            return error.reason
        except httpcore.TimeoutException:
            return Reason("webhook_silent", "it did not answer within {seconds} seconds", seconds=int(SECONDS))
        except (httpcore.NetworkError, httpcore.ProtocolError, ssl.SSLError, OSError) as error:
            return Reason("webhook_unreachable", "it cannot be reached ({error})", error=type(error).__name__)
        if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            return None
        return Reason("webhook_refused", "it answered with status {status}", status=status)

    def check(self, url: str) -> None:
        """Raises Unreadable if the guard refuses the address."""
        self._guard.target(url)

    async def close(self) -> None:
        await self._pool.aclose()
