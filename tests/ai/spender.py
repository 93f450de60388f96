"""A process of its own that asks as fast as it can: `python -m tests.ai.spender CHANNEL CALLS AT_ONCE`,
with the environment of the test.
"""

import asyncio
import os
import sys
from uuid import uuid4

from telegram_assistant.assembly import assemble
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.understanding.policy import Urgency
from telegram_assistant.settings import read_settings
from tests.ai.conftest import ask_tags


async def spend(channel_id: ChannelId, calls: int, at_once: int) -> None:
    async with assemble(read_settings(os.environ)) as app:
        turns = asyncio.Semaphore(at_once)

        async def ask() -> None:
            async with turns:
                await ask_tags(app.gate, f"post {uuid4()}", channel_id=channel_id, urgency=Urgency.BACKFILL)

        await asyncio.gather(*(ask() for _ in range(calls)))


if __name__ == "__main__":
    asyncio.run(spend(ChannelId(int(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])))
