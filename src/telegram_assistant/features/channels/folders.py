"""Following a Telegram folder of an account, with the channels that are added to it later."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from telegram_assistant.domain.channels.channel_requests import TOO_MANY, RequestKind, named_folder
from telegram_assistant.domain.ids import AccountId, TenantId
from telegram_assistant.errors import Rejected
from telegram_assistant.features.channels.channels import RequestedChannel
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.accounts.accounts import Accounts
from telegram_assistant.stores.postgres.channels.channel_requests import ChannelRequests, NewRequest
from telegram_assistant.stores.postgres.channels.channels import Subscription
from telegram_assistant.stores.postgres.channels.folders import FolderStatus, FollowedFolders
from telegram_assistant.stores.postgres.tenants.tenants import Tenant


async def follow_folder(
    title: str,
    *,
    tenant: Tenant,
    account_id: AccountId | None,
    subscription: Subscription,
    accounts: Accounts,
    requests: ChannelRequests,
) -> RequestedChannel:
    """Requests the folder from the given account, or from any account of the tenant.

    Its channels get a folder of the same name here.
    """
    if account_id is not None and not any(
        account.account_id == account_id and account.tenant == tenant.name for account in await accounts.all()
    ):
        raise Rejected(
            Reason(
                "tenant_has_no_account",
                "{tenant} has no account {account_id}; `tga accounts list` shows them",
                tenant=tenant.name,
                account_id=account_id,
            )
        )
    return await request_folder(title, account_id=account_id, subscription=subscription, requests=requests)


async def request_folder(
    title: str, *, account_id: AccountId | None, subscription: Subscription, requests: ChannelRequests
) -> RequestedChannel:
    """Requests the folder; an account of another tenant never serves it."""
    folder_subscription = replace(subscription, folder=subscription.folder or title)
    (request_id,) = await requests.add(
        [NewRequest(RequestKind.FOLDER, title, folder_subscription, account_id)]
    )
    return RequestedChannel(named_folder(title), request_id, refused=None if request_id else TOO_MANY)


def pick_folder(folders: Iterable[FolderStatus], reference_text: str) -> FolderStatus:
    """Returns the folder with this title or number. Raises Rejected if none or several match."""
    matching = [
        folder
        for folder in folders
        if folder.title.casefold() == reference_text.casefold() or str(folder.folder_id) == reference_text
    ]
    if not matching:
        raise Rejected(
            Reason(
                "folder_not_followed",
                "you do not follow the folder {written!r}; `tga folders list` shows your folders",
                written=reference_text,
            )
        )
    if len(matching) > 1:
        raise Rejected(
            Reason(
                "folder_name_ambiguous",
                "{written!r} matches several folders; use the number; `tga folders list` shows them",
                written=reference_text,
            )
        )
    return matching[0]


async def list_folders(tenant_id: TenantId, *, folders: FollowedFolders) -> tuple[FolderStatus, ...]:
    return await folders.list_for_tenant(tenant_id)


@dataclass(frozen=True, slots=True)
class UnfollowedFolder:
    """A folder that is no longer followed, and how many of its channels are not followed with it."""

    folder: FolderStatus
    channels: int


async def unfollow_folder(
    reference_text: str, *, tenant_id: TenantId, folders: FollowedFolders, with_channels: bool
) -> UnfollowedFolder:
    """`with_channels` also stops following the channels that the folder added."""
    folder = pick_folder(await list_folders(tenant_id, folders=folders), reference_text)
    left_channels = await folders.leave(tenant_id, folder.folder_id, with_channels=with_channels)
    return UnfollowedFolder(folder, left_channels)
