"""An office that keeps files: posts with media from the simulator to the store."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.events import PostVisionUploaded
from telegram_assistant.ingest.media import MediaFetcher
from telegram_assistant.ingest_role import build_fetcher
from telegram_assistant.settings import FilesSettings, Settings
from telegram_assistant.stages.post_persistence import post_persistence
from telegram_assistant.stores.files import Files, open_files
from telegram_assistant.streams.stage import bind
from telegram_assistant.telemetry.health import Health
from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.files import make_file
from tests.conftest import Admin
from tests.ingest.office import Office, open_office, simulate_channel
from tests.streams.conftest import parsed_event


@dataclass
class Library:
    office: Office
    control: Control
    fetcher: MediaFetcher

    @property
    def sim(self) -> Simulator:
        return self.office.sim

    @property
    def files(self) -> Files:
        assert self.office.app.files is not None
        return self.office.app.files

    def reopen(self, files: FilesSettings | None = None) -> MediaFetcher:
        """As after a restart on the same machine, perhaps with another place for files."""
        app = self.office.app if files is None else replace(self.office.app, files=open_files(files))
        fetcher = build_fetcher(
            app, self.office.mine, self.office.line, health=Health(probes={}), stopping=asyncio.Event()
        )
        assert fetcher is not None
        return fetcher

    async def channel(self, **wish: Any) -> ChannelId:
        return await self.office.follow(simulate_channel(self.control), **wish)

    async def read(self, *channel_ids: ChannelId) -> None:
        """Poll, and let post_persistence see all of it."""
        for channel_id in channel_ids:
            await self.office.poll(channel_id)
            stored = await self.office.load_texts(channel_id)
            await post_persistence(
                [parsed_event(message, channel_id=channel_id) for message in stored],
                **bind(post_persistence, self.office.app.collaborators),
            )

    async def rows(self, channel_id: int) -> list[Any]:
        return list(
            await self.office.admin.fetch(
                "SELECT * FROM post_media WHERE channel_id = $1 ORDER BY message_id", channel_id
            )
        )

    async def make_due(self) -> None:
        await self.office.admin.execute("UPDATE media_jobs SET next_try_at = now()")

    async def load_notices(self, channel_id: int) -> list[PostVisionUploaded]:
        rows = await self.office.admin.fetch(
            "SELECT payload FROM notices WHERE channel_id = $1 ORDER BY created_at", channel_id
        )
        return [PostVisionUploaded.model_validate_json(row["payload"]) for row in rows]

    def truth(self, channel_id: int, message_id: int) -> str:
        """The hash of the bytes that the world has."""
        file = self.sim.world.file_of(channel_id, message_id)
        assert file is not None
        return sha256(make_file(file)).hexdigest()

    async def content(self, name: str) -> bytes:
        return b"".join([piece async for piece in self.files.read(bytes.fromhex(name))])

    async def when_fetched(self, size_bytes: int, act: Callable[[], Any]) -> None:
        """Do something as soon as so much was asked for in all."""
        async with asyncio.timeout(60):
            while self.sim.counters.file_bytes < size_bytes:
                await asyncio.sleep(0.001)
        act()


def in_folder(folder: Path) -> FilesSettings:
    return FilesSettings(folder=folder / "files", spool=folder / "spool")


@asynccontextmanager
async def open_library(
    settings: Settings, sim: Simulator, admin: Admin, files: FilesSettings
) -> AsyncIterator[Library]:
    async with open_office(settings.model_copy(update={"files": files}), sim, admin) as office:
        fetcher = build_fetcher(
            office.app, office.mine, office.line, health=Health(probes={}), stopping=office.stopping
        )
        assert fetcher is not None
        yield Library(office, Control(sim), fetcher)


def count_spooled_bytes(folder: Path) -> int:
    """Bytes that lie in the spool."""
    return sum(path.stat().st_size for path in (folder / "spool").glob("*"))
