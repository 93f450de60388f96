"""The connection to a Qdrant server, and its errors. Its work as a store is tested in test_vectors."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType

import pytest

from telegram_assistant.domain.operations.diagnosis import Severity
from telegram_assistant.errors import Busy, SettingsError
from telegram_assistant.settings import VectorSettings, read_group
from telegram_assistant.vectors.opening import examine, open_vectors

KEY = "s3cret-of-qdrant"


@asynccontextmanager
async def open_guarded_server(aliases: Mapping[str, str] = MappingProxyType({})) -> AsyncIterator[str]:
    """A server that lists collections and their aliases, only to a client with the key."""
    listed = {
        "collections": [{"name": name} for name in aliases],
        "aliases": [{"alias_name": alias, "collection_name": name} for name, alias in aliases.items()],
    }
    known = json.dumps({"result": listed, "status": "ok", "time": 0.0})

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        status, body = ("200 OK", known) if f"api-key: {KEY}" in head else ("401 Unauthorized", "{}")
        writer.write(
            f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            f"Connection: close\r\n\r\n{body}".encode()
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.turns("QDRANT_URL")
@pytest.mark.turns("QDRANT_API_KEY")
async def test_the_server_is_asked_with_the_key() -> None:
    async with open_guarded_server() as url:
        [finding] = await examine(
            read_group(VectorSettings, {"QDRANT_URL": url, "QDRANT_API_KEY": KEY}), "tests/model"
        )
        assert finding.verdict is Severity.OK
        assert str(finding.what).startswith(f"Qdrant at {url.removeprefix('http://')}: empty")
        [finding] = await examine(
            read_group(VectorSettings, {"QDRANT_URL": url, "QDRANT_API_KEY": "another"}), "tests/model"
        )
        assert str(finding.what).endswith("refuses the request (401 Unauthorized)")
        assert "QDRANT_API_KEY" in str(finding.remedy)


async def test_a_server_that_is_away_is_busy_and_its_key_is_in_no_message() -> None:
    settings = read_group(VectorSettings, {"QDRANT_URL": "http://127.0.0.1:1", "QDRANT_API_KEY": KEY})
    async with open_vectors(settings) as vectors:
        assert vectors is not None
        with pytest.raises(Busy, match=r"Qdrant at 127.0.0.1:1 does not answer") as busy:
            await vectors.collections()
        assert KEY not in f"{busy.value!r} {vectors!r} {vars(vectors)['where']}"
    [finding] = await examine(settings, "tests/model")
    assert "finds them by words" in str(finding.remedy)


@pytest.mark.turns("QDRANT_COLLECTION_PREFIX")
async def test_two_installations_on_one_server_do_not_see_each_others_collections() -> None:
    shared = {
        "posts-m-8-g1": "posts-m-8",
        "acme-posts-m-8-g2": "acme-posts-m-8",
        "acme-2-posts-m-8-g3": "acme-2-posts-m-8",
        "notes": "n",
    }
    async with open_guarded_server(shared) as url:
        for prefix, own in (
            ("", "posts-m-8-g1"),
            ("acme-", "posts-m-8-g2"),
            ("acme-2-", "posts-m-8-g3"),
            ("other-", None),
        ):
            settings = read_group(
                VectorSettings, {"QDRANT_URL": url, "QDRANT_API_KEY": KEY, "QDRANT_COLLECTION_PREFIX": prefix}
            )
            async with open_vectors(settings) as vectors:
                assert vectors is not None
                assert await vectors.collections() == ({own: "posts-m-8"} if own else {})


@pytest.mark.parametrize("prefix", ["posts-", "a/b", "x" * 61])
def test_a_prefix_that_another_installation_would_take_for_its_own_is_refused(prefix: str) -> None:
    with pytest.raises(SettingsError, match="QDRANT_COLLECTION_PREFIX is wrong"):
        read_group(VectorSettings, {"QDRANT_COLLECTION_PREFIX": prefix})
