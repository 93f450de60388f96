"""Following channels: what a person may ask for."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from telegram_assistant.domain.channel import ReferenceKind, parse_reference
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.errors import Rejected
from telegram_assistant.features.channel_lists import Listed
from telegram_assistant.stores.postgres.channels import Channels, FollowedChannel, Subscription
from telegram_assistant.stores.postgres.planning import Planning
from telegram_assistant.stores.postgres.wishes import Wishes, WishKind

WISHES = {ReferenceKind.NAME: WishKind.USERNAME, ReferenceKind.INVITE: WishKind.INVITE, ReferenceKind.LIST: WishKind.LIST}


@dataclass(frozen=True, slots=True)
class Asked:
    """What became of one reference at once: followed, waiting for an account to find it, or refused."""

    written: str
    title: str | None = None
    wish_id: int | None = None
    refused: str | None = None


async def follow(
    listed: Iterable[Listed], *, tenant_id: TenantId, subscription: Subscription, channels: Channels, wishes: Wishes, planning: Planning
) -> list[Asked]:
    """Follow what is known here already; for the rest an account is asked. One wrong line does not stop the others."""
    asked = [await _ask(one, tenant_id=tenant_id, subscription=subscription, channels=channels, wishes=wishes) for one in listed]
    if any(one.title for one in asked):
        await planning.give_accounts()
    return asked


async def _ask(listed: Listed, *, tenant_id: TenantId, subscription: Subscription, channels: Channels, wishes: Wishes) -> Asked:
    try:
        reference = parse_reference(listed.reference)
    except Rejected as error:
        return Asked(listed.reference, refused=str(error))
    wanted = replace(subscription, folder=listed.folder or subscription.folder)
    known = await channels.named(reference.name) if reference.kind is ReferenceKind.NAME else None
    if known is not None and not known.is_private:
        await channels.subscribe(tenant_id, replace(wanted, channel_id=known.channel_id))
        return Asked(str(reference), title=known.title)
    return Asked(reference.shown, wish_id=await wishes.add(tenant_id, WISHES[reference.kind], reference.name, wanted))


def pick(channels: Iterable[FollowedChannel], written: str) -> FollowedChannel:
    """The one that a person means by its id, @name, link or title; Rejected when it is none or several."""
    text = written.strip()
    name = text.rsplit("/", 1)[-1].removeprefix("@").lower()
    found = [one for one in channels if str(one.channel_id) == text or (one.username or "").lower() == name or one.title.lower() == text.lower()]
    if len(found) != 1:
        why = "is not followed" if not found else "names several channels; use the id"
        raise Rejected(f"{written!r} {why}; `tga channels list` shows what is followed")
    return found[0]
