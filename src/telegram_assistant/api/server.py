"""The HTTP server of a role: uvicorn, with a time limit for requests to arrive, stopped by the roles."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol


class HttpServer(uvicorn.Server):
    """uvicorn without its own signal handling: one place in this process decides when to stop."""

    def __init__(self, site: ASGIApp, *, request_timeout_seconds: float) -> None:
        config = uvicorn.Config(
            site,
            http=DeadlineProtocol,
            timeout_keep_alive=request_timeout_seconds,  # type: ignore[arg-type]  # call_later takes fractions, too
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=5,
            # A client's address is that of the connection: nobody is believed who says in a header that it is another.
            proxy_headers=False,
        )
        super().__init__(config)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class DeadlineProtocol(H11Protocol):
    """Closes a connection on which no complete headers arrive in time, counted from its opening or from the last answer.

    uvicorn has this timer only after an answer, and cancels it at the first byte. A few hundred clients that never finish their
    headers, or the body of a request that is answered already, would hold their connections for ever.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn narrows the transport too
        super().connection_made(transport)
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def data_received(self, data: bytes) -> None:
        """Like uvicorn's, without cancelling the timer: `handle_events` does it when the headers are complete."""
        self.conn.receive_data(data)
        self.handle_events()
