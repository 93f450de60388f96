"""Alerts reach their receivers in order, again after failures, once for each id;
and wait through quiet hours.
"""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.domain.receivers.delivery import PAUSED_AFTER, ReceiverKind, new_secret, sign
from telegram_assistant.domain.watches.watch import (
    AlertSeverity,
    QuietHours,
    WatchKind,
    WatchOptions,
    WatchTarget,
)
from telegram_assistant.errors import Rejected
from telegram_assistant.features.receivers.sending import LEASE, Sender, send_to_one
from telegram_assistant.features.watches.watches import create_watch
from telegram_assistant.outbound.guard import Guard
from telegram_assistant.outbound.mail import Mailer
from telegram_assistant.outbound.webhooks import WebhookClient
from telegram_assistant.sealing import Sealer
from telegram_assistant.settings import MailSettings, read_group
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.posts.posts import Derived
from telegram_assistant.stores.postgres.stores import SystemStores, TenantStores, person_stores, tenant_stores
from testkit.factories import make_channel, make_page, make_post, make_subscription, make_tenant
from testkit.receiving import OPEN_GUARD, MailServer, Request, Webhook, make_receiver, serve
from tests.conftest import Admin

SEALER = Sealer("a secret of the installation, for tests")
PER_HOUR = 1000


def verify(secret: str, request: Request) -> None:
    """Whether the request is signed with this secret.

    The desk's clock runs ahead, so the library cannot look at it.
    """
    stamp = int(request.headers["webhook-timestamp"])
    assert (
        sign(secret, request.headers["webhook-id"], stamp, request.body)
        in request.headers["webhook-signature"].split()
    )


class SendingTenant:
    """A tenant with one watch, one receiver, and the process that sends to it.

    Time passes only when it is told to.
    """

    def __init__(
        self, system: SystemStores, pool: Pool, tenant_id: TenantId, channel_id: ChannelId, sender: Sender
    ) -> None:
        self.system, self.channel_id, self.sender = system, channel_id, sender
        self.stores: TenantStores = tenant_stores(pool, tenant_id)
        self.now = datetime.now(UTC) + timedelta(minutes=1)
        self.posted = 0
        self.secret = ""

    async def receive(self, kind: ReceiverKind, address: str, **options: Any) -> UUID:
        made = await make_receiver(kind, "desk", address, stores=self.stores, sealer=SEALER, language="ru")
        receiver_id, self.secret = made.receiver_id, made.secret
        target, chosen = (
            WatchTarget(kind=WatchKind.WORDS, query="снег"),
            WatchOptions(receivers=(receiver_id,), **options),
        )
        await create_watch(
            "Снег", target, chosen, stores=self.stores, created_by="anna", now=self.now, zone=UTC
        )
        return receiver_id

    async def raise_alert(self) -> str:
        self.posted += 1
        text = f"Снег номер {self.posted}"
        post = make_post(channel_id=self.channel_id, message_id=self.posted, text=text, posted_at=self.now)
        await self.system.landing.land(make_page(post), Claim(self.channel_id, 0))
        assert await self.system.watch_matching.raise_alerts([Derived(post, 1, "ru", ())]) == 1
        return text

    async def send(self, sender: Sender | None = None) -> None:
        while await send_to_one(sender or self.sender, clock=lambda: self.now):
            pass

    async def state(self) -> Any:
        return (await self.stores.receivers.all())[0]


@pytest.fixture
async def webhook() -> AsyncIterator[Webhook]:
    async with serve(Webhook()) as server:
        yield server


@pytest.fixture
async def mails() -> AsyncIterator[MailServer]:
    async with serve(MailServer()) as server:
        yield server


@pytest.fixture
async def desk(system: SystemStores, pool: Pool, admin: Admin) -> AsyncIterator[SendingTenant]:
    await admin.execute("UPDATE receivers SET paused_at = now()")  # those of other tests
    tenant_id, channel_id = await make_tenant(system), await make_channel(system)
    await system.channels.subscribe(tenant_id, make_subscription(channel_id))
    client = WebhookClient(OPEN_GUARD)
    sender = Sender(
        deliveries=system.deliveries,
        tenant=partial(tenant_stores, pool),
        person=partial(person_stores, pool),
        webhooks=client,
        mailer=Mailer(read_group(MailSettings, {}), "http://here"),
        sealer=SEALER,
        owner="one",
        per_hour=PER_HOUR,
    )
    yield SendingTenant(system, pool, tenant_id, channel_id, sender)
    await client.close()


