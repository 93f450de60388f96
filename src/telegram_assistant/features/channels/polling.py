"""Reading a channel on demand, and its stored posts again."""

from telegram_assistant.domain.channels.parsing import Mode
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.errors import Conflicting, Missing
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.channels.backfills import BackfillKind, Backfills
from telegram_assistant.stores.postgres.channels.channels import Followed
from telegram_assistant.stores.postgres.channels.planning import Planning
from telegram_assistant.stores.postgres.channels.schedule import Schedule


async def poll_any(channel_id: ChannelId, *, mode: Mode | None, first: bool, schedule: Schedule) -> None:
    """For the operator: the account that reads the channel polls it."""
    if not await schedule.ask(channel_id, mode=mode, first=first):
        raise Missing(
            Reason(
                "channel_followed_by_nobody", "no tenant follows channel {channel_id}", channel_id=channel_id
            )
        )


async def poll_own(channel_id: ChannelId, *, mode: Mode | None, first: bool, followed: Followed) -> None:
    """For a tenant: only its own accounts poll the channel, so that no tenant uses up another's budgets."""
    if channel_id not in await followed.some([channel_id]):
        raise Missing(
            Reason(
                "channel_not_followed_by_id", "you do not follow channel {channel_id}", channel_id=channel_id
            )
        )
    if not await followed.poll(channel_id, mode=mode, first=first):
        raise Conflicting(
            Reason(
                "no_account_to_poll",
                "you have no active account that can read the channel now; it will be read when its turn "
                "comes",
            )
        )


async def verify_channel(channel_id: ChannelId, *, backfills: Backfills) -> None:
    """Lets the stored posts of a channel be read again, and those corrected that have changed."""
    await backfills.open(channel_id, BackfillKind.VERIFY)


async def pull_forward_channels(*, planning: Planning) -> int:
    """Makes channels due that wait for the end of a flood which is over. Returns how many."""
    return await planning.pull_forward()
