"""Waiting without waiting."""

import asyncio
import time
from dataclasses import dataclass, field

from telegram_assistant.telegram.account_client import Clock


@dataclass
class Skipping:
    """A clock whose waits are over at once; it remembers them."""

    waits: list[float] = field(default_factory=list)

    def now(self) -> float:
        return time.monotonic() + sum(self.waits)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        await asyncio.sleep(0)

    @property
    def clock(self) -> Clock:
        return Clock(now=self.now, sleep=self.sleep, answer_seconds=5.0)
