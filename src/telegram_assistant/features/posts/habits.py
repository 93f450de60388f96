"""Learns how a tenant's channels begin and end their posts, from the posts that the tenant sees."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import batched

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.posts.habits import learn_habits
from telegram_assistant.stores.postgres.posts.habits import ChannelHabits

PERIOD = timedelta(days=60)
CHANNELS_AT_ONCE = 20


async def learn_channel_habits(*, habits: ChannelHabits, now: datetime) -> int:
    """Habits change slowly, so each channel is looked at once a week, and a new one on its first day.

    Returns for how many channels something was learnt.
    """
    changed_count = 0
    for channel_ids in batched(await habits.due_channels(now.weekday()), CHANNELS_AT_ONCE):
        texts = await habits.recent_texts(now - PERIOD, channel_ids)
        changed_count += await habits.keep(await asyncio.to_thread(_learn_all, texts))
    return changed_count


def _learn_all(texts: Mapping[ChannelId, Sequence[str]]) -> dict[ChannelId, tuple[int, ...]]:
    return {channel_id: learn_habits(recent_texts) for channel_id, recent_texts in texts.items()}
