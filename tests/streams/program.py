"""A worker in a process of its own, for tests that kill it:
`python -m tests.streams.program REDIS_URL HANDLER OPTIONS`.
"""

import asyncio
import json
import os
import secrets
import signal
import sys
from typing import Any

from pydantic import SecretStr
from redis.asyncio import Redis

from telegram_assistant.events import PostParsed
from telegram_assistant.settings import DatabaseSettings
from telegram_assistant.stores.postgres.database import open_pool
from telegram_assistant.stores.postgres.pipeline.wakeup import Wakeup
from telegram_assistant.stores.postgres.stores import system_stores
from telegram_assistant.streams.runner import Options, Runner
from telegram_assistant.streams.stage import AnyStage, stage
from telegram_assistant.supervision import keep_running
from telegram_assistant.telemetry.health import Health


def slow(redis: Redis, seconds: float, **how: Any) -> AnyStage:
    @stage(consumes=PostParsed, **how)
    async def counting(event: PostParsed) -> None:
        """Takes its time, then leaves a mark; posts divisible by 1000 kill the process."""
        if event.post.message_id % 1000 == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        await redis.hincrby("begun", str(event.post.message_id), 1)
        await asyncio.sleep(seconds)
        await redis.hincrby("done", str(event.post.message_id), 1)

    return counting


async def main(url: str, seconds: str, how: str, options: str) -> None:
    redis = Redis.from_url(url)
    settings = DatabaseSettings(url=SecretStr(os.environ["DATABASE_SYSTEM_URL"]))
    stopping, health = asyncio.Event(), Health(probes={})
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    async with open_pool(settings) as pool:
        runner = Runner(
            slow(redis, float(seconds), **json.loads(how)),
            {},
            redis=redis,
            dead_letters=system_stores(pool, Wakeup()).dead_letters,
            instance=f"process#{secrets.token_hex(2)}",
            health=health,
            options=Options(**json.loads(options)),
        )
        task = asyncio.create_task(
            keep_running(runner.loop(), stopping=stopping, health=health, first_pause_seconds=0.1)
        )
        print("working", flush=True)
        await stopping.wait()
        try:
            async with asyncio.timeout(float(os.environ.get("GRACE", "10"))):
                await asyncio.shield(task)
        except TimeoutError:
            task.cancel()
            await asyncio.wait([task])
    await redis.aclose()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
