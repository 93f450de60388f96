"""No receiver and no tenant keeps others from their deliveries: deadlines, turns, shares, limits per hour."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID, uuid4

import pytest

from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.receivers.delivery import ReceiverKind
from telegram_assistant.features.receivers.sending import (
    ATTEMPT_SECONDS,
    LEASE,
    MAX_DELIVERIES_PER_TURN,
    MAX_SENDERS_PER_TENANT,
    SENDERS,
    TURN_SECONDS,
    Sender,
    keep_sending,
    send_to_one,
)
from telegram_assistant.outbound.mail import Letter, Mailer
from telegram_assistant.outbound.webhooks import WebhookClient
from telegram_assistant.sealing import Sealer
from telegram_assistant.settings import MailSettings, Settings, read_group, read_settings
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.stores import SystemStores, TenantStores, person_stores, tenant_stores
from testkit.factories import make_tenant
from testkit.receiving import (
    OPEN_GUARD,
    HostileWebhook,
    MailServer,
    Misbehaviour,
    Webhook,
    make_receiver,
    serve,
)
from tests.conftest import Admin
from tests.features.receivers.test_sending_digests import make_digest

SEALER = Sealer("a secret of the installation, for tests")


HELD = "SELECT count(*) FROM receivers WHERE tenant_id = $1 AND leased_until > now()"


@dataclass
class Tenant:
    """A tenant with a person whose digests are delivered."""

    tenant_id: TenantId
    stores: TenantStores
    pool: Pool
    system: SystemStores
    receivers: list[UUID] = field(default_factory=list)

    async def receive(self, *addresses: str) -> None:
        for address in addresses:
            made = await make_receiver(
                ReceiverKind.WEBHOOK, str(uuid4()), address, stores=self.stores, sealer=SEALER
            )
            self.receivers.append(made.receiver_id)

    async def deliver(self, count: int = 1) -> None:
        """Puts so many digests into the outbox of each receiver."""
        user_id = (await self.system.users.join(self.tenant_id, f"reader {uuid4()}")).user_id
        digests = person_stores(self.pool, self.tenant_id, user_id).digests
        for _ in range(count):
            await digests.save(uuid4(), make_digest("The bridge is closed"), receivers=self.receivers)


@dataclass
class Town:
    """Tenants, and the process that sends for all of them."""

    system: SystemStores
    pool: Pool
    sender: Sender
    now: datetime

    async def tenant(self, *addresses: str) -> Tenant:
        tenant_id = await make_tenant(self.system)
        tenant = Tenant(tenant_id, tenant_stores(self.pool, tenant_id), self.pool, self.system)
        await tenant.receive(*addresses)
        return tenant

    async def send(self, turns: int) -> int:
        """Returns how many of so many turns somebody had."""
        return sum([await send_to_one(self.sender, clock=lambda: self.now) for _ in range(turns)])


@pytest.fixture
async def town(system: SystemStores, pool: Pool, admin: Admin) -> AsyncIterator[Town]:
    await admin.execute("UPDATE receivers SET paused_at = now()")  # those of other tests
    client = WebhookClient(OPEN_GUARD)
    sender = Sender(
        deliveries=system.deliveries,
        tenant=partial(tenant_stores, pool),
        person=partial(person_stores, pool),
        webhooks=client,
        mailer=Mailer(read_group(MailSettings, {}), "https://news.example"),
        sealer=SEALER,
        owner="one",
        per_hour=1000,
        attempt_seconds=1.0,
    )
    yield Town(system, pool, sender, datetime.now(UTC) + timedelta(minutes=1))
    await client.close()


@pytest.fixture
async def webhook() -> AsyncIterator[Webhook]:
    async with serve(Webhook()) as server:
        yield server


def test_an_attempt_ends_before_its_lease_and_a_turn_before_the_next_attempt_would_exceed_it() -> None:
    assert ATTEMPT_SECONDS < TURN_SECONDS < LEASE.total_seconds()
    assert MAX_SENDERS_PER_TENANT * 4 <= SENDERS


@pytest.mark.parametrize("misbehaviour", list(Misbehaviour))
async def test_a_receiver_that_never_ends_its_answer_is_given_up_in_time(
    town: Town, misbehaviour: Misbehaviour
) -> None:
    async with serve(HostileWebhook(misbehaviour)) as hostile:
        tenant = await town.tenant(hostile.url)
        await tenant.deliver()
        began = time.monotonic()
        await town.send(1)
        assert time.monotonic() - began < 5
        (receiver,) = await tenant.stores.receivers.all()
        assert (receiver.failures, receiver.waiting) == (1, 1)
        assert receiver.trouble is not None
        assert receiver.trouble.code in {"webhook_silent", "webhook_refused"}


async def test_eight_dripping_receivers_of_one_tenant_hold_a_quarter_of_the_senders_and_nobody_else_waits(
    town: Town, webhook: Webhook, admin: Admin
) -> None:
    async with AsyncExitStack() as stack:
        drips = [
            await stack.enter_async_context(serve(HostileWebhook(Misbehaviour.DRIP))) for _ in range(SENDERS)
        ]
        evil = await town.tenant(*(drip.url for drip in drips))
        good = await town.tenant(webhook.url)
        await evil.deliver()
        stopping, most_held = asyncio.Event(), 0
        sending = asyncio.create_task(keep_sending(stopping, sender=town.sender))
        try:
            while sum(drip.connections for drip in drips) < MAX_SENDERS_PER_TENANT:
                await asyncio.sleep(0.01)
            await good.deliver()
            began = time.monotonic()
            while not webhook.requests:
                assert time.monotonic() - began < 5
                most_held = max(most_held, await admin.fetchval(HELD, evil.tenant_id))
                await asyncio.sleep(0.02)
            assert most_held <= MAX_SENDERS_PER_TENANT
        finally:
            stopping.set()
            await sending


async def test_due_receivers_of_a_suspended_tenant_hold_up_nobody(
    town: Town, webhook: Webhook, admin: Admin
) -> None:
    suspended = await town.tenant(*(f"http://127.0.0.1:9/{number}" for number in range(SENDERS + 2)))
    good = await town.tenant(webhook.url)
    await suspended.deliver()
    await admin.execute("UPDATE tenants SET suspended_at = now() WHERE tenant_id = $1", suspended.tenant_id)
    await good.deliver()
    await town.send(1)
    assert len(webhook.requests) == 1
    assert await town.send(1) == 0


async def test_a_tenant_that_is_suspended_during_its_turn_gets_nothing_more(
    town: Town, webhook: Webhook, admin: Admin
) -> None:
    tenant = await town.tenant(webhook.url)
    await tenant.deliver(3)
    receiver = await town.sender.deliveries.claim(owner="one", lease=LEASE, now=town.now, per_hour=10)
    assert receiver is not None
    await admin.execute("UPDATE tenants SET suspended_at = now() WHERE tenant_id = $1", tenant.tenant_id)
    assert (
        await town.sender.deliveries.waiting(
            receiver, owner="one", lease=LEASE, now=town.now, per_hour=10, limit=1
        )
        == ()
    )


async def test_a_receiver_with_a_backlog_gives_way_after_its_turn(town: Town, webhook: Webhook) -> None:
    long, short = await town.tenant(f"{webhook.url}/long"), await town.tenant(f"{webhook.url}/short")
    await long.deliver(MAX_DELIVERIES_PER_TURN + 1)
    await town.send(1)
    assert len(webhook.requests) == MAX_DELIVERIES_PER_TURN
    await short.deliver()
    town.now += timedelta(seconds=1)
    await town.send(1)
    (receiver,) = await short.stores.receivers.all()
    assert receiver.waiting == 0


async def test_tenants_take_turns_however_many_receivers_one_of_them_has(
    town: Town, webhook: Webhook
) -> None:
    many = await town.tenant(*(f"{webhook.url}/{number}" for number in range(10)))
    few = await town.tenant(f"{webhook.url}/few")
    await many.deliver()
    await few.deliver()
    for _ in range(2):
        town.now += timedelta(seconds=1)
        await town.send(1)
    (receiver,) = await few.stores.receivers.all()
    assert receiver.waiting == 0


async def test_a_tenant_makes_so_many_attempts_an_hour_and_the_rest_goes_out_in_the_next(
    town: Town, webhook: Webhook
) -> None:
    tenant = await town.tenant(webhook.url)
    await tenant.deliver(3)
    town.sender = Sender(**{name: getattr(town.sender, name) for name in Sender.__slots__} | {"per_hour": 2})
    town.now = (town.now + timedelta(hours=1)).replace(minute=10)
    await town.send(1)
    assert await town.send(1) == 0
    assert len(webhook.requests) == 2
    town.now += timedelta(hours=1)
    await town.send(1)
    assert len(webhook.requests) == 3


@pytest.mark.turns("DELIVERIES_PER_HOUR")
def test_the_operator_sets_how_much_a_tenant_delivers_in_an_hour(
    installation: Settings, database: dict[str, str]
) -> None:
    assert installation.delivery.per_hour == 2000
    assert read_settings({**database, "DELIVERIES_PER_HOUR": "7"}).delivery.per_hour == 7


async def test_a_receiver_that_is_gone_is_paused_at_once(town: Town, webhook: Webhook) -> None:
    tenant = await town.tenant(webhook.url)
    await tenant.deliver()
    webhook.status = 410
    await town.send(1)
    (receiver,) = await tenant.stores.receivers.all()
    assert (receiver.paused_at is not None, receiver.failures) == (True, 1)


@pytest.mark.parametrize(
    ("status", "header", "expected"),
    [
        (429, "600", timedelta(minutes=10)),
        (503, "1", timedelta(seconds=5)),
        (503, "999999999999", timedelta(days=1)),
        (429, "soon", timedelta(seconds=5)),
        (500, "600", timedelta(seconds=5)),
    ],
)
async def test_retry_after_is_obeyed_within_reason(
    town: Town, webhook: Webhook, status: int, header: str, expected: timedelta
) -> None:
    tenant = await town.tenant(webhook.url)
    await tenant.deliver()
    webhook.status, webhook.headers = status, {"Retry-After": header}
    await town.send(1)
    (receiver,) = await tenant.stores.receivers.all()
    assert receiver.retry_at == town.now + expected


async def test_retry_after_may_be_a_date(town: Town, webhook: Webhook) -> None:
    tenant = await town.tenant(webhook.url)
    await tenant.deliver()
    at = (town.now + timedelta(minutes=30)).replace(microsecond=0)
    webhook.status, webhook.headers = 503, {"Retry-After": at.strftime("%a, %d %b %Y %H:%M:%S GMT")}
    await town.send(1)
    (receiver,) = await tenant.stores.receivers.all()
    assert receiver.retry_at == at


async def test_a_silent_mail_server_keeps_no_thread_waiting_after_the_deadline() -> None:
    class Silent(MailServer):
        ended = asyncio.Event()

        async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"220 here\r\n")
            while await reader.read(100):
                pass
            self.ended.set()
            writer.close()

    async with serve(Silent()) as server:
        environ = {"SMTP_HOST": "127.0.0.1", "SMTP_PORT": str(server.port), "SMTP_SECURITY": "none"}
        mailer = Mailer(read_group(MailSettings, environ), "https://news.example")
        letter = Letter(letter_id=uuid4(), subject="s", text="t", written_at=datetime.now(UTC))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await mailer.send("anna@desk.example", letter)
        await asyncio.wait_for(Silent.ended.wait(), 20)
