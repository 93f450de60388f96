"""How a Qdrant server is reached, and what is said when it is not. What it does is in test_vectors."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from telegram_assistant.domain.finding import Verdict
from telegram_assistant.errors import Busy
from telegram_assistant.settings import VectorSettings, read_group
from telegram_assistant.vectors.opening import examine, open_vectors

KEY = "s3cret-of-qdrant"
NOTHING = json.dumps({"result": {"collections": [], "aliases": []}, "status": "ok", "time": 0.0})


@asynccontextmanager
async def guarded_server() -> AsyncIterator[str]:
    """Speaks just enough to be asked for collections, and only to who has the key."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        status, body = ("200 OK", NOTHING) if f"api-key: {KEY}" in head else ("401 Unauthorized", "{}")
        writer.write(
            f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode()
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.turns("QDRANT_URL")
@pytest.mark.turns("QDRANT_API_KEY")
async def test_the_server_is_asked_with_the_key() -> None:
    async with guarded_server() as url:
        [finding] = await examine(read_group(VectorSettings, {"QDRANT_URL": url, "QDRANT_API_KEY": KEY}), "tests/model")
        assert finding.verdict is Verdict.OK
        assert finding.what.startswith(f"Qdrant at {url.removeprefix('http://')}: empty")
        [finding] = await examine(read_group(VectorSettings, {"QDRANT_URL": url, "QDRANT_API_KEY": "another"}), "tests/model")
        assert finding.what.endswith("refuses (401 Unauthorized)")
        assert "QDRANT_API_KEY" in finding.remedy


async def test_a_server_that_is_away_is_busy_and_its_key_is_in_no_message() -> None:
    settings = read_group(VectorSettings, {"QDRANT_URL": "http://127.0.0.1:1", "QDRANT_API_KEY": KEY})
    async with open_vectors(settings) as vectors:
        assert vectors is not None
        with pytest.raises(Busy, match=r"Qdrant at 127.0.0.1:1 does not answer") as told:
            await vectors.collections()
        assert KEY not in f"{told.value!r} {vectors!r} {vars(vectors)['where']}"
    [finding] = await examine(settings, "tests/model")
    assert "words find them" in finding.remedy
