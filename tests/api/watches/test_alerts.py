"""Alerts in responses and in webhooks."""

from datetime import UTC, datetime, timedelta

import httpx

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.receivers.delivery import ReceiverKind
from telegram_assistant.domain.watches.watch import WatchKind, WatchOptions, WatchTarget
from telegram_assistant.features.receivers.sending import Sender, send_to_one
from telegram_assistant.features.watches.watches import create_watch
from telegram_assistant.outbound.mail import Mailer
from telegram_assistant.outbound.webhooks import WebhookClient
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.posts.posts import Derived
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import make_channel, make_page, make_post, make_subscription
from testkit.receiving import OPEN_GUARD, Webhook, make_receiver, serve
from tests.conftest import Admin


async def test_a_webhook_gets_what_the_api_answers(
    app: App,
    client: httpx.AsyncClient,
    key: dict[str, str],
    tenant_id: TenantId,
    system: SystemStores,
    admin: Admin,
) -> None:
    await admin.execute("UPDATE receivers SET paused_at = now()")  # those of other tests
    stores, now = app.tenant(tenant_id), datetime.now(UTC) + timedelta(minutes=1)
    channel_id = await make_channel(system)
    await system.channels.subscribe(tenant_id, make_subscription(channel_id))
    async with serve(Webhook()) as webhook:
        made = await make_receiver(
            ReceiverKind.WEBHOOK, "desk", webhook.url, stores=stores, sealer=app.sealer, language="ru"
        )
        await create_watch(
            "Снег",
            WatchTarget(kind=WatchKind.WORDS, query="снег"),
            WatchOptions(receivers=(made.receiver_id,)),
            stores=stores,
            created_by="anna",
            now=now,
            zone=UTC,
        )
        post = make_post(channel_id=channel_id, message_id=1, text="Первый снег", posted_at=now)
        await system.landing.land(make_page(post), Claim(channel_id, 0))
        assert await system.watch_matching.raise_alerts([Derived(post, 1, "ru", ())]) == 1
        webhooks = WebhookClient(OPEN_GUARD)
        sender = Sender(
            deliveries=system.deliveries,
            tenant=app.tenant_of_actor,
            person=app.person,
            webhooks=webhooks,
            mailer=Mailer(app.settings.mail, app.settings.pages_url),
            sealer=app.sealer,
            owner="one",
            per_hour=1000,
        )
        assert await send_to_one(sender, clock=lambda: now)
        await webhooks.close()
    (request,) = webhook.requests
    (alert,) = (await client.get("/api/v1/alerts", headers=key)).json()["items"]
    assert (request.data["type"], request.data["data"]) == ("alert.raised", alert)
