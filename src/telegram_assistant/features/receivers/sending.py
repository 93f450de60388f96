"""Delivers alerts, digests and codes: in order for each receiver, again after failures, and by one process at
a time.

Tenants take turns. A turn ends after a number of deliveries or seconds, one attempt has one deadline, and at
most a quarter of the senders of a process work for the same tenant: no receiver and no tenant keeps others
waiting.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

from pydantic import BaseModel
from pydantic_core import to_json

from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.domain.receivers.delivery import DELIVERED, AttemptResult, MessageType, ReceiverKind
from telegram_assistant.features.digests.digest_response import digest_response
from telegram_assistant.features.digests.letters import DigestReader, letter_of_digest
from telegram_assistant.features.receivers.letters import letter_of_alerts, letter_of_code
from telegram_assistant.features.receivers.receiver_links import (
    LinkedReceiver,
    code_of,
    confirm_token,
    echoes_code,
    secret_purpose,
    unsubscribe_token,
)
from telegram_assistant.features.stories.shared import shared_stories
from telegram_assistant.features.watches.alert_schema import alert_response
from telegram_assistant.outbound.mail import Letter, Mailer
from telegram_assistant.outbound.webhooks import WebhookClient, silent
from telegram_assistant.reasons import Reason
from telegram_assistant.sealing import Sealer
from telegram_assistant.stores.postgres.receivers.deliveries import (
    DeliveredDigest,
    Deliveries,
    Delivery,
    DueReceiver,
)
from telegram_assistant.stores.postgres.stores import PersonStores, TenantStores
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import DELIVERIES
from telegram_assistant.translation import translate

log = get_logger()

ATTEMPT_SECONDS = 20.0
"""The deadline of a whole attempt: names, connection, request, answer."""
LEASE = timedelta(seconds=60)
"""Longer than one attempt takes: after it, another process may send to the receiver."""
TURN_SECONDS = 30.0
MAX_DELIVERIES_PER_TURN = 20
SENDERS = 8
"""Receivers that one process sends to at the same time."""
MAX_SENDERS_PER_TENANT = SENDERS // 4
MAILED_TOGETHER = 100
MAX_LETTERS_PER_DAY = 500
MAX_CODES_PER_DAY = 3
"""Mails, and among them codes, that one address gets in a day from all tenants."""
EVERY_SECONDS = 1.0
NO_SECRET = Reason(
    "webhook_secret_unusable", "its secret cannot be read, or it has none; create a new secret"
)


@dataclass(frozen=True, slots=True)
class Sender:
    """The stores, clients and limits that sending needs."""

    deliveries: Deliveries
    tenant: Callable[[TenantId, UserId | None], TenantStores]
    """For everybody in the tenant, or for one person."""
    person: Callable[[TenantId, UserId], PersonStores]
    webhooks: WebhookClient
    mailer: Mailer
    sealer: Sealer
    owner: str
    per_hour: int
    """Attempts of one tenant."""
    attempt_seconds: float = ATTEMPT_SECONDS


@dataclass(slots=True)
class SenderTurns:
    """Shares the senders of a process among tenants, and asks the database seldom while nothing is due."""

    _held: Counter[TenantId] = field(default_factory=Counter)
    _claiming: asyncio.Lock = field(default_factory=asyncio.Lock)
    _quiet_until: float = 0.0

    @asynccontextmanager
    async def claim(self, sender: Sender, now: datetime) -> AsyncIterator[DueReceiver | None]:
        """A receiver that is due, held until the block ends; None if there is none."""
        receiver = await self._claim(sender, now)
        if receiver is None:
            yield None
            return
        try:
            yield receiver
        finally:
            try:
                await sender.deliveries.release(receiver, owner=sender.owner)
            finally:
                self._held[receiver.tenant_id] -= 1

    async def _claim(self, sender: Sender, now: datetime) -> DueReceiver | None:
        async with self._claiming:
            if time.monotonic() < self._quiet_until:
                return None
            full_tenant_ids = [
                tenant_id
                for tenant_id, held_count in self._held.items()
                if held_count >= MAX_SENDERS_PER_TENANT
            ]
            receiver = await sender.deliveries.claim(
                owner=sender.owner, lease=LEASE, now=now, per_hour=sender.per_hour, except_for=full_tenant_ids
            )
            if receiver is None:
                self._quiet_until = time.monotonic() + EVERY_SECONDS
            else:
                self._held[receiver.tenant_id] += 1
            return receiver


async def keep_sending(stopping: asyncio.Event, *, sender: Sender) -> None:
    """Delivers what is due until `stopping` is set."""
    turns = SenderTurns()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(SENDERS):
            tasks.create_task(_keep_sending(stopping, sender, turns))


async def _keep_sending(stopping: asyncio.Event, sender: Sender, turns: SenderTurns) -> None:
    while not stopping.is_set():
        if not await send_to_one(sender, clock=lambda: datetime.now(UTC), turns=turns, stopping=stopping):
            with suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), EVERY_SECONDS)


async def send_to_one(
    sender: Sender,
    *,
    clock: Callable[[], datetime],
    turns: SenderTurns | None = None,
    stopping: asyncio.Event | None = None,
) -> bool:
    """Claims a receiver and sends what is due for it until its turn ends.

    Returns False if nothing is due for anybody.
    """
    async with (turns or SenderTurns()).claim(sender, clock()) as receiver:
        if receiver is None:
            return False
        deadline = time.monotonic() + TURN_SECONDS
        for _ in range(MAX_DELIVERIES_PER_TURN):
            if (
                not await _send_next(sender, receiver, clock)
                or time.monotonic() >= deadline
                or (stopping and stopping.is_set())
            ):
                break
    return True


async def _send_next(sender: Sender, receiver: DueReceiver, clock: Callable[[], datetime]) -> bool:
    """Returns False if nothing more is due, or the receiver has not taken it."""
    batch_limit = MAILED_TOGETHER if receiver.kind is ReceiverKind.EMAIL else 1
    waiting_deliveries = await sender.deliveries.waiting(
        receiver, owner=sender.owner, lease=LEASE, now=clock(), per_hour=sender.per_hour, limit=batch_limit
    )
    if not waiting_deliveries:
        return False
    batch_deliveries = _batch(waiting_deliveries)
    result = await _attempt(sender, receiver, batch_deliveries, now=clock())
    DELIVERIES.labels(receiver.kind, "delivered" if result.trouble is None else "failed").inc()
    if result.trouble is not None:
        is_paused = await sender.deliveries.record_failure(receiver, result, now=clock())
        log.warning(
            "delivery_failed",
            receiver_id=str(receiver.receiver_id),
            code=result.trouble.code,
            paused=is_paused,
        )
        return False
    await sender.deliveries.mark_delivered(receiver, batch_deliveries, now=clock())
    return receiver.is_confirmed


def _batch(waiting_deliveries: tuple[Delivery, ...]) -> tuple[Delivery, ...]:
    """The deliveries of one mail: a code or digest alone, or alerts of one person up to the next digest."""

    def belongs(delivery: Delivery) -> bool:
        return delivery.alert_id is not None and delivery.user_id == waiting_deliveries[0].user_id

    return tuple(takewhile(belongs, waiting_deliveries)) or waiting_deliveries[:1]


async def _attempt(
    sender: Sender, receiver: DueReceiver, batch_deliveries: tuple[Delivery, ...], *, now: datetime
) -> AttemptResult:
    first_delivery = batch_deliveries[0]
    try:
        async with asyncio.timeout(sender.attempt_seconds):
            if first_delivery.code_number is not None:
                return await _send_code(sender, receiver, first_delivery, first_delivery.code_number, now=now)
            if first_delivery.digest is not None:
                return await _send_digest(sender, receiver, first_delivery, first_delivery.digest, now=now)
            return await _send_alerts(sender, receiver, batch_deliveries, now=now)
    except TimeoutError:
        return AttemptResult(trouble=silent(sender.attempt_seconds))


async def _send_alerts(
    sender: Sender, receiver: DueReceiver, batch_deliveries: tuple[Delivery, ...], *, now: datetime
) -> AttemptResult:
    """An alert that was deleted meanwhile needs no delivery."""
    stores = sender.tenant(receiver.tenant_id, batch_deliveries[0].user_id)
    by_id = await stores.alerts.some(
        [delivery.alert_id for delivery in batch_deliveries if delivery.alert_id]
    )
    alerts = [by_id[delivery.alert_id] for delivery in batch_deliveries if delivery.alert_id in by_id]
    if not alerts:
        return DELIVERED
    first_delivery = batch_deliveries[0]
    if receiver.kind is ReceiverKind.EMAIL:
        letter = letter_of_alerts(
            alerts,
            letter_id=first_delivery.delivery_id,
            tenant_url=sender.mailer.address_of(receiver.tenant),
            language=receiver.language,
            unsubscribe_url=unsubscribe_url(sender, receiver),
        )
        return await _mail(sender, receiver, letter, now=now)
    post_id = alerts[0].post_id
    stories = await shared_stories([post_id] if post_id else [], stores=stores)
    body = webhook_body(MessageType.ALERT_RAISED, alerts[0].created_at, alert_response(alerts[0], stories))
    return await _post(sender, receiver, first_delivery, body, now=now)


async def _send_digest(
    sender: Sender,
    receiver: DueReceiver,
    delivery: Delivery,
    delivered_digest: DeliveredDigest,
    *,
    now: datetime,
) -> AttemptResult:
    own = sender.person(receiver.tenant_id, delivered_digest.user_id).digests
    stored_digest = await own.find(delivered_digest.digest_id)
    if stored_digest is None:
        return DELIVERED
    tenant_url = sender.mailer.address_of(receiver.tenant)
    if receiver.kind is ReceiverKind.EMAIL:
        reader = DigestReader(
            tenant_url=tenant_url, language=receiver.language, zone=ZoneInfo((await own.plan()).zone)
        )
        letter = letter_of_digest(
            stored_digest,
            letter_id=delivery.delivery_id,
            reader=reader,
            unsubscribe_url=unsubscribe_url(sender, receiver),
        )
        return await _mail(sender, receiver, letter, now=now)
    data = digest_response(
        stored_digest.digest,
        digest_id=stored_digest.digest_id,
        tenant_url=tenant_url,
        say=lambda reason: translate(reason, receiver.language),
    )
    body = webhook_body(MessageType.DIGEST_READY, stored_digest.made_at, data)
    return await _post(sender, receiver, delivery, body, now=now)


class ConfirmationMessage(BaseModel, frozen=True):
    """The first message of a webhook.

    Whoever can read `code` types it on the page, or the receiver answers with it.
    """

    receiver_id: str
    name: str
    code: str
    text: str


async def _send_code(
    sender: Sender, receiver: DueReceiver, delivery: Delivery, code_number: int, *, now: datetime
) -> AttemptResult:
    code = code_of(receiver.receiver_id, code_number, sealer=sender.sealer)
    if receiver.kind is ReceiverKind.EMAIL:
        link = LinkedReceiver(receiver.tenant_id, receiver.receiver_id, code_number)
        letter = letter_of_code(
            code,
            letter_id=delivery.delivery_id,
            installation=sender.mailer.base_url,
            confirm_url=(
                f"{sender.mailer.base_url}/confirm/{confirm_token(link, sealer=sender.sealer, now=now)}"
            ),
            language=receiver.language,
            written_at=delivery.created_at,
        )
        return await _mail(sender, receiver, letter, now=now, is_code=True)
    text = Reason(
        "receiver_code",
        "The code that confirms the receiver “{name}”: {code}. Type it on the page “Receivers”, "
        "or answer with it.",
        name=receiver.name,
        code=code,
    )
    data = ConfirmationMessage(
        receiver_id=str(receiver.receiver_id),
        name=receiver.name,
        code=code,
        text=translate(text, receiver.language),
    )
    body = webhook_body(MessageType.RECEIVER_CONFIRMATION, delivery.created_at, data)
    result = await _post(sender, receiver, delivery, body, now=now, reads_answer=True)
    if result.trouble is None and echoes_code(result.answer, code):
        await sender.deliveries.mark_confirmed(receiver, code_number, now=now)
    return result


async def _post(
    sender: Sender,
    receiver: DueReceiver,
    delivery: Delivery,
    body: bytes,
    *,
    now: datetime,
    reads_answer: bool = False,
) -> AttemptResult:
    purpose = secret_purpose(receiver.receiver_id)
    opened_secrets = [
        sender.sealer.open(sealed_text, purpose=purpose) for sealed_text in receiver.sealed_secrets
    ]
    active_secrets = [secret for secret in opened_secrets if secret is not None]
    if not active_secrets:
        return AttemptResult(trouble=NO_SECRET, is_gone=True)
    return await sender.webhooks.send(
        receiver.address,
        body,
        active_secrets=active_secrets,
        message_id=delivery.delivery_id,
        now=now,
        reads_answer=reads_answer,
    )


async def _mail(
    sender: Sender, receiver: DueReceiver, letter: Letter, *, now: datetime, is_code: bool = False
) -> AttemptResult:
    """An address gets so many mails a day at most; what is over waits for the next day."""
    may_send = await sender.deliveries.take_letter(
        receiver.address,
        is_code=is_code,
        now=now,
        most_letters=MAX_LETTERS_PER_DAY,
        most_codes=MAX_CODES_PER_DAY,
    )
    if may_send:
        result = await sender.mailer.send(receiver.address, letter)
        if result.trouble is not None:
            await sender.deliveries.give_back_letter(receiver.address, is_code=is_code, now=now)
        return result
    max_per_day = MAX_CODES_PER_DAY if is_code else MAX_LETTERS_PER_DAY
    tomorrow = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    trouble = Reason(
        "mail_too_many",
        "this address has received the maximum of such e-mails for today: {most}",
        most=max_per_day,
    )
    return AttemptResult(trouble=trouble, retry_after=tomorrow - now)


def unsubscribe_url(sender: Sender, receiver: DueReceiver) -> str:
    token = unsubscribe_token(LinkedReceiver(receiver.tenant_id, receiver.receiver_id), sealer=sender.sealer)
    return f"{sender.mailer.base_url}/unsubscribe/{token}"


def webhook_body(message_type: MessageType, timestamp: datetime, data: BaseModel) -> bytes:
    """The envelope that every webhook gets; `data` is what the API answers for the same thing."""
    return to_json({"type": message_type, "timestamp": timestamp, "data": data.model_dump(mode="json")})
