"""An account that listens, and what its tests look at."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from telegram_assistant.ingest.polling.push import PushWorker
from telegram_assistant.supervision import cancel_and_wait
from telegram_simulator.control.operations import Control
from telegram_simulator.world.channel import Channel as SimulatedChannel
from tests.ingest.office import PHONE, Office, simulate_channel, truth
from tests.streams.conftest import until


@asynccontextmanager
async def at_work(office: Office, **changed: Any) -> AsyncIterator[PushWorker]:
    """The account listens, and asks what it missed after every connection."""
    listening = replace(office.listening, **changed)
    loops = (listening.run(office.stopping), office.catching_up.run(office.stopping))
    tasks = [asyncio.create_task(loop) for loop in loops]

    async def connected() -> bool:
        return bool(await office.app.system.push_states.load_seen_updates(office.mine.account_id))

    await until(connected)
    try:
        yield listening
    finally:
        await cancel_and_wait(tasks)
        for task in tasks:
            assert task.cancelled() or task.exception() is None


async def join_channels(
    office: Office, control: Control, *, posts: int = 3, channels: int = 1
) -> list[SimulatedChannel]:
    """Channels that the account has joined, follows, and has read once, a while ago."""
    made = [simulate_channel(control, posts=posts, newest_age=600) for _ in range(channels)]
    control.account(PHONE, joined=[joined_channel.channel_id for joined_channel in made])
    for channel in made:
        await office.follow(channel)
        await office.poll(channel.channel_id)
    await long_ago(office)
    return made


async def long_ago(office: Office) -> None:
    await office.admin.execute(
        """
        UPDATE poll_schedule SET last_polled_at = last_polled_at - interval '1 minute', next_poll_at = now()
            + interval '1 day'
        WHERE account_id = $1
        """,
        office.mine.account_id,
    )


async def is_due(office: Office, channel: SimulatedChannel) -> bool:
    due = await office.admin.fetchval(
        "SELECT next_poll_at <= now() FROM poll_schedule WHERE channel_id = $1", channel.channel_id
    )
    return bool(due)


async def poll_what_is_due(office: Office) -> None:
    await office.admin.execute(
        "UPDATE backfills SET next_try_at = now() + interval '1 day' WHERE state = 'open'"
    )
    await office.reading.turn()


async def all_stored(office: Office, channel: SimulatedChannel, *, but: int = 0) -> dict[int, str]:
    """Until as many are stored as there are, but for so many."""

    async def there() -> bool:
        return len(await office.load_texts(channel.channel_id)) >= len(truth(channel)) - but

    await until(there)
    return await office.load_texts(channel.channel_id)


async def load_rows(office: Office, channel: SimulatedChannel) -> list[tuple[Any, ...]]:
    rows = await office.admin.fetch(
        "SELECT message_id, text, kind, entities, facts, content_hash, posted_at, edited_at FROM posts "
        "WHERE channel_id = $1 ORDER BY 1",
        channel.channel_id,
    )
    return [tuple(row) for row in rows]
