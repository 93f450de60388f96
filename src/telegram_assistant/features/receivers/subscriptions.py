"""Links in mails, which work without a login: confirm,
unsubscribe, subscribe again.
"""

from collections.abc import Callable
from datetime import datetime

from telegram_assistant.domain.ids import TenantId
from telegram_assistant.errors import Missing
from telegram_assistant.features.receivers.receiver_links import (
    LinkedReceiver,
    read_confirm_token,
    read_unsubscribe_token,
)
from telegram_assistant.reasons import Reason
from telegram_assistant.sealing import Sealer
from telegram_assistant.stores.postgres.stores import TenantStores

LINK_UNUSABLE = Reason("receiver_link_unusable", "this link is not valid or has expired; ask for a new one")
HAS_UNSUBSCRIBED = Reason("mail_unsubscribed", "the recipient has unsubscribed")

type TenantOf = Callable[[TenantId], TenantStores]


def read_confirm_link(token: str, *, sealer: Sealer, now: datetime) -> LinkedReceiver:
    """Raises Missing for a link that we have not made, or that is too old."""
    linked_receiver = read_confirm_token(token, sealer=sealer, now=now)
    if linked_receiver is None:
        raise Missing(LINK_UNUSABLE)
    return linked_receiver


def read_unsubscribe_link(token: str, *, sealer: Sealer) -> LinkedReceiver:
    """Raises Missing for a link that we have not made."""
    linked_receiver = read_unsubscribe_token(token, sealer=sealer)
    if linked_receiver is None:
        raise Missing(LINK_UNUSABLE)
    return linked_receiver


async def confirm(linked_receiver: LinkedReceiver, *, tenant: TenantOf) -> None:
    """Raises Missing if a newer code was sent meanwhile, or the receiver is gone.

    A second click changes nothing.
    """
    receivers = tenant(linked_receiver.tenant_id).receivers
    if await receivers.confirm(linked_receiver.receiver_id, linked_receiver.code_number):
        return
    current_receiver = {receiver.receiver_id: receiver for receiver in await receivers.all()}.get(
        linked_receiver.receiver_id
    )
    if (
        current_receiver is None
        or current_receiver.confirmed_at is None
        or current_receiver.code_number != linked_receiver.code_number
    ):
        raise Missing(LINK_UNUSABLE)


async def unsubscribe(linked_receiver: LinkedReceiver, *, tenant: TenantOf) -> None:
    """Raises Missing if the receiver is gone; then nothing is sent to it either.

    A second click changes nothing.
    """
    if (
        await tenant(linked_receiver.tenant_id).receivers.unsubscribe(
            linked_receiver.receiver_id, HAS_UNSUBSCRIBED
        )
        is None
    ):
        raise Missing(LINK_UNUSABLE)


async def subscribe_again(linked_receiver: LinkedReceiver, *, tenant: TenantOf) -> None:
    """Raises Missing if the tenant has deleted the receiver."""
    if not await tenant(linked_receiver.tenant_id).receivers.subscribe_again(linked_receiver.receiver_id):
        raise Missing(LINK_UNUSABLE)
