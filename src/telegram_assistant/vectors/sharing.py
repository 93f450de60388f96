"""Lets other processes of this machine search embedded vectors, over a Unix socket in their folder.

Embedded vectors belong to one process. The socket carries one request and its response per connection, a line
of JSON each. Every process with access to the folder may search.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from telegram_assistant.errors import AssistantError, Busy
from telegram_assistant.reasons import Reason
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.outages import OutageLog
from telegram_assistant.vectors.protocol import Hit, Searchable, Space, VectorQuery

log = get_logger()

SOCKET = "search.sock"
MAX_LINE_BYTES = 4 * 1024 * 1024
TIMEOUT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search in one space."""

    space: Space
    sought: VectorQuery


REQUEST = TypeAdapter(SearchRequest)
HITS = TypeAdapter(tuple[Hit, ...])


@asynccontextmanager
async def share_search(store: Searchable, folder: Path) -> AsyncIterator[None]:
    """Answers searches of other processes until the block ends.

    The caller holds the folder's lock, so an existing socket is stale.
    """
    outage = OutageLog("searches of other processes")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                request = REQUEST.validate_json(await reader.readline())
                writer.write(HITS.dump_json(await store.search(request.space, request.sought)) + b"\n")
                await writer.drain()
            outage.log_recovery()
        except (AssistantError, OSError, TimeoutError, ValueError) as error:
            outage.log_failure(type(error).__name__)
        finally:
            writer.close()

    path = folder / SOCKET
    try:
        path.unlink(missing_ok=True)
        server = await asyncio.start_unix_server(answer, path, limit=MAX_LINE_BYTES)
    except OSError as error:
        log.warning(
            "vectors_not_shared",
            why=str(error),
            what_to_do="`tga search` finds words only while this runs; choose a shorter VECTORS_DIR",
        )
        yield
        return
    try:
        async with server:
            yield
    finally:
        path.unlink(missing_ok=True)


class SharedVectors:
    """Embedded vectors that another process holds; they can only be searched."""

    def __init__(self, folder: Path) -> None:
        self.where = f"embedded, in the folder {folder}, of another process"
        self._path = folder / SOCKET

    async def search(self, space: Space, vector_query: VectorQuery) -> tuple[Hit, ...]:
        """Searches through the other process. Raises Busy if it does not answer."""
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                reader, writer = await asyncio.open_unix_connection(self._path, limit=MAX_LINE_BYTES)
                try:
                    writer.write(REQUEST.dump_json(SearchRequest(space, vector_query)) + b"\n")
                    return HITS.validate_json(await reader.readline())
                finally:
                    writer.close()
        except (OSError, TimeoutError, ValueError) as error:
            raise Busy(
                Reason(
                    "vectors_process_silent",
                    "the process with the vectors does not answer ({error})",
                    error=type(error).__name__,
                ),
                retry_after_seconds=5.0,
            ) from error
