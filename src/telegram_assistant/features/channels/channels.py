"""Following channels."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol
from uuid import UUID

from telegram_assistant.domain.channels.channel import Reference, ReferenceKind, parse_reference
from telegram_assistant.domain.channels.channel_requests import JOINED, TOO_MANY, RequestKind
from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.errors import Missing, Rejected
from telegram_assistant.features.channels.channel_lists import ListedChannel
from telegram_assistant.reasons import Reason, quote
from telegram_assistant.stores.postgres.channels.channel_requests import ChannelRequests, NewRequest
from telegram_assistant.stores.postgres.channels.channels import (
    NOT_KNOWN_YET,
    ChannelFilter,
    ChannelName,
    Followed,
    FollowedChannel,
    Subscription,
)
from telegram_assistant.stores.postgres.stores import TenantStores

KINDS = {
    ReferenceKind.NAME: RequestKind.USERNAME,
    ReferenceKind.INVITE: RequestKind.INVITE,
    ReferenceKind.LIST: RequestKind.LIST,
}


@dataclass(frozen=True, slots=True)
class RequestedChannel:
    """The immediate result for one reference: requested, already followed, or refused.

    Secrets are shortened.
    """

    written: Reason
    request_id: UUID | None = None
    followed: FollowedChannel | None = None
    refused: Reason | None = None


async def follow(
    listed_channels: Sequence[ListedChannel], subscription: Subscription, *, stores: TenantStores
) -> tuple[RequestedChannel, ...]:
    """Requests every channel that the tenant does not follow yet. An invalid reference does not affect the
    others.

    Whether another tenant follows a channel makes no difference. A channel that the tenant follows already
    gets the given options.
    """
    lines = [_parse_listed(entry) for entry in listed_channels]
    names = [line.name for line in lines if isinstance(line, Reference) and line.kind is ReferenceKind.NAME]
    followed_channels = await stores.followed.find_by_usernames(names) if names else {}
    answers: dict[int, RequestedChannel] = {}
    new_requests: dict[int, NewRequest] = {}
    moved_folders: dict[ChannelId, str | None] = {}
    for index, (channel, line) in enumerate(zip(listed_channels, lines, strict=True)):
        options = replace(subscription, folder=channel.folder or subscription.folder)
        if isinstance(line, Reason):
            answers[index] = RequestedChannel(quote(channel.reference), refused=line)
        elif (
            line.kind is ReferenceKind.NAME
            and (followed_channel := followed_channels.get(line.name.lower())) is not None
        ):
            moved_folders[followed_channel.channel_id] = options.folder
            answers[index] = RequestedChannel(quote(line.display_text), followed=followed_channel)
        else:
            new_requests[index] = NewRequest(KINDS[line.kind], line.name, options)
            answers[index] = RequestedChannel(quote(line.display_text))
    if moved_folders:
        await stores.request_fates.change_followed(moved_folders, subscription)
    for index, request_id in zip(
        new_requests, await stores.requests.add(list(new_requests.values())), strict=True
    ):
        answers[index] = replace(
            answers[index], request_id=request_id, refused=None if request_id else TOO_MANY
        )
    return tuple(answers[index] for index in range(len(lines)))


async def follow_joined(subscription: Subscription, *, requests: ChannelRequests) -> RequestedChannel:
    """Requests all channels that an account of the tenant has joined."""
    (request_id,) = await requests.add([NewRequest(RequestKind.DIALOGS, "", subscription)])
    return RequestedChannel(JOINED, request_id, refused=None if request_id else TOO_MANY)


def _parse_listed(listed_channel: ListedChannel) -> Reference | Reason:
    """Returns the parsed reference, or why it is not valid."""
    try:
        return parse_reference(listed_channel.reference)
    except Rejected as error:
        return error.reason


class NamedChannel(Protocol):
    """The id, title and username by which a person may name a channel."""

    @property
    def channel_id(self) -> ChannelId: ...
    @property
    def title(self) -> str: ...
    @property
    def username(self) -> str | None: ...


def pick[C: NamedChannel](channels: Iterable[C], written_text: str) -> C:
    """Returns the channel with this id, @name, link or title. Raises Rejected if none or several match."""
    text = written_text.strip()
    name = text.rsplit("/", 1)[-1].removeprefix("@").lower()
    matching = [
        channel
        for channel in channels
        if str(channel.channel_id) == text
        or (channel.username or "").lower() == name
        or channel.title.lower() == text.lower()
    ]
    if not matching:
        raise Rejected(
            Reason(
                "channel_not_followed_by_name",
                "you do not follow {written!r}; the list of your channels has the right names",
                written=written_text,
            )
        )
    if len(matching) > 1:
        raise Rejected(
            Reason(
                "channel_name_ambiguous",
                "{written!r} matches several channels; write the @name or the id of one",
                written=written_text,
            )
        )
    return matching[0]


async def all_followed(*, followed: Followed) -> tuple[FollowedChannel, ...]:
    return await followed.channels()


async def list_names(*, followed: Followed) -> tuple[ChannelName, ...]:
    """The channels that the tenant follows, as a person may name them, by title."""
    return await followed.names()


async def find_followed(reference_text: str, *, followed: Followed) -> FollowedChannel:
    """Like `pick`, of all channels that the tenant follows."""
    return pick(await all_followed(followed=followed), reference_text)


@dataclass(frozen=True, slots=True)
class ChannelPage:
    """A page of channels, ordered by id; `next` is None on the last page."""

    channels: tuple[FollowedChannel, ...]
    next: ChannelId | None


async def list_followed(
    which: ChannelFilter, *, followed: Followed, limit: int, after_id: ChannelId | None = None
) -> ChannelPage:
    channels = await followed.page(which, limit=limit + 1, after=after_id)
    page = channels[:limit]
    return ChannelPage(page, page[-1].channel_id if len(channels) > limit else None)


async def get_followed(channel_id: ChannelId, *, followed: Followed) -> FollowedChannel:
    channel = (await followed.some([channel_id])).get(channel_id)
    if channel is None:
        raise Missing(
            Reason(
                "channel_not_followed_by_id", "you do not follow channel {channel_id}", channel_id=channel_id
            )
        )
    return channel


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionUpdate:
    """The settings to change; None leaves a setting as it is."""

    folder: str | None = None
    leaves_folder: bool = False
    priority: Priority | None = None
    ai_policy: AiPolicy | None = None
    history_days: int | None = None
    wants_media: bool | None = None


async def change_followed(
    channel_id: ChannelId, update: SubscriptionUpdate, *, followed: Followed
) -> FollowedChannel:
    """Changes the settings of a followed channel. Raises Missing if the tenant does not follow it."""
    if not await change_all_followed([channel_id], update, followed=followed):
        raise Missing(
            Reason(
                "channel_not_followed_by_id", "you do not follow channel {channel_id}", channel_id=channel_id
            )
        )
    return await get_followed(channel_id, followed=followed)


async def change_all_followed(
    channel_ids: Collection[ChannelId], update: SubscriptionUpdate, *, followed: Followed
) -> int:
    """Changes the settings of several channels.

    Returns how many of them the tenant follows; others are left out.
    """
    options = Subscription(
        channel_id=NOT_KNOWN_YET,
        folder=update.folder,
        priority=update.priority,
        ai_policy=update.ai_policy,
        history_days=update.history_days,
        wants_media=update.wants_media,
    )
    return await followed.change_all(channel_ids, options, leaves_folder=update.leaves_folder)


async def unfollow(channel_id: ChannelId, *, followed: Followed) -> None:
    if not await followed.leave(channel_id):
        raise Missing(
            Reason(
                "channel_not_followed_by_id", "you do not follow channel {channel_id}", channel_id=channel_id
            )
        )


async def unfollow_all(channel_ids: Collection[ChannelId], *, followed: Followed) -> int:
    """Returns how many of these channels the tenant followed."""
    return await followed.leave_all(channel_ids)
