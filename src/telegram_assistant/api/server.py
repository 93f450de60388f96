"""The HTTP server of a role: uvicorn, stopped by the roles."""

from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp


class Server(uvicorn.Server):
    """uvicorn without its own signal handling: one place in this process decides when to stop."""

    def __init__(self, site: ASGIApp) -> None:
        # A client's address is that of the connection: nobody is believed who says in a header that it is another.
        super().__init__(uvicorn.Config(site, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=5, proxy_headers=False))

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
