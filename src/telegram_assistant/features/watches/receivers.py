"""Receivers of alerts: webhooks and e-mail addresses."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from telegram_assistant.domain.understanding.pages import Unreadable
from telegram_assistant.domain.watches.delivery import AlertReceiver, ReceiverKind, is_mail_address, new_secret
from telegram_assistant.domain.watches.watch import MAX_NAME_LETTERS
from telegram_assistant.errors import Conflicting, Missing, Rejected
from telegram_assistant.features.watches.watches import NO_RECEIVER
from telegram_assistant.pages.guard import Guard
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.stores import TenantStores


@dataclass(frozen=True, slots=True)
class CreatedReceiver:
    """A new receiver. The secret of a webhook is shown only once; an e-mail address has none."""

    receiver: AlertReceiver
    secret: str


async def create_receiver(
    kind: ReceiverKind, name: str, address: str, *, stores: TenantStores, language: str, created_by: str, guard: Guard | None = None
) -> CreatedReceiver:
    """Raises Rejected if the address cannot be used, Conflicting if the name is taken."""
    shown, where = " ".join(name.split()), address.strip()
    if not 0 < len(shown) <= MAX_NAME_LETTERS:
        raise Rejected(Reason("receiver_name_length", "a receiver needs a name of 1 to {most} letters", most=MAX_NAME_LETTERS))
    if kind is ReceiverKind.WEBHOOK:
        try:
            (guard or Guard()).target(where)
        except Unreadable as error:
            raise Rejected(Reason("webhook_address_refused", "this address cannot be used: {why}", why=error.reason)) from error
    elif not is_mail_address(where):
        raise Rejected(Reason("mail_address_invalid", "this is no e-mail address"))
    secret = new_secret() if kind is ReceiverKind.WEBHOOK else ""
    receiver_id = await stores.receivers.create(kind, shown, where, secret=secret, language=language, created_by=created_by)
    if receiver_id is None:
        raise Conflicting(Reason("receiver_name_taken", "a receiver has this name already, or there are too many; choose another name or delete one"))
    return CreatedReceiver(await find_receiver(receiver_id, stores=stores), secret)


async def find_receiver(receiver_id: UUID, *, stores: TenantStores) -> AlertReceiver:
    for one in await stores.receivers.all():
        if one.receiver_id == receiver_id:
            return one
    raise Missing(NO_RECEIVER)


async def resume_receiver(receiver_id: UUID, *, stores: TenantStores) -> AlertReceiver:
    """Tries the receiver again at once; what waits for it is delivered in order."""
    if not await stores.receivers.resume(receiver_id):
        raise Missing(NO_RECEIVER)
    return await find_receiver(receiver_id, stores=stores)


async def pause_receiver(receiver_id: UUID, *, stores: TenantStores) -> AlertReceiver:
    if not await stores.receivers.pause(receiver_id):
        raise Missing(NO_RECEIVER)
    return await find_receiver(receiver_id, stores=stores)


async def replay_receiver(receiver_id: UUID, *, stores: TenantStores, since: datetime) -> int:
    """Delivers again what was delivered since then, with the same ids. Returns how many deliveries that are."""
    replayed = await stores.receivers.replay(receiver_id, since=since)
    if replayed is None:
        raise Missing(NO_RECEIVER)
    return replayed


async def delete_receiver(receiver_id: UUID, *, stores: TenantStores) -> None:
    if not await stores.receivers.delete(receiver_id):
        raise Missing(NO_RECEIVER)
