"""Posts with pictures whose bytes are stored, and the program with a provider at the wire."""

import hashlib
import io
import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg
from PIL import Image, ImageDraw, ImageFont

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.events import PostVisionAnalyzed, PostVisionUploaded
from telegram_assistant.settings import read_settings
from telegram_assistant.stages.post_persistence import post_persistence
from telegram_assistant.stages.vision_analysis import vision_analysis
from telegram_assistant.stores.postgres.channels.channels import Subscription
from telegram_assistant.stores.postgres.media.files import MediaJob
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.streams.stage import bind
from testkit.factories import fresh_number, make_channel, make_page, make_post
from testkit.provider_server import FakeServer, fake_server
from tests.ai.conftest import make_payer
from tests.conftest import Admin
from tests.streams.conftest import parsed_event

PRICES = 'as_of = 2026-11-01\nunit = "RUB"\n[gigachat."*"]\nreceived = 1\n[openai."*"]\nreceived = 1\n'


def draw_picture(words: str = "", *, form: str = "JPEG", size: tuple[int, int] = (640, 400)) -> bytes:
    """A picture that resembles no other test's, with words above it."""
    image = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(image)
    rng = random.Random(fresh_number())
    for _ in range(36):
        x, y = rng.randrange(size[0]), size[1] // 2 + rng.randrange(size[1])
        pen.rectangle((x, y, x + 90, y + 50), fill=rng.choice(("orange", "gray", "black", "teal")))
    pen.text((40, 40), words, fill="black", font=ImageFont.load_default(40))
    written = io.BytesIO()
    image.save(written, form)
    return written.getvalue()


@dataclass
class Looking:
    """The program with a place for files, and the server that it asks."""

    app: App
    server: FakeServer
    admin: Admin
    folder: Path

    async def channel(
        self, policy: AiPolicy = AiPolicy.PROVIDER, *, micro: int = 1_000_000_000, **more: Any
    ) -> ChannelId:
        channel_id = await make_channel(self.app.system, **more)
        payer = await make_payer(self.app.system, micro=micro)
        await self.app.system.channels.subscribe(
            payer, Subscription(channel_id=channel_id, ai_policy=policy, keeps_protected=True)
        )
        return channel_id

    async def post(
        self, channel_id: ChannelId, *files: bytes | dict[str, Any], message_id: int = 1, **more: Any
    ) -> PostId:
        """Stores a post with a photo for each file. Pass a file of another kind as its facts and `data`."""
        items = [_facts(file) for file in files]
        stored = [items[number].pop("data", None) for number in range(len(items))]
        facts = {
            "media": {"kind": "paid", "items": items} if len(items) > 1 else items[0],
            **more.pop("facts", {}),
        }
        now = datetime.now(UTC)
        post = make_post(
            channel_id=channel_id,
            message_id=message_id,
            facts=facts,
            posted_at=more.pop("posted_at", now),
            **more,
        )
        await self.app.system.landing.land(make_page(post), Claim(channel_id, 0))
        await post_persistence(
            [parsed_event(message_id, channel_id=channel_id)],
            **bind(post_persistence, self.app.collaborators),
        )
        for ordinal, (item, data) in enumerate(zip(items, stored, strict=True)):
            if data is not None:
                await self._store(PostId(channel_id, MessageId(message_id)), ordinal, item, data)
        return PostId(channel_id, MessageId(message_id))

    async def _store(self, post: PostId, ordinal: int, item: dict[str, Any], data: bytes) -> None:
        sha256, file = hashlib.sha256(data).digest(), self.folder / "upload"
        file.write_bytes(data)
        assert self.app.files is not None
        await self.app.system.media.reserve(sha256, len(data), item.get("mime_type"))
        await self.app.files.put(sha256, file)
        job = MediaJob(
            channel_id=post.channel_id,
            message_id=post.message_id,
            ordinal=ordinal,
            media_id=item["id"],
            is_photo=item["kind"] == "photo",
            size_bytes=len(data),
            mime=None,
            attempts=0,
            access_hash=0,
        )
        await self.app.system.media.mark_stored(job, sha256, len(data))

    async def load_uploaded(self, post: PostId) -> PostVisionUploaded:
        """The event that the pipeline emitted when the last file was settled."""
        payloads = await self.admin.fetch(
            "SELECT payload FROM notices WHERE event = 'posts.vision.uploaded' AND channel_id = $1",
            post.channel_id,
        )
        events = [PostVisionUploaded.model_validate_json(row["payload"]) for row in payloads]
        return next(event for event in events if event.post == post)

    async def look(self, post: PostId, **instead: Any) -> PostVisionAnalyzed:
        """`instead`: collaborators that replace those of the program's picture analyzer."""
        picture_analyzer = replace(self.app.picture_analyzer, **instead)
        event = await vision_analysis(
            await self.load_uploaded(post), posts=self.app.system.posts, picture_analyzer=picture_analyzer
        )
        assert isinstance(event, PostVisionAnalyzed)
        return event

    async def rows(self, post: PostId, kind: str = "vision") -> dict[str, dict[str, Any]]:
        """The stored results about the post, by tier."""
        query = (
            "SELECT tier, data FROM post_enrichment WHERE channel_id = $1 AND message_id = $2 AND kind = $3"
        )
        return {
            row["tier"]: json.loads(row["data"])
            for row in await self.admin.fetch(query, post.channel_id, post.message_id, kind)
        }

    async def whys(self, post: PostId) -> list[str]:
        return [file["why"] for file in (await self.rows(post))["local"]["files"]]


def _facts(picture: bytes | dict[str, Any]) -> dict[str, Any]:
    given = {"kind": "photo", "data": picture} if isinstance(picture, bytes) else dict(picture)
    return {"id": fresh_number(), "size_bytes": len(given.get("data") or b"12345"), "dc_id": 2, **given}


@asynccontextmanager
async def looking_at(database: dict[str, str], folder: Path, **variables: str) -> AsyncIterator[Looking]:
    """Without variables: one provider, at which only what comes out costs, a micro-unit for each token."""
    prices = folder / "prices.toml"
    prices.write_text(PRICES, encoding="utf-8")
    async with fake_server() as server, connect(database["DATABASE_ADMIN_URL"]) as admin:
        provider_settings = variables or server.gigachat(GIGACHAT_STREAMS="10")
        known = {
            **database,
            "S3_ENDPOINT": "",
            "FILES_DIR": str(folder / "files"),
            "AI_PRICES_FILE": str(prices),
            **provider_settings,
        }
        async with assemble(read_settings(known)) as app:
            yield Looking(app, server, admin, folder)


@asynccontextmanager
async def connect(url: str) -> AsyncIterator[Admin]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()
