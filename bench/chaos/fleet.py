"""The servers and workers that the chaos bench breaks."""

import asyncio
import contextlib
import itertools
import os
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import httpx

from bench.engines import Engine

_numbers = itertools.count(os.getpid() % 10_000)


class Proxy:
    """A road to a server that can be made bad: one proxy of toxiproxy."""

    def __init__(self, api: httpx.AsyncClient, name: str, upstream: str) -> None:
        self._api = api
        self._name = f"{name}-{next(_numbers)}"
        self._upstream = upstream
        self.port = 0

    async def open(self) -> None:
        answer = await self._api.post("/proxies", json={"name": self._name, "listen": "127.0.0.1:0", "upstream": self._upstream})
        answer.raise_for_status()
        self.port = int(answer.json()["listen"].rpartition(":")[2])

    async def close(self) -> None:
        await self._api.delete(f"/proxies/{self._name}")

    async def spoil(self, kind: str, **attributes: int) -> None:
        """A toxic on the way back: answers are late, broken or gone."""
        toxic = {"name": kind, "type": kind, "stream": "downstream", "attributes": attributes}
        (await self._api.post(f"/proxies/{self._name}/toxics", json=toxic)).raise_for_status()

    async def mend(self) -> None:
        """All toxics away; connections that lost bytes are cut, as a network does in the end."""
        for toxic in (await self._api.get(f"/proxies/{self._name}/toxics")).json():
            await self._api.delete(f"/proxies/{self._name}/toxics/{toxic['name']}")
        await self.cut()

    async def cut(self) -> None:
        for enabled in (False, True):
            await self.let(enabled=enabled)

    async def let(self, *, enabled: bool) -> None:
        """Connections through, or none; those that are open are cut."""
        await self._api.post(f"/proxies/{self._name}", json={"enabled": enabled})


@dataclass
class Fleet:
    """Some workers, kept alive as a supervisor would keep them, and the Redis they share."""

    engine: Engine
    redis_road: Proxy
    database_road: Proxy
    log: Path
    workers: list[asyncio.subprocess.Process] = field(default_factory=list)
    deaths: int = 0
    _keeping: asyncio.Task[None] | None = None

    def environ(self) -> dict[str, str]:
        address = urlsplit(os.environ["CHAOS_DATABASE_URL"])
        login = address.netloc.rpartition("@")[0]
        database = urlunsplit(address._replace(netloc=f"{login}@127.0.0.1:{self.database_road.port}"))
        return {**os.environ, "DATABASE_URL": database, "REDIS_URL": f"redis://127.0.0.1:{self.redis_road.port}/0"}

    async def start(self, count: int) -> None:
        for _ in range(count):
            self.workers.append(await self._spawn())
        self._keeping = asyncio.create_task(self._keep())

    async def _spawn(self) -> asyncio.subprocess.Process:
        with self.log.open("ab") as log:
            return await asyncio.create_subprocess_exec(sys.executable, "-m", "bench.chaos.worker", env=self.environ(), stdout=log, stderr=log)

    async def _keep(self) -> None:
        """Whoever died is replaced."""
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
