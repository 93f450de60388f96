"""The program with vectors: a real sentence model in front of the embedded engine,
or of the server where QDRANT_URL names one.
"""

import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import ChannelId, PostId, TenantId
from telegram_assistant.settings import read_settings
from telegram_assistant.stores.postgres.pipeline.rebuilds import Projection
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.vectors.index import VectorIndex
from telegram_assistant.vectors.protocol import Reach, Space, VectorQuery
from testkit.factories import make_channel, make_page, make_post, make_subscription, make_tenant
from testkit.models import MINILM

SPACE = Space(MINILM, 384)


@asynccontextmanager
async def open_with_vectors(
    database: dict[str, str], *, models: Path, folder: Path, **more: str
) -> AsyncIterator[App]:
    variables = {"MODELS_DIR": str(models), "AI_EMBEDDINGS_MODEL": MINILM, **vectors_in(folder), **more}
    async with assemble(read_settings({**database, **variables}), with_vectors=True) as app:
        yield app


def vectors_in(folder: Path) -> dict[str, str]:
    """Settings for the vectors that belong to this folder: in it,
    or on the server under a prefix of its own.
    """
    server = {name: os.environ[name] for name in ("QDRANT_URL", "QDRANT_API_KEY") if name in os.environ}
    prefix = f"tga-test-{hashlib.sha256(bytes(folder)).hexdigest()[:16]}-"
    return {"VECTORS_DIR": str(folder), **server, "QDRANT_COLLECTION_PREFIX": prefix}


async def mark_complete(system: SystemStores) -> None:
    """As after a rebuild of vectors: what is searched holds every post."""
    await system.rebuilds.want(Projection.VECTORS)
    await system.rebuilds.claim(Projection.VECTORS, owner="tests", lease=timedelta(minutes=1))
    await system.rebuilds.finish(Projection.VECTORS, owner="tests")


def index_of(app: App) -> VectorIndex:
    assert app.index is not None
    return app.index


async def make_followed_channel(system: SystemStores, **how: Any) -> tuple[ChannelId, TenantId]:
    channel_id, tenant_id = await make_channel(system), await make_tenant(system)
    await system.channels.subscribe(tenant_id, make_subscription(channel_id, **how))
    return channel_id, tenant_id


async def land(system: SystemStores, channel_id: ChannelId, *texts: str) -> list[PostId]:
    posts = [
        make_post(channel_id=channel_id, message_id=number, text=text)
        for number, text in enumerate(texts, start=1)
    ]
    await system.landing.land(make_page(*posts), Claim(channel_id, 0))
    return [post.id for post in posts]


async def search_ids(
    app: App, question: str, channel_id: ChannelId, tenant_id: TenantId, **limits: Any
) -> list[int]:
    """Message ids, the nearest first."""
    made = await app.questions.vectors([question], tenant_id=tenant_id)
    assert made.value is not None
    sought = VectorQuery(vector=made.value[0], reach=Reach(local=frozenset({channel_id})), limit=50, **limits)
    return [hit.post_id.message_id for hit in await index_of(app).vectors.search(SPACE, sought)]
