"""Following channels: what a person may ask for."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from telegram_assistant.domain.channel import ReferenceKind, parse_reference
from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.domain.priority import Priority
from telegram_assistant.domain.understanding import AiPolicy
from telegram_assistant.errors import Missing, Rejected
from telegram_assistant.features.channel_lists import Listed
from telegram_assistant.stores.postgres.channels import Channels, Followed, FollowedChannel, Subscription, Which
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


@dataclass(frozen=True, slots=True)
class ChannelPage:
    """In the order of their ids. Without `next`, there are no more."""

    channels: tuple[FollowedChannel, ...]
    next: ChannelId | None


async def list_followed(which: Which, *, followed: Followed, limit: int, after: ChannelId | None = None) -> ChannelPage:
    found = await followed.page(which, limit=limit + 1, after=after)
    shown = found[:limit]
    return ChannelPage(shown, shown[-1].channel_id if len(found) > limit else None)


async def get_followed(channel_id: ChannelId, *, followed: Followed) -> FollowedChannel:
    found = (await followed.some([channel_id])).get(channel_id)
    if found is None:
        raise Missing(f"you follow no channel {channel_id}")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What shall be different; None: as it is."""

    folder: str | None = None
    leaves_folder: bool = False
    priority: Priority | None = None
    ai_policy: AiPolicy | None = None
    history_days: int | None = None
    wants_media: bool | None = None


async def change_followed(channel_id: ChannelId, wanted: Wanted, *, tenant_id: TenantId, followed: Followed, channels: Channels) -> FollowedChannel:
    """How a channel is followed from now on."""
    now = await get_followed(channel_id, followed=followed)
    asked = Subscription(
        channel_id=channel_id,
        folder=None if wanted.leaves_folder else (wanted.folder if wanted.folder is not None else now.folder),
        priority=wanted.priority or now.priority,
        ai_policy=wanted.ai_policy or now.ai_policy,
        history_days=now.history_days if wanted.history_days is None else wanted.history_days,
        wants_media=now.wants_media if wanted.wants_media is None else wanted.wants_media,
    )
    if not await channels.change(tenant_id, asked):
        raise Missing(f"you follow no channel {channel_id}")
    return await get_followed(channel_id, followed=followed)


async def unfollow(channel_id: ChannelId, *, tenant_id: TenantId, channels: Channels) -> None:
    if not await channels.unsubscribe(tenant_id, channel_id):
        raise Missing(f"you follow no channel {channel_id}")
