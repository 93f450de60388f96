"""Somebody without an account, who reads previews of a simulator into a real database. Turns come at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.features.channels.channel_lists import ListedChannel
from telegram_assistant.features.channels.channels import follow
from telegram_assistant.ingest.polling.previews import PreviewLoop, PreviewTurns
from telegram_assistant.ingest_role import build_preview_worker
from telegram_assistant.previews.site import open_site
from telegram_assistant.settings import PreviewSettings, Settings
from telegram_assistant.stores.postgres.channels.channel_requests import ChannelRequest
from telegram_assistant.stores.postgres.channels.channels import NOT_KNOWN_YET, Subscription
from telegram_assistant.telemetry.health import Health
from telegram_simulator.simulator import Simulator
from testkit.factories import make_tenant
from tests.conftest import Admin
from tests.simulator.serving import web_side

WANTED = Subscription(channel_id=NOT_KNOWN_YET)


@dataclass
class Window:
    """An installation that reads channels by previews, without an account."""

    app: App
    admin: Admin
    sim: Simulator
    tenant_id: TenantId
    reading: PreviewLoop
    turns: PreviewTurns
    health: Health
    stopping: asyncio.Event

    async def add(self, name: str) -> ChannelRequest:
        """`tga channels add`, as far as it comes with one look."""
        system, stores = self.app.system, self.app.tenant(self.tenant_id)
        (requested,) = await follow([ListedChannel(name)], WANTED, stores=stores)
        assert requested.request_id is not None
        taken = await system.request_queue.claim_public()
        assert taken is not None
        await self.reading.serve(taken)
        (answered,) = await stores.requests.some([requested.request_id])
        return answered

    async def poll(self, channel_id: int) -> None:
        await self.admin.execute(
            "UPDATE poll_schedule SET next_poll_at = now() + interval '1 day' WHERE next_poll_at < 'infinity'"
        )
        await self.admin.execute(
            "UPDATE poll_schedule SET next_poll_at = now() WHERE channel_id = $1", channel_id
        )
        await self.reading.turn()

    async def load_texts(self, channel_id: int) -> dict[int, str]:
        rows = await self.admin.fetch("SELECT message_id, text FROM posts WHERE channel_id = $1", channel_id)
        return {row["message_id"]: row["text"] for row in rows}

    async def load_status(self, channel_id: int) -> Any:
        overview = await self.app.tenant(self.tenant_id).coverage_overview.channels()
        return next(channel for channel in overview if channel.channel_id == channel_id)

    def health_facts(self) -> dict[str, Any]:
        return self.health.parts().get("previews", {})


@asynccontextmanager
async def open_window(settings: Settings, sim: Simulator, admin: Admin) -> AsyncIterator[Window]:
    async with web_side(sim) as url:
        previews = PreviewSettings(enabled=True, url=url)
        async with assemble(settings.model_copy(update={"previews": previews})) as app:
            await admin.execute(
                "UPDATE preview_reader SET lease_until = '-infinity', next_request_at = now()"
            )
            await admin.execute("DELETE FROM channel_requests")
            stopping, health = asyncio.Event(), Health(probes={})
            turns = PreviewTurns(app.instance, app.system.previews, every_seconds=0.0)
            async with open_site(previews, turns) as site:
                reading = PreviewLoop(
                    build_preview_worker(app, site, turns, health=health, stopping=stopping), stopping
                )
                assert await reading.take()
                yield Window(app, admin, sim, await make_tenant(app.system), reading, turns, health, stopping)
