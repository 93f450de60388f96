"""An account at work against a simulator, with everything else real. Waits of the line pass at once."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import SecretStr

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.accounts.account import AccountState, Lease
from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.channels.channel_requests import RequestKind, RequestState
from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.ingest.channel_resolution import ChannelResolver
from telegram_assistant.ingest.polling.account_loop import AccountLoop
from telegram_assistant.ingest.polling.missed_updates import CatchUp
from telegram_assistant.ingest.polling.push import PushWorker
from telegram_assistant.ingest.scheduler import Scheduler
from telegram_assistant.ingest_role import (
    OwnedAccount,
    build_account_dependencies,
    build_catch_up,
    build_push_worker,
    build_resolver,
    build_scheduler,
)
from telegram_assistant.settings import Settings, TelegramSettings
from telegram_assistant.stores.postgres.channels.channel_requests import ChannelRequest, NewRequest
from telegram_assistant.stores.postgres.channels.channels import Subscription
from telegram_assistant.stores.redis.scheduler import FACTS, LOCK
from telegram_assistant.telegram.account_client import AccountClient
from telegram_assistant.telegram.client import open_account_client
from telegram_assistant.telegram.reader import ChannelReader
from telegram_assistant.telegram.updates import MAX_WAITING, UpdateBuffer
from telegram_assistant.telemetry.health import Health
from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.channel import Channel as SimulatedChannel
from telegram_simulator.world.post import Post as SimulatedPost
from testkit.factories import fresh_number, make_tenant
from testkit.waits import Skipping
from tests.conftest import Admin

PHONE = "79990000001"


@dataclass
class Office:
    app: App
    admin: Admin
    sim: Simulator
    phone: str
    tenant_id: TenantId
    mine: OwnedAccount
    line: AccountClient
    reading: AccountLoop
    resolver: ChannelResolver
    receiver: UpdateBuffer
    listening: PushWorker
    catching_up: CatchUp
    scheduler: Scheduler
    stopping: asyncio.Event
    skipping: Skipping

    async def follow(self, channel: SimulatedChannel, **wish: Any) -> ChannelId:
        """As if it had been found by its name, without spending the budget for that."""
        channel_id = ChannelId(channel.channel_id)
        access_hash = self.sim.world.access_hash(self.sim.world.account(self.phone), channel_id)
        known_channel = Channel(channel_id=channel_id, title=channel.title, username=channel.username)
        await self.app.system.channels.open_to(
            self.mine.account_id, known_channel, access_hash, has_joined=False, read_at=self.now()
        )
        await self.app.system.channels.subscribe(self.tenant_id, Subscription(channel_id=channel_id, **wish))
        await self.app.system.planning.give_accounts()
        return channel_id

    async def request(self, kind: RequestKind, reference: str, wanted: Subscription) -> UUID:
        """To follow something, as a person does."""
        (request_id,) = await self.app.tenant(self.tenant_id).requests.add(
            [NewRequest(kind, reference, wanted)]
        )
        assert request_id is not None
        return request_id

    async def serve_request(self, request_id: UUID) -> ChannelRequest:
        """The request once it is answered, or when the account can do no more now."""
        while True:
            goes_on = await self.resolver.turn()
            (request,) = await self.app.tenant(self.tenant_id).requests.some([request_id])
            if request.state is not RequestState.OPEN or not goes_on:
                return request

    async def poll(self, channel_id: int) -> None:
        """One run over this channel, and nothing of the past."""
        await self.admin.execute(
            "UPDATE poll_schedule SET next_poll_at = now() + interval '1 day' WHERE next_poll_at < 'infinity'"
        )
        await self.admin.execute(
            "UPDATE poll_schedule SET next_poll_at = now() WHERE channel_id = $1", channel_id
        )
        await self.admin.execute(
            "UPDATE backfills SET next_try_at = now() + interval '1 day' WHERE state = 'open'"
        )
        await self.reading.turn()

    async def read_the_past(self) -> int:
        """Until no job is open; how many steps it took."""
        steps = 0
        await self.admin.execute("UPDATE backfills SET next_try_at = now() WHERE state = 'open'")
        await self.admin.execute(
            "UPDATE poll_schedule SET next_poll_at = now() + interval '1 day' WHERE next_poll_at < 'infinity'"
        )
        while await self.reading.turn():
            steps += 1
        return steps

    async def tick(self) -> None:
        """A tick, whether or not there was one in this interval."""
        await self.app.redis.delete(LOCK, FACTS)
        await self.scheduler.tick_if_free()

    async def load_texts(self, channel_id: int) -> dict[int, str]:
        rows = await self.admin.fetch("SELECT message_id, text FROM posts WHERE channel_id = $1", channel_id)
        return {row["message_id"]: row["text"] for row in rows}

    async def load_schedule(self, channel_id: int) -> Any:
        return await self.admin.fetchrow(
            "SELECT * FROM poll_schedule JOIN channels USING (channel_id) WHERE channel_id = $1", channel_id
        )

    async def gaps(self, channel_id: int) -> list[str]:
        coverage = await self.app.system.coverage.load_coverage(ChannelId(channel_id))
        return [] if coverage is None else [str(gap) for gap in coverage.gaps]

    def now(self) -> datetime:
        return datetime.now().astimezone()

    def calls(self, method: str = "messages.getHistory") -> int:
        return sum(count for (_, name), count in self.sim.counters.calls.items() if name == method)


def simulate_channel(
    control: Control, *, posts: int = 0, every: float = 60.0, newest_age: float = 0.0
) -> SimulatedChannel:
    """A channel with its creation and so many posts, the newest of that age."""
    name = f"name_{fresh_number()}"
    channel = control.add_channel(f"Channel {name}", name)
    now = time.time() - newest_age
    for number in range(posts):
        say(channel, f"пост {number + 1}", at=now - (posts - 1 - number) * every)
    return channel


def say(channel: SimulatedChannel, text: str, *, at: float | None = None) -> int:
    moment = int(time.time() if at is None else at)
    return channel.add(
        lambda message_id: SimulatedPost(message_id=message_id, date=moment, text=text, views=1, forwards=0)
    ).message_id


def truth(channel: SimulatedChannel, *, above: int = 0) -> dict[int, str]:
    ids = range(above + 1, channel.newest_id + 1)
    return {message_id: post.text for message_id in ids if (post := channel.get(message_id)) is not None}


@asynccontextmanager
async def open_office(
    settings: Settings,
    sim: Simulator,
    admin: Admin,
    *,
    phone: str = PHONE,
    max_waiting: int = MAX_WAITING,
    **parser: Any,
) -> AsyncIterator[Office]:
    """An account of a new operator's tenant."""
    changed = settings.parser.model_copy(update=parser)
    telegram = TelegramSettings(api_id=1, api_hash=SecretStr("any"))
    settings = settings.model_copy(update={"parser": changed, "telegram": telegram})
    async with assemble(settings) as app:
        tenant_id = await make_tenant(app.system)
        await admin.execute("UPDATE tenants SET is_operator = true WHERE tenant_id = $1", tenant_id)
        account_id = await app.system.accounts.add(tenant_id)
        await app.system.accounts.set_state(account_id, AccountState.ACTIVE)
        epoch = await admin.fetchval(
            "UPDATE telegram_accounts SET lease_epoch = nextval('lease_epochs') WHERE account_id = $1 "
            "RETURNING lease_epoch",
            account_id,
        )
        skipping, stopping, mine = (
            Skipping(),
            asyncio.Event(),
            OwnedAccount(account_id, epoch, Lease(begun_at=time.monotonic())),
        )
        session = Control(sim).session_string(phone)
        receiver, limits = UpdateBuffer(max_waiting=max_waiting), app.system.limits
        async with open_account_client(
            telegram,
            session,
            mine.lease,
            account_id=account_id,
            limits=limits,
            receiver=receiver,
            clock=skipping.clock,
        ) as line:
            reader = ChannelReader(line)
            yield Office(
                app=app,
                admin=admin,
                sim=sim,
                phone=phone,
                tenant_id=tenant_id,
                mine=mine,
                line=line,
                reading=AccountLoop(
                    build_account_dependencies(
                        app, mine, reader, slots=asyncio.Semaphore(4), stopping=stopping
                    ),
                    stopping,
                    health=Health(probes={}),
                ),
                resolver=build_resolver(app, mine, reader, waits=skipping.clock),
                receiver=receiver,
                listening=build_push_worker(app, mine, receiver),
                catching_up=build_catch_up(app, mine, reader, receiver),
                scheduler=build_scheduler(app, Health(probes={})),
                stopping=stopping,
                skipping=skipping,
            )
        await admin.execute("DELETE FROM telegram_accounts WHERE account_id = $1", account_id)
