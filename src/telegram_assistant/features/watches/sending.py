"""Delivers alerts and digests: in order for each receiver, again after failures, and by one process at a time."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

from pydantic_core import to_json

from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.domain.watches.delivery import ReceiverKind
from telegram_assistant.features.digests import delivery as digests
from telegram_assistant.features.watches.alerts import link_of_alert
from telegram_assistant.features.watches.mail import Mailer, letter_of_alerts
from telegram_assistant.pages.webhooks import WebhookClient
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.stores import PersonStores, TenantStores
from telegram_assistant.stores.postgres.watches.alerts import Alert
from telegram_assistant.stores.postgres.watches.deliveries import DeliveredDigest, Deliveries, Delivery, DueReceiver
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()

LEASE = timedelta(seconds=60)
"""Longer than one attempt takes: after it, another process may send to the receiver."""
SENDERS = 8
"""Receivers that one process sends to at the same time."""
MAILED_TOGETHER = 100
EVERY_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Sender:
    """What sending needs."""

    deliveries: Deliveries
    tenant: Callable[[TenantId], TenantStores]
    person: Callable[[TenantId, UserId], PersonStores]
    webhooks: WebhookClient
    mailer: Mailer
    owner: str


async def keep_sending(stopping: asyncio.Event, *, sender: Sender) -> None:
    """Delivers what is due until `stopping` is set."""
    async with asyncio.TaskGroup() as tasks:
        for _ in range(SENDERS):
            tasks.create_task(_keep_sending(stopping, sender))


async def _keep_sending(stopping: asyncio.Event, sender: Sender) -> None:
    while not stopping.is_set():
        if not await send_to_one(sender, clock=lambda: datetime.now(UTC)):
            with suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), EVERY_SECONDS)


async def send_to_one(sender: Sender, *, clock: Callable[[], datetime]) -> bool:
    """Claims a receiver and sends what is due for it, until one attempt fails. Returns False if nothing is due anywhere."""
    receiver = await sender.deliveries.claim(owner=sender.owner, lease=LEASE, now=clock())
    if receiver is None:
        return False
    together = MAILED_TOGETHER if receiver.kind is ReceiverKind.EMAIL else 1
    try:
        while waiting := await sender.deliveries.waiting(receiver, owner=sender.owner, lease=LEASE, now=clock(), limit=together):
            batch = _batch(waiting)
            trouble = await _attempt(sender, receiver, batch, now=clock())
            if trouble is not None:
                paused = await sender.deliveries.failed(receiver, trouble, now=clock())
                log.warning("delivery_failed", receiver_id=str(receiver.receiver_id), code=trouble.code, paused=paused)
                break
            await sender.deliveries.delivered(receiver, batch, now=clock())
    finally:
        await sender.deliveries.release(receiver, owner=sender.owner)
    return True


def _batch(waiting: tuple[Delivery, ...]) -> tuple[Delivery, ...]:
    """What goes in one mail: a digest alone, or all alerts up to the next digest."""
    return waiting[:1] if waiting[0].digest else tuple(takewhile(lambda one: one.digest is None, waiting))


async def _attempt(sender: Sender, receiver: DueReceiver, batch: tuple[Delivery, ...], *, now: datetime) -> Reason | None:
    """Returns why the receiver has not taken it."""
    first = batch[0]
    if first.digest is not None:
        return await _send_digest(sender, receiver, first, first.digest, now=now)
    return await _send_alerts(sender, receiver, batch, now=now)


async def _send_alerts(sender: Sender, receiver: DueReceiver, batch: tuple[Delivery, ...], *, now: datetime) -> Reason | None:
    """An alert that was deleted meanwhile needs no delivery."""
    found = await sender.tenant(receiver.tenant_id).alerts.some([one.alert_id for one in batch if one.alert_id])
    alerts = [found[one.alert_id] for one in batch if one.alert_id in found]
    if not alerts:
        return None
    first = batch[0]
    if receiver.kind is ReceiverKind.EMAIL:
        here = sender.mailer.address_of(receiver.tenant)
        letter = letter_of_alerts(alerts, letter_id=first.delivery_id, here=here, language=receiver.language)
        return await sender.mailer.send(receiver.address, letter)
    body = webhook_body(first, alerts[0])
    return await sender.webhooks.send(receiver.address, body, secret=receiver.secret, delivery_id=first.delivery_id, now=now)


async def _send_digest(sender: Sender, receiver: DueReceiver, delivery: Delivery, which: DeliveredDigest, *, now: datetime) -> Reason | None:
    own = sender.person(receiver.tenant_id, which.user_id).digests
    stored = await own.find(which.digest_id)
    if stored is None:
        return None
    zone = ZoneInfo((await own.plan()).zone)
    reader = digests.DigestReader(here=sender.mailer.address_of(receiver.tenant), language=receiver.language, zone=zone)
    if receiver.kind is ReceiverKind.EMAIL:
        letter = digests.letter_of_digest(stored, letter_id=delivery.delivery_id, reader=reader)
        return await sender.mailer.send(receiver.address, letter)
    body = digests.webhook_body(stored, delivery_id=delivery.delivery_id, attempt=delivery.attempt, reader=reader)
    return await sender.webhooks.send(receiver.address, body, secret=receiver.secret, delivery_id=delivery.delivery_id, now=now)


def webhook_body(delivery: Delivery, alert: Alert) -> bytes:
    """The JSON that a webhook gets: the alert as the API shows it, with the id of the delivery."""
    return to_json(
        {
            "id": delivery.delivery_id,
            "type": "alert",
            "attempt": delivery.attempt,
            "alert": {
                "alert_id": alert.alert_id,
                "watch_id": alert.watch_id,
                "watch": alert.watch,
                "kind": alert.kind,
                "severity": alert.severity,
                "happened_at": alert.happened_at,
                "created_at": alert.created_at,
                "channel_id": alert.channel_id,
                "channel": alert.channel,
                "post_id": None if alert.post_id is None else str(alert.post_id),
                "link": link_of_alert(alert),
                "text": alert.text,
            },
        }
    )
