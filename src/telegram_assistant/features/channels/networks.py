"""Learns which of a tenant's channels have one owner, from the posts that the tenant sees."""

import asyncio
from datetime import datetime, timedelta

from telegram_assistant.domain.channels.networks import count_repeated, find_networks, pair_signed
from telegram_assistant.stores.postgres.stories.channel_networks import ChannelNetworks

PERIOD = timedelta(days=30)
MIN_LETTERS = 60
"""Shorter texts are equal by chance."""


async def learn_networks(*, networks: ChannelNetworks, now: datetime) -> int:
    """Returns how many channels are in another network than before."""
    since = now - PERIOD
    copied_posts = await networks.copied_posts(since, min_letters=MIN_LETTERS)
    repeated_posts = await asyncio.to_thread(count_repeated, copied_posts)
    channel_ids = sorted({channel_id for pair in repeated_posts for channel_id in (pair.earlier, pair.later)})
    posts = await networks.post_counts(since, channel_ids)
    signed_pairs = pair_signed(await networks.signed_channels(since))
    return await networks.keep(find_networks(repeated_posts, posts, signed_pairs))