async def test_a_webhook_that_was_down_for_an_hour_gets_everything_in_order_and_signed(
    desk: SendingTenant, webhook: Webhook
) -> None:
    await desk.receive(ReceiverKind.WEBHOOK, webhook.url)
    webhook.status, sent = 503, []
    until = desk.now + timedelta(hours=1)
    while desk.now < until:
        sent.append(await desk.raise_alert())
        await desk.send()
        desk.now += timedelta(minutes=7)
    assert (await desk.state()).trouble.parameters == {"status": 503}
    assert (await desk.state()).waiting == len(sent) > 5
    webhook.status = 200
    desk.now += timedelta(minutes=15)
    await desk.send()
    assert [delivery.data["data"]["text"] for delivery in webhook.requests] == sent
    assert len({delivery.headers["webhook-id"] for delivery in webhook.requests}) == len(sent)
    for request in webhook.requests:
        assert request.data["type"] == "alert.raised"
        verify(desk.secret, request)
    state = await desk.state()
    assert (state.waiting, state.failures, state.trouble) == (0, 0, None)


async def test_a_process_that_was_killed_between_sending_and_noting_repeats_the_same_id(
    desk: SendingTenant, webhook: Webhook
) -> None:
    await desk.receive(ReceiverKind.WEBHOOK, webhook.url)
    await desk.raise_alert()
    other = replace(desk.sender, owner="killed")
    receiver = await other.deliveries.claim(owner="killed", lease=LEASE, now=desk.now, per_hour=PER_HOUR)
    assert receiver is not None
    (lost,) = await other.deliveries.waiting(
        receiver, owner="killed", lease=LEASE, now=desk.now, per_hour=PER_HOUR, limit=1
    )
    await desk.send()
    assert webhook.requests == []
    desk.now += LEASE + timedelta(seconds=1)
    await desk.send()
    assert [request.headers["webhook-id"] for request in webhook.requests] == [str(lost.delivery_id)]
    assert (
        await other.deliveries.waiting(
            receiver, owner="killed", lease=LEASE, now=desk.now, per_hour=PER_HOUR, limit=1
        )
        == ()
    )


async def test_a_receiver_that_fails_for_a_day_is_paused_resumed_and_replayed(
    desk: SendingTenant, webhook: Webhook
) -> None:
    receiver_id = await desk.receive(ReceiverKind.WEBHOOK, webhook.url)
    webhook.status = 500
    sent = [await desk.raise_alert(), await desk.raise_alert()]
    await desk.send()
    desk.now += PAUSED_AFTER
    await desk.send()
    assert (await desk.state()).paused_at is not None
    webhook.status = 200
    desk.now += timedelta(hours=1)
    await desk.send()
    assert webhook.requests == []
    assert await desk.stores.receivers.resume(receiver_id)
    await desk.send()
    assert await desk.stores.receivers.replay(receiver_id, since=desk.now - timedelta(minutes=1)) == 2
    await desk.send()
    assert [request.data["data"]["text"] for request in webhook.requests] == sent * 2
    assert len({request.headers["webhook-id"] for request in webhook.requests}) == 2


async def test_quiet_hours_hold_deliveries_and_critical_alerts_do_not_wait(
    desk: SendingTenant, webhook: Webhook, admin: Admin
) -> None:
    here = datetime.now(UTC)
    around = QuietHours(
        (here - timedelta(hours=1)).time().replace(microsecond=0),
        (here + timedelta(hours=1)).time().replace(microsecond=0),
    )
    await desk.receive(ReceiverKind.WEBHOOK, webhook.url, quiet=around)
    await desk.raise_alert()
    await desk.send()
    assert webhook.requests == []
    assert await desk.stores.alerts.count_unread() == 1
    await admin.execute(
        "UPDATE watches SET severity = $1 WHERE watch_id = $2",
        AlertSeverity.CRITICAL,
        (await desk.stores.watches.all())[0].watch_id,
    )
    await desk.raise_alert()
    await desk.send()
    assert [request.data["data"]["text"] for request in webhook.requests] == ["Снег номер 2"]
    desk.now = here + timedelta(hours=1, minutes=1)
    await desk.send()
    assert [request.data["data"]["text"] for request in webhook.requests] == ["Снег номер 2", "Снег номер 1"]


