"""Receivers of alerts and digests: webhooks and e-mail addresses,
confirmed before anything is sent to them.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from telegram_assistant.domain.receivers.delivery import (
    NO_RECEIVER,
    OLD_SECRET_LASTS,
    AlertReceiver,
    ReceiverKind,
    is_mail_address,
    new_secret,
)
from telegram_assistant.domain.understanding.pages import Unreadable
from telegram_assistant.domain.watches.watch import MAX_NAME_LETTERS
from telegram_assistant.errors import Conflicting, Missing, Rejected
from telegram_assistant.features.receivers.receiver_links import is_code_of, secret_purpose
from telegram_assistant.outbound.guard import Guard
from telegram_assistant.reasons import Reason
from telegram_assistant.sealing import NO_SECRET_KEY, Sealer
from telegram_assistant.stores.postgres.receivers.deliveries import hour_of
from telegram_assistant.stores.postgres.receivers.receivers import NewReceiver
from telegram_assistant.stores.postgres.stores import TenantStores

UNSUBSCRIBED = Reason(
    "address_unsubscribed",
    "the recipient has unsubscribed; only they can change this, on the page behind the link in one of "
    "their e-mails",
)


@dataclass(frozen=True, slots=True)
class CreatedReceiver:
    """A new receiver. The secret of a webhook is shown only once; an e-mail address has none."""

    receiver: AlertReceiver
    secret: str

    def __repr__(self) -> str:
        return f"CreatedReceiver({self.receiver.receiver_id})"


async def create_receiver(
    kind: ReceiverKind,
    name: str,
    address: str,
    *,
    stores: TenantStores,
    sealer: Sealer,
    guard: Guard,
    language: str,
    created_by: str,
) -> CreatedReceiver:
    """Sends a code to the address; nothing else is sent before somebody there has shown it.

    Raises Rejected if the address cannot be used, Conflicting if the name or the address is taken.
    """
    shown_name = " ".join(name.split())
    if not 0 < len(shown_name) <= MAX_NAME_LETTERS:
        raise Rejected(
            Reason(
                "receiver_name_length",
                "a receiver needs a name of 1 to {most} characters",
                most=MAX_NAME_LETTERS,
            )
        )
    if not sealer.is_usable:
        raise Rejected(NO_SECRET_KEY)
    receiver_id, secret = uuid4(), new_secret() if kind is ReceiverKind.WEBHOOK else ""
    new_receiver = NewReceiver(
        receiver_id=receiver_id,
        kind=kind,
        name=shown_name,
        address=await _check_address(kind, address.strip(), stores=stores, guard=guard),
        language=language,
        created_by=created_by,
        sealed_secret=sealer.seal(secret, purpose=secret_purpose(receiver_id)) if secret else "",
    )
    if not await stores.receivers.create(new_receiver):
        raise Conflicting(
            Reason(
                "receiver_taken",
                "a receiver already has this name or address, or there are too many; choose another one, "
                "or delete one first",
            )
        )
    return CreatedReceiver(await find_receiver(receiver_id, stores=stores), secret)


async def _check_address(kind: ReceiverKind, address: str, *, stores: TenantStores, guard: Guard) -> str:
    """The address in the form in which it is compared with others."""
    if kind is ReceiverKind.WEBHOOK:
        try:
            return guard.target(address).url
        except Unreadable as error:
            raise Rejected(
                Reason("webhook_address_refused", "this address cannot be used: {why}", why=error.reason)
            ) from error
    if not is_mail_address(address):
        raise Rejected(Reason("mail_address_invalid", "this is not an e-mail address"))
    if await stores.receivers.is_unsubscribed(address):
        raise Rejected(UNSUBSCRIBED)
    return address


async def list_receivers(*, stores: TenantStores) -> tuple[AlertReceiver, ...]:
    """All receivers of the tenant, by name."""
    return await stores.receivers.all()


async def find_end_of_limit(*, stores: TenantStores, per_hour: int, now: datetime) -> datetime | None:
    """When deliveries go on, if the tenant has used up its attempts of this hour."""
    hour = hour_of(now)
    return hour + timedelta(hours=1) if await stores.receivers.attempts_in(hour) >= per_hour else None


async def find_receiver(receiver_id: UUID, *, stores: TenantStores) -> AlertReceiver:
    for receiver in await stores.receivers.all():
        if receiver.receiver_id == receiver_id:
            return receiver
    raise Missing(NO_RECEIVER)


async def confirm_receiver(
    receiver_id: UUID, typed_text: str, *, stores: TenantStores, sealer: Sealer
) -> AlertReceiver:
    """Raises Rejected if this is not the code of the last message."""
    receiver = await find_receiver(receiver_id, stores=stores)
    if receiver.confirmed_at is not None:
        return receiver
    code_number = await stores.receivers.take_code_attempt(receiver_id)
    if code_number is None:
        raise Rejected(Reason("receiver_codes_used_up", "too many wrong codes; send a new code"))
    if not is_code_of(typed_text, receiver_id, code_number, sealer=sealer):
        raise Rejected(
            Reason("receiver_code_wrong", "this is not the code from the last message to the receiver")
        )
    await stores.receivers.confirm(receiver_id, code_number)
    return await find_receiver(receiver_id, stores=stores)


async def send_code_again(receiver_id: UUID, *, stores: TenantStores) -> AlertReceiver:
    """Sends a new code; earlier ones end.

    Raises Conflicting if the receiver is confirmed, Rejected if its reader has unsubscribed.
    """
    receiver = await find_receiver(receiver_id, stores=stores)
    if receiver.kind is ReceiverKind.EMAIL and await stores.receivers.is_unsubscribed(receiver.address):
        raise Rejected(UNSUBSCRIBED)
    if not await stores.receivers.send_code(receiver_id):
        raise Conflicting(Reason("receiver_is_confirmed", "this receiver is already confirmed"))
    return await find_receiver(receiver_id, stores=stores)


async def replace_secret(receiver_id: UUID, *, stores: TenantStores, sealer: Sealer) -> CreatedReceiver:
    """Requests are signed with both secrets for a day. Raises Missing if there is no such webhook."""
    secret = new_secret()
    sealed_text = sealer.seal(secret, purpose=secret_purpose(receiver_id))
    if not await stores.receivers.replace_secret(receiver_id, sealed_text, lifetime=OLD_SECRET_LASTS):
        raise Missing(NO_RECEIVER)
    return CreatedReceiver(await find_receiver(receiver_id, stores=stores), secret)


async def resume_receiver(receiver_id: UUID, *, stores: TenantStores) -> AlertReceiver:
    """Tries the receiver again at once; what waits for it is delivered in order."""
    receiver = await find_receiver(receiver_id, stores=stores)
    if receiver.kind is ReceiverKind.EMAIL and await stores.receivers.is_unsubscribed(receiver.address):
        raise Rejected(UNSUBSCRIBED)
    await stores.receivers.resume(receiver_id)
    return await find_receiver(receiver_id, stores=stores)


async def pause_receiver(receiver_id: UUID, *, stores: TenantStores) -> AlertReceiver:
    if not await stores.receivers.pause(receiver_id):
        raise Missing(NO_RECEIVER)
    return await find_receiver(receiver_id, stores=stores)


async def replay_receiver(receiver_id: UUID, *, stores: TenantStores, since: datetime) -> int:
    """Delivers again what was delivered since then, with the same ids.

    Returns how many deliveries that are.
    """
    replayed_count = await stores.receivers.replay(receiver_id, since=since)
    if replayed_count is None:
        raise Missing(NO_RECEIVER)
    return replayed_count


async def delete_receiver(receiver_id: UUID, *, stores: TenantStores) -> None:
    if not await stores.receivers.delete(receiver_id):
        raise Missing(NO_RECEIVER)
