"""Feeds as a feed reader opens them."""

import httpx

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.features.receivers.rss_feeds import create_feed
from telegram_assistant.stores.postgres.receivers.feed_addresses import FeedKind

BASE = "http://127.0.0.1:8000"


async def load_address(
    app: App, tenant_id: TenantId, kind: FeedKind, subject: str, *, language: str = "en"
) -> str:
    """The address of a new feed, without the ending."""
    created = await create_feed(
        kind, subject, stores=app.tenant(tenant_id), created_by="anna", language=language
    )
    return f"/feeds/{created.token}"


async def load_pictures(reader: httpx.AsyncClient, feed: str) -> list[str]:
    items = (await reader.get(f"{feed}.json")).json()["items"]
    return [
        attachment["url"].removeprefix(BASE) for item in items for attachment in item.get("attachments", ())
    ]