@pytest.mark.parametrize(
    ("begins", "ends", "moment", "until"),
    [
        (time(22), time(7), "2026-11-15T20:30:00Z", "2026-11-16T04:00:00Z"),
        (time(22), time(7), "2026-11-15T03:59:59Z", "2026-11-15T04:00:00Z"),
        (time(22), time(7), "2026-11-15T04:00:00Z", "2026-11-15T04:00:00Z"),
        (time(13), time(14), "2026-11-15T10:30:00Z", "2026-11-15T11:00:00Z"),
        (time(13), time(14), "2026-11-15T11:30:00Z", "2026-11-15T11:30:00Z"),
    ],
)
async def test_quiet_hours_are_those_of_the_persons_zone(
    admin: Admin, begins: time, ends: time, moment: str, until: str
) -> None:
    at = datetime.fromisoformat(moment)
    assert await admin.fetchval(
        "SELECT quiet_until($1, $2, $3, 'Europe/Moscow')", at, begins, ends
    ) == datetime.fromisoformat(until)


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1/x",
        "http://10.0.0.1/",
        "http://[::1]/",
        "http://localhost/",
        "ftp://example.com/",
        "https://example.com:22/",
    ],
)
async def test_a_webhook_inside_the_network_is_refused(desk: SendingTenant, address: str) -> None:
    with pytest.raises(Rejected):
        await make_receiver(
            ReceiverKind.WEBHOOK, "inside", address, stores=desk.stores, sealer=SEALER, guard=Guard()
        )
    inside = WebhookClient(Guard())
    assert (
        await inside.send(address, b"{}", active_secrets=[new_secret()], message_id=UUID(int=1), now=desk.now)
    ).trouble is not None
    await inside.close()


@pytest.mark.turns("SMTP_HOST")
@pytest.mark.turns("SMTP_PORT")
@pytest.mark.turns("SMTP_SECURITY")
@pytest.mark.turns("SMTP_USER")
@pytest.mark.turns("SMTP_PASSWORD")
@pytest.mark.turns("SMTP_FROM")
async def test_alerts_that_wait_together_are_one_mail_in_the_receivers_language(
    desk: SendingTenant, mails: MailServer
) -> None:
    environ = {
        "SMTP_HOST": "127.0.0.1",
        "SMTP_PORT": str(mails.port),
        "SMTP_SECURITY": "none",
        "SMTP_USER": "anna",
        "SMTP_PASSWORD": "opensesame",
        "SMTP_FROM": "news@desk.example",
    }
    await desk.receive(ReceiverKind.EMAIL, "reader@desk.example")
    await desk.raise_alert()
    await desk.send()
    assert (await desk.state()).trouble.code == "mail_off"
    desk.now += timedelta(hours=1)
    await desk.raise_alert()
    encrypted = {name: value for name, value in environ.items() if name != "SMTP_SECURITY"}
    await desk.send(replace(desk.sender, mailer=Mailer(read_group(MailSettings, encrypted), "http://here")))
    assert (await desk.state()).trouble.code == "mail_unreachable"
    assert mails.messages == []
    desk.now += timedelta(hours=1)
    await desk.send(replace(desk.sender, mailer=Mailer(read_group(MailSettings, environ), "http://here")))
    (mail,) = mails.messages
    assert (mail["From"], mail["To"]) == ("news@desk.example", "reader@desk.example")
    assert mail["Subject"].startswith("Снег: Новый пост в канале")
    assert mail["Subject"].endswith("и ещё 1 оповещение")
    text = mail.get_content()
    assert text.index("Снег номер 1") < text.index("Снег номер 2")
    assert f"/post/{desk.channel_id}/1" in text
    assert (mails.logins, (await desk.state()).waiting) == (["anna\0opensesame"], 0)
