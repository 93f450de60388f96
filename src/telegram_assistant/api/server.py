"""The HTTP server of a role: uvicorn with a time limit for incoming requests. The role stops it."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol


class HttpServer(uvicorn.Server):
    """uvicorn without its own signal handling: `roles.py` alone decides when the process stops."""

    def __init__(self, site: ASGIApp, *, request_timeout_seconds: float) -> None:
        config = uvicorn.Config(
            site,
            http=DeadlineProtocol,
            timeout_keep_alive=request_timeout_seconds,  # type: ignore[arg-type]  # may be a fraction
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=5,
            # The client's address is that of the connection. Headers that claim another address are not
            # trusted.
            proxy_headers=False,
        )
        super().__init__(config)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class DeadlineProtocol(H11Protocol):
    """Closes a connection if complete headers do not arrive in time, counted from its opening or from the
    last response.

    uvicorn starts this timer only after a response, and cancels it at the first byte. A few hundred clients
    that never finish their headers, or the body of a request that is already answered, would hold their
    connections forever.
    """

    def connection_made(  # type: ignore[override]  # uvicorn narrows the transport too
        self, transport: asyncio.Transport
    ) -> None:
        super().connection_made(transport)
        # asyncio does this only for sockets that name their protocol, which ours do not. Without it the body
        # of an answer waits until the reader has acknowledged the headers: 40 ms.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    def data_received(self, data: bytes) -> None:
        """Like uvicorn's, but does not cancel the timer:
        `handle_events` does that when the headers are complete.
        """
        self.conn.receive_data(data)
        self.handle_events()
