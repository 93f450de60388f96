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
    linked = read_confirm_token(token, sealer=sealer, now=now)
    if linked is None:
        raise Missing(LINK_UNUSABLE)
    return linked


def read_unsubscribe_link(token: str, *, sealer: Sealer) -> LinkedReceiver:
    """Raises Missing for a link that we have not made."""
    linked = read_unsubscribe_token(token, sealer=sealer)
    if linked is None:
        raise Missing(LINK_UNUSABLE)
    return linked


async def confirm(linked: LinkedReceiver, *, tenant: TenantOf) -> None:
    """Raises Missing if a newer code was sent meanwhile, or the receiver is gone.

    A second click changes nothing.
    """
    receivers = tenant(linked.tenant_id).receivers
    if await receivers.confirm(linked.receiver_id, linked.code_number):
        return
    current = {receiver.receiver_id: receiver for receiver in await receivers.all()}.get(linked.receiver_id)
    if current is None or current.confirmed_at is None or current.code_number != linked.code_number:
        raise Missing(LINK_UNUSABLE)


async def unsubscribe(linked: LinkedReceiver, *, tenant: TenantOf) -> None:
    """Raises Missing if the receiver is gone; then nothing is sent to it either.

    A second click changes nothing.
    """
    if await tenant(linked.tenant_id).receivers.unsubscribe(linked.receiver_id, HAS_UNSUBSCRIBED) is None:
        raise Missing(LINK_UNUSABLE)


async def subscribe_again(linked: LinkedReceiver, *, tenant: TenantOf) -> None:
    """Raises Missing if the tenant has deleted the receiver."""
    if not await tenant(linked.tenant_id).receivers.subscribe_again(linked.receiver_id):
        raise Missing(LINK_UNUSABLE)
