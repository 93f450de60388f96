"""Worker processes that get batches one by one, and may be killed within them."""

import asyncio
import json
import random
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from bench.chaos.worker_runs import Item

KILL_SHARE, KILL_WITHIN_SECONDS = 0.4, 0.35


async def start_worker(stage: str, environ: Mapping[str, str]) -> Process:
    command = (sys.executable, "-m", "bench.workers", "--work", "--stage", stage)
    worker = await asyncio.create_subprocess_exec(
        *command, env=environ, stdin=PIPE, stdout=PIPE, stderr=DEVNULL
    )
    assert worker.stdout is not None
    if not await worker.stdout.readline():
        sys.exit("a worker ended before its first batch")
    return worker


@dataclass(slots=True)
class Fleet:
    """Workers, each with at most one batch."""

    environ: Mapping[str, str]
    size: int
    stage: str = "stories"
    rng: random.Random | None = None
    """Kills workers within their batches."""
    workers: list[Process] = field(default_factory=list)
    kills: int = 0
    errors: list[str] = field(default_factory=list)

    async def start(self) -> None:
        self.workers = list(
            await asyncio.gather(*(start_worker(self.stage, self.environ) for _ in range(self.size)))
        )

    async def end(self) -> None:
        for worker in self.workers:
            with suppress(ProcessLookupError):
                worker.kill()
            await worker.wait()

    async def run(
        self, batches: Sequence[Sequence[Item]], land_batch: Callable[[Sequence[Item]], Awaitable[None]]
    ) -> None:
        """Gives out the batches in order; one of a killed worker is given out again."""
        waiting = list(reversed(batches))
        await asyncio.gather(*(self._serve(slot, waiting, land_batch) for slot in range(self.size)))

    async def _serve(
        self,
        slot: int,
        waiting: list[Sequence[Item]],
        land_batch: Callable[[Sequence[Item]], Awaitable[None]],
    ) -> None:
        while waiting:
            batch = waiting.pop()
            await land_batch(batch)
            worker = self.workers[slot]
            assert worker.stdin is not None
            assert worker.stdout is not None
            posts = [[item.post.id.channel_id, item.post.id.message_id] for item in batch]
            worker.stdin.write(f"{json.dumps(posts)}\n".encode())
            answering = asyncio.ensure_future(worker.stdout.readline())
            if self.rng is not None and self.rng.random() < KILL_SHARE:
                finished, _ = await asyncio.wait(
                    {answering}, timeout=self.rng.uniform(0.01, KILL_WITHIN_SECONDS)
                )
                if not finished:
                    self.kills += 1
                    worker.kill()
                    await worker.wait()
                    await answering
                    waiting.append(batch)
                    self.workers[slot] = await start_worker(self.stage, self.environ)
                    continue
            if error := json.loads(await answering)["error"]:
                self.errors.append(error)
                waiting.append(batch)
