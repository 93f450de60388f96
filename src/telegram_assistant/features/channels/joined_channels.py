"""Picking from what the tenant's accounts have joined. Nothing is followed unless it is picked."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from telegram_assistant.domain.channels.channel_requests import (
    NO_OWN_ACCOUNT,
    TOO_MANY,
    RequestKind,
    RequestState,
)
from telegram_assistant.domain.ids import AccountId, ChannelId
from telegram_assistant.errors import Conflicting, Rejected
from telegram_assistant.features.channels.channel_requests import RequestStatus, some_requests
from telegram_assistant.features.channels.channels import RequestedChannel
from telegram_assistant.reasons import Reason, quote
from telegram_assistant.stores.postgres.channels.channel_requests import NewRequest
from telegram_assistant.stores.postgres.channels.channels import NOT_KNOWN_YET, Subscription
from telegram_assistant.stores.postgres.channels.joined_channels import JoinedChannel
from telegram_assistant.stores.postgres.stores import TenantStores

LIST_AGAIN_AFTER = timedelta(minutes=10)
"""A list of this age may be asked for again. Telegram counts requests for lists of chats."""


@dataclass(frozen=True, slots=True)
class AccountListing:
    """An account and the newest request for its list; None: it was never asked for, or long ago."""

    account: UUID
    number: int
    phone_masked: str | None
    status: RequestStatus | None


@dataclass(frozen=True, slots=True)
class JoinedList:
    """The channels that the tenant's accounts have joined, by title, and how fresh the lists are."""

    channels: tuple[JoinedChannel, ...]
    accounts: tuple[AccountListing, ...]

    @property
    def listed_at(self) -> datetime | None:
        """When the newest list was complete."""
        statuses = [account.status for account in self.accounts if account.status is not None]
        answered_datetimes = [
            status.request.answered_at
            for status in statuses
            if status.request.state is RequestState.DONE and status.request.answered_at
        ]
        return max((*answered_datetimes, *(channel.listed_at for channel in self.channels)), default=None)

    @property
    def waiting(self) -> tuple[RequestStatus, ...]:
        return tuple(
            account.status
            for account in self.accounts
            if account.status and account.status.request.state is RequestState.OPEN
        )

    @property
    def failed(self) -> tuple[RequestStatus, ...]:
        return tuple(
            account.status
            for account in self.accounts
            if account.status and account.status.request.state is RequestState.FAILED
        )


async def list_joined(*, stores: TenantStores, now: datetime) -> JoinedList:
    """Returns what was listed; Telegram is not asked."""
    channels, accounts = await stores.joined.all(), await stores.joined.accounts()
    ids = [account.request_id for account in accounts if account.request_id is not None]
    request_statuses = await some_requests(ids, requests=stores.requests, now=now) if ids else ()
    statuses = {status.request.request_id: status for status in request_statuses}
    return JoinedList(
        channels,
        tuple(
            AccountListing(
                account.public_id,
                account.account_id,
                account.phone_masked,
                statuses.get(account.request_id) if account.request_id else None,
            )
            for account in accounts
        ),
    )


async def ask_for_joined(*, stores: TenantStores, now: datetime) -> JoinedList:
    """Asks every account of the tenant for its list.

    Lists that are on their way or fresh are not asked for again.
    """
    accounts = await stores.joined.accounts()
    if not accounts:
        raise Rejected(NO_OWN_ACCOUNT)
    current_statuses = {
        account.number: account.status for account in (await list_joined(stores=stores, now=now)).accounts
    }
    due_account_ids = [
        account.account_id for account in accounts if _is_due(current_statuses.get(account.account_id), now)
    ]
    if not due_account_ids:
        raise Conflicting(
            Reason(
                "joined_channels_fresh",
                "the list is being loaded, or is newer than {minutes} minutes; try again later",
                minutes=round(LIST_AGAIN_AFTER.total_seconds() / 60),
            )
        )
    subscription = Subscription(channel_id=NOT_KNOWN_YET)
    if None in await stores.requests.add(
        [NewRequest(RequestKind.LISTING, "", subscription, account_id) for account_id in due_account_ids]
    ):
        raise Rejected(TOO_MANY)
    return await list_joined(stores=stores, now=now)


async def follow_picked(
    channel_ids: Collection[ChannelId], subscription: Subscription, *, stores: TenantStores
) -> tuple[RequestedChannel, ...]:
    """Requests the picked channels, in their order.

    One that is followed already gets the given options; one that is not listed is refused.
    """
    joined_by_id = {channel.channel_id: channel for channel in await stores.joined.all(channel_ids)}
    followed_channels = await stores.followed.some(channel_ids)
    if folder_changes := {
        channel_id: subscription.folder for channel_id, channel in followed_channels.items() if channel.active
    }:
        await stores.request_fates.change_followed(folder_changes, subscription)
    new_channel_ids = [
        channel_id
        for channel_id in dict.fromkeys(channel_ids)
        if channel_id in joined_by_id and channel_id not in folder_changes
    ]
    request_ids = await stores.requests.add(
        [NewRequest(RequestKind.PICK, str(channel_id), subscription) for channel_id in new_channel_ids]
    )
    requests = dict(zip(new_channel_ids, request_ids, strict=True))

    def result(channel_id: ChannelId) -> RequestedChannel:
        if channel_id in folder_changes:
            return RequestedChannel(
                quote(followed_channels[channel_id].title), followed=followed_channels[channel_id]
            )
        if channel_id not in joined_by_id:
            refused_reason = Reason(
                "channel_not_listed",
                "channel {channel_id} is not in the list of joined channels",
                channel_id=channel_id,
            )
            return RequestedChannel(quote(str(channel_id)), refused=refused_reason)
        requested_channel = RequestedChannel(quote(joined_by_id[channel_id].title), requests[channel_id])
        return (
            requested_channel
            if requested_channel.request_id
            else replace(requested_channel, refused=TOO_MANY)
        )

    return tuple(result(channel_id) for channel_id in channel_ids)


async def find_own_account(number: int | None, *, stores: TenantStores) -> AccountId | None:
    """The account with this number; None if it is not an active account of the tenant."""
    accounts = await stores.joined.accounts()
    return next((account.account_id for account in accounts if account.account_id == number), None)


def _is_due(status: RequestStatus | None, now: datetime) -> bool:
    if status is None or status.request.state is RequestState.FAILED:
        return True
    answered_at = status.request.answered_at
    return answered_at is not None and answered_at + LIST_AGAIN_AFTER <= now
