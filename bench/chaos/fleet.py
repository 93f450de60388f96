"""The servers and workers that the chaos bench breaks."""

import asyncio
import contextlib
import os
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from testkit.engines import Engine
from testkit.toxiproxy import ToxiProxy


@dataclass
class Fleet:
    """Some workers, kept alive as a supervisor would keep them, and the Redis they share."""

    engine: Engine
    redis_road: ToxiProxy
    database_road: ToxiProxy
    log: Path
    workers: list[asyncio.subprocess.Process] = field(default_factory=list)
    deaths: int = 0
    _keeping: asyncio.Task[None] | None = None

    def environ(self) -> dict[str, str]:
        address = urlsplit(os.environ["CHAOS_DATABASE_URL"])
        login = address.netloc.rpartition("@")[0]
        database = urlunsplit(address._replace(netloc=f"{login}@127.0.0.1:{self.database_road.port}"))
        return {
            **os.environ,
            "DATABASE_URL": database,
            "REDIS_URL": f"redis://127.0.0.1:{self.redis_road.port}/0",
        }

    async def start(self, count: int) -> None:
        for _ in range(count):
            self.workers.append(await self._spawn())
        self._keeping = asyncio.create_task(self._keep())

    async def _spawn(self) -> asyncio.subprocess.Process:
        with self.log.open("ab") as log:
            return await asyncio.create_subprocess_exec(
                sys.executable, "-m", "bench.chaos.worker", env=self.environ(), stdout=log, stderr=log
            )

    async def _keep(self) -> None:
        """Replaces workers that died."""
        while True:
            await asyncio.sleep(0.1)
            for place, worker in enumerate(self.workers):
                if worker.returncode is not None:
                    self.deaths += 1
                    self.workers[place] = await self._spawn()

    def kill_one(self, place: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.workers[place % len(self.workers)].send_signal(signal.SIGKILL)

    def deploy_one(self, place: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.workers[place % len(self.workers)].send_signal(signal.SIGTERM)

    async def end(self) -> None:
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.wait([self._keeping])
        for worker in self.workers:
            if worker.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    worker.send_signal(signal.SIGTERM)
        for worker in self.workers:
            try:
                await asyncio.wait_for(worker.wait(), 15)
            except TimeoutError:
                worker.kill()
                await worker.wait()
