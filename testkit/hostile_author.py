"""An author who publishes the posts of bench/studies/hostile.py, and the websites that the posts link to."""

import asyncio
import hashlib
import itertools
import sys
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import httpx

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.posts.post import TextEntity
from telegram_assistant.stores.postgres.media.files import MediaJob
from telegram_assistant.stores.postgres.posts.landing import Claim
from testkit import hostile_contents as contents
from testkit.factories import make_page, make_post
from testkit.hostile_installation import WEB
from testkit.web import answer

GZIP = b"\x1f\x8b"
SETTLING_SECONDS = 1.0
IMPORT_PAUSE_SECONDS = 3.0


@dataclass
class Author:
    """Lands posts as ingest does, asks as a person does, and imports lists as the operator does."""

    app: App
    channel_id: ChannelId
    client: httpx.AsyncClient
    web_port: int
    folder: Path
    environ: Mapping[str, str]
    pages: Mapping[str, bytes] = field(default_factory=contents.pages)
    robots: Mapping[str, bytes] = field(default_factory=contents.robots)
    pictures: Mapping[str, bytes] = field(default_factory=contents.pictures)
    bodies: Mapping[str, bytes] = field(default_factory=contents.bodies)
    lists: Mapping[str, str] = field(default_factory=contents.lists)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    importing: asyncio.Lock = field(default_factory=asyncio.Lock)
    last_edited: int = 1

    async def post(self, text: str) -> None:
        """Lands the text with a new number in front, so that no cache knows it."""
        number = next(self.numbers)
        await self._land(number, f"{number} {text}"[: contents.LENGTH])

    async def edit(self, before: str, after: str) -> None:
        number = next(self.numbers)
        await self._land(number, before)
        await self._land(number, after, edited_at=datetime.now(UTC))
        self.last_edited = number

    async def link(self, site: str, page: str) -> None:
        """Lands a post that links to a page of that kind, on a new site of that kind."""
        number = next(self.numbers)
        url = f"http://{site.replace(' ', '-')}.{number}.example:{self.web_port}/{quote(page.lstrip('/'))}"
        await self._land(
            number, f"{number} {contents.ORDINARY_TEXT}", entities=(TextEntity("text_url", 0, 1, url),)
        )

    async def show(self, picture: bytes) -> None:
        """A photo; the file is there as soon as the pipeline asks for it."""
        number = next(self.numbers)
        data = picture + number.to_bytes(8)  # another file each time
        facts = {"media": {"kind": "photo", "id": number, "size_bytes": len(data), "dc_id": 2}}
        await self._land(number, f"{number} {contents.ORDINARY_TEXT}", facts=facts)
        sha256, file = hashlib.sha256(data).digest(), self.folder / f"upload-{number}"
        await asyncio.to_thread(file.write_bytes, data)
        assert self.app.files is not None
        await self.app.system.media.reserve(sha256, len(data), None)
        await self.app.files.put(sha256, file)
        await asyncio.sleep(SETTLING_SECONDS)
        job = MediaJob(
            channel_id=self.channel_id,
            message_id=make_post(message_id=number).message_id,
            ordinal=0,
            media_id=number,
            is_photo=True,
            size_bytes=len(data),
            mime=None,
            attempts=0,
            access_hash=0,
        )
        await self.app.system.media.mark_stored(job, sha256, len(data))

    async def send(self, body: bytes) -> None:
        await self._ask("POST", "/channels", content=body, headers={"Content-Type": "application/json"})

    async def follow_list(self, text: str) -> None:
        """Imports the list unless another import is running.

        Each import is a program of its own whose start takes a second, so there is a pause after each.
        """
        if self.importing.locked():
            return
        async with self.importing:
            file = self.folder / "list.opml"
            file.write_text(text, encoding="utf-8")
            command = (
                sys.executable,
                "-m",
                "telegram_assistant",
                "channels",
                "import",
                str(file),
                "--tenant",
                "author",
                "--wait",
                "0",
            )
            process = await asyncio.create_subprocess_exec(
                *command, env=dict(self.environ), stdout=DEVNULL, stderr=DEVNULL
            )
            try:
                await process.wait()
            finally:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
            await asyncio.sleep(IMPORT_PAUSE_SECONDS)

    async def read(self) -> None:
        """Requests the versions of the post edited last, the newest changes, and a frequent word."""
        await self._ask("GET", f"/posts/{self.channel_id}/{self.last_edited}/versions")
        await self._ask("GET", "/changes?limit=50")
        await self._ask("GET", "/search?q=снег&limit=50")

    async def _ask(self, method: str, path: str, **more: object) -> None:
        with suppress(httpx.TransportError):
            await self.client.request(method, path, **more)  # type: ignore[arg-type]  # what httpx takes

    async def _land(self, number: int, text: str, **more: object) -> None:
        now = datetime.now(UTC)
        post = make_post(channel_id=self.channel_id, message_id=number, text=text, posted_at=now, **more)
        await self.app.system.landing.land(make_page(post, read_at=now), Claim(self.channel_id, 0))


@asynccontextmanager
async def serve_web() -> AsyncIterator[int]:
    """One server for every name: the name chooses the robots.txt, the path the page."""
    files = {name.replace(" ", "-"): body for name, body in contents.robots().items()}
    pages = {quote(name): body for name, body in contents.pages().items()}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            path = head.split(" ")[1].lstrip("/")
            host = next((line[6:] for line in head.splitlines() if line.lower().startswith("host: ")), "")
            if path == "robots.txt":
                body, kind = (
                    files.get(host.partition(".")[0], contents.ORDINARY_ROBOTS.encode()),
                    "text/plain",
                )
            else:
                body, kind = pages.get(path, contents.ORDINARY_PAGE.encode()), "text/html; charset=utf-8"
            packed = {"Content_Encoding": "gzip"} if body.startswith(GZIP) else {}
            writer.write(answer(body, kind=kind, **packed))
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, WEB, 0)
    async with server:
        yield int(server.sockets[0].getsockname()[1])
