"""Posts whose files are stored, and the program that answers requests with them."""

import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from telegram_assistant.assembly import ApiApp, assemble_api
from telegram_assistant.domain.ids import MessageId, PostId, TenantId
from telegram_assistant.domain.media.files import MediaState
from telegram_assistant.features.media.thumbnails import Thumbnails
from telegram_assistant.settings import FilesSettings, Settings
from telegram_assistant.stores.files import Files
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores, TenantStores
from testkit.factories import fresh_number, make_channel, make_page, make_post, make_subscription, make_tenant
from tests.conftest import Admin


@dataclass
class Shelf:
    app: ApiApp
    system: SystemStores
    admin: Admin
    folder: Path
    tenant_id: TenantId

    @property
    def stores(self) -> TenantStores:
        return self.app.tenant(self.tenant_id)

    @property
    def files(self) -> Files:
        assert self.app.files is not None
        return self.app.files

    @property
    def thumbnails(self) -> Thumbnails:
        assert self.app.thumbnails is not None
        return self.app.thumbnails

    async def stranger(self) -> TenantStores:
        """The stores of a tenant that follows nothing."""
        return self.app.tenant(await make_tenant(self.system))

    async def post(
        self,
        data: bytes = b"",
        *,
        file_name: str | None = None,
        is_private: bool = False,
        state: MediaState = MediaState.STORED,
        reason: str | None = None,
    ) -> PostId:
        """With one file, in a channel of its own that the tenant follows."""
        channel_id = await make_channel(self.system)
        await self.system.channels.subscribe(self.tenant_id, make_subscription(channel_id))
        await self.system.landing.land(make_page(make_post(channel_id=channel_id)), Claim(channel_id, 0))
        await self.admin.execute(
            "UPDATE channels SET is_private = $2 WHERE channel_id = $1", channel_id, is_private
        )
        name = sha256(data).digest() if state is MediaState.STORED else None
        await self.admin.execute(
            """
            INSERT INTO post_media (channel_id, message_id, media_id, kind, size_bytes, file_name, state,
                reason, sha256)
            VALUES ($1, 1, $2, 'document', $3, $4, $5, $6, $7)
            """,
            *(channel_id, fresh_number(), len(data), file_name, state, reason, name),
        )
        if name is not None:
            await self.system.media.reserve(name, len(data), None)
            (self.folder / "upload").write_bytes(data)
            await self.files.put(name, self.folder / "upload")
        return PostId(channel_id, MessageId(1))


@asynccontextmanager
async def open_requests_app(settings: Settings, folder: Path) -> AsyncIterator[ApiApp]:
    """The program as it runs where nothing but requests is answered, with files in this folder."""
    async with assemble_api(settings.model_copy(update={"files": FilesSettings(folder=folder)})) as app:
        yield app


def draw_picture(
    form: str = "JPEG", *, size: tuple[int, int] = (800, 400), mode: str = "RGB", **more: Any
) -> bytes:
    """A picture that no other test has: stripes, and a place of its own."""
    image = Image.new(mode, size, "white" if mode == "RGB" else (0, 0, 0, 0))
    pen = ImageDraw.Draw(image)
    for number in range(0, size[0], 40):
        pen.rectangle((number, 0, number + 19, size[1]), fill="navy")
    place = fresh_number()
    pen.rectangle((place % size[0], place // size[0] % size[1], size[0], size[1]), fill="orange")
    written = io.BytesIO()
    image.save(written, form, **more)
    return written.getvalue()
