"""People whose digests are due all the time, and receivers that count arrivals: a webhook by ids, a mail
server.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, time
from uuid import UUID

import asyncpg

from telegram_assistant.domain.digests.plan import DigestPlan
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId
from telegram_assistant.domain.receivers.delivery import ReceiverKind
from telegram_assistant.domain.stories.story import LinkKind
from telegram_assistant.sealing import Sealer
from telegram_assistant.settings import DatabaseLogin, Settings
from telegram_assistant.stores.postgres.database import Pool, open_pool
from telegram_assistant.stores.postgres.pipeline.wakeup import Wakeup
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import (
    SystemStores,
    person_stores,
    system_stores,
    tenant_stores,
)
from testkit.factories import make_channel, make_page, make_post, make_subscription, make_tenant
from testkit.receiving import MailServer, Webhook, make_receiver, serve
from testkit.stories import store_story

PEOPLE = 4
STORY_SECONDS = 1.0
"""The interval at which two channels tell a new story."""
DRAIN_SECONDS = 90.0
"""Longer than the lease of a sender that was killed."""


@dataclass(frozen=True, slots=True)
class DigestReaders:
    """The receivers, and the database with the deliveries that they should get."""

    webhook: Webhook
    mails: MailServer
    admin: "asyncpg.Connection[asyncpg.Record]"
    telling: asyncio.Task[None]

    @property
    def environ(self) -> dict[str, str]:
        """The settings with which a replica reaches the two receivers."""
        mail = {
            "SMTP_HOST": "127.0.0.1",
            "SMTP_PORT": str(self.mails.port),
            "SMTP_SECURITY": "none",
            "SMTP_FROM": "news@desk.example",
        }
        return {**mail, "CHAOS_WEBHOOK_PORT": str(self.webhook.port)}

    async def end(self) -> None:
        """Ends the news, and waits until everything is delivered,
        at most until the leases of dead senders have ended.
        """
        self.telling.cancel()
        await asyncio.wait([self.telling])
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                await self._wait_for_deliveries()

    async def _wait_for_deliveries(self) -> None:
        while await self.admin.fetchval("SELECT count(*) FROM deliveries WHERE delivered_at IS NULL"):
            await asyncio.sleep(1.0)

    async def count_arrivals(self) -> dict[str, int]:
        """Counts the deliveries that arrived, were missed, or arrived twice."""
        rows = await self.admin.fetch(
            "SELECT d.delivery_id, d.digest_id, r.kind FROM deliveries d "
            "JOIN receivers r USING (tenant_id, receiver_id)"
        )
        sent = {
            kind: {str(row["delivery_id"]) for row in rows if row["kind"] == kind}
            for kind in ("webhook", "email")
        }
        arrived = Counter(arrival.headers["webhook-id"] for arrival in self.webhook.requests)
        ids_of_digest: dict[str, set[str]] = defaultdict(set)
        for delivery in self.webhook.requests:
            ids_of_digest[delivery.data["data"]["digest_id"]].add(delivery.headers["webhook-id"])
        mailed = Counter(
            str(mail["Message-ID"]).strip("<>").partition("@")[0] for mail in self.mails.messages
        )
        digests: int = await self.admin.fetchval(
            "SELECT count(*) FROM digests WHERE jsonb_array_length(content -> 'stories') > 0"
        )
        return {
            "digests": digests,
            "digests_without_delivery": digests - len({row["digest_id"] for row in rows}),
            "requests": arrived.total(),
            "requests_repeated": arrived.total() - len(arrived),
            "deliveries_missed": len(sent["webhook"] - arrived.keys()),
            "deliveries_seen_twice": sum(len(ids) > 1 for ids in ids_of_digest.values()),
            "mails": mailed.total(),
            "mails_repeated": mailed.total() - len(mailed),
            "mails_missed": len(sent["email"] - mailed.keys()),
        }


@asynccontextmanager
async def digest_readers(
    settings: Settings, admin: "asyncpg.Connection[asyncpg.Record]"
) -> AsyncIterator[DigestReaders]:
    """People with a webhook and a mail address each,
    and channels that tell a new story every second until the end.
    """
    async with (
        serve(Webhook(answers_after_seconds=0.3)) as webhook,
        serve(MailServer()) as mails,
        open_pool(settings.database, DatabaseLogin.SYSTEM) as pool,
        open_pool(settings.database, DatabaseLogin.API) as api_pool,
    ):
        system, sealer = system_stores(pool, Wakeup()), Sealer(settings.web.secret_key.get_secret_value())
        tenant_id = await make_tenant(system)
        channels = [await make_channel(system) for _ in range(2)]
        for channel_id in channels:
            await system.channels.subscribe(tenant_id, make_subscription(channel_id))
        for number in range(PEOPLE):
            await _make_reader(system, api_pool, tenant_id, number, webhook, sealer)
        telling = asyncio.create_task(_keep_telling(system, settings, channels))
        yield DigestReaders(webhook, mails, admin, telling)
        telling.cancel()


async def _make_reader(
    system: SystemStores, pool: Pool, tenant_id: TenantId, number: int, webhook: Webhook, sealer: Sealer
) -> None:
    stores = tenant_stores(pool, tenant_id)
    addresses = (
        (ReceiverKind.WEBHOOK, f"{webhook.url}/{number}"),
        (ReceiverKind.EMAIL, f"reader{number}@desk.example"),
    )
    made: list[UUID] = []
    for kind, address in addresses:
        receiver = await make_receiver(kind, f"{kind} {number}", address, stores=stores, sealer=sealer)
        made.append(receiver.receiver_id)
    member = await system.users.join(tenant_id, f"reader {number}")
    await person_stores(pool, tenant_id, member.user_id).digests.set_plan(
        DigestPlan((time(),), receivers=tuple(made))
    )


async def _keep_telling(system: SystemStores, settings: Settings, channels: list[ChannelId]) -> None:
    """With a connection of its own: a connection does one thing at a time."""
    assert settings.database.admin_url is not None
    admin, number = await asyncpg.connect(settings.database.admin_url.get_secret_value()), 0
    while True:
        number += 1
        text = (
            f"The bridge over river {number} is closed for {number} weeks. "
            f"Engineers found {number + 3} cracks in its piers."
        )
        posts = [PostId(channel_id, MessageId(number)) for channel_id in channels]
        for post_id in posts:
            post = make_post(
                channel_id=post_id.channel_id,
                message_id=post_id.message_id,
                text=text,
                posted_at=datetime.now(UTC),
            )
            await system.landing.land(make_page(post), Claim(post_id.channel_id, 0))
        await store_story(admin, posts, [(posts[1], posts[0], LinkKind.COPY, 9.0, False)])
        await asyncio.sleep(STORY_SECONDS)
