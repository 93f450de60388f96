"""Trouble for the ingest: what can happen to its processes, its servers and its Telegram."""

import asyncio
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from bench.chaos.counting import Counting
from bench.chaos.watches import text_of
from telegram_simulator.control.client import ControlClient
from telegram_simulator.world.load import FIRST_CHANNEL
from testkit.engines import free_port
from testkit.servers import OwnServers

CHANNELS = 18
TROUBLE_SECONDS = 40.0
LAST_KILL_SECONDS = 28.0
FROZEN_SECONDS = (62.0, 70.0)
EVENT_SHARE = 0.5
FAULTS = (
    *("kill", "kill", "deploy", "drop", "flood", "premium_flood", "fail", "file_flood", "expire", "deaf"),
    *("slow", "refuse", "kill_postgres", "kill_redis", "empty_redis", "forget_marks"),
)


class Fleet:
    """The ingest processes."""

    def __init__(self, environ: dict[str, str], log: Path) -> None:
        self._environ = environ
        self._log = log
        self.counting = Counting()
        self._lives: dict[int, str] = {}
        self.running: list[subprocess.Popen[bytes]] = []
        self.worker: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        environ = self.counting.environ(self._environ, free_port())
        self.running.append(self._process("ingest", environ))
        self._lives[self.running[-1].pid] = self.counting.lives[-1].name

    @property
    def alive(self) -> list[str]:
        """The lives that have not ended."""
        return [self._lives[process.pid] for process in self.running if process.poll() is None]

    def start_worker(self) -> None:
        """Starts a worker without any trouble: the faults concern ingest only."""
        self.worker = self._process("worker", self._environ)

    def revive(self, processes: int) -> None:
        """Starts ended processes again, as a service manager does."""
        self.running = [process for process in self.running if process.poll() is None]
        while len(self.running) < processes:
            self.start()
        if self.worker is None or self.worker.poll() is not None:
            self.start_worker()

    def _process(self, role: str, environ: dict[str, str]) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as lines:
            command = [sys.executable, "-m", "telegram_assistant", "run", "--roles", role]
            return subprocess.Popen(command, env=environ, stdout=lines, stderr=lines)

    def take(self, rng: random.Random) -> subprocess.Popen[bytes]:
        return self.running.pop(rng.randrange(len(self.running)))

    def stop(self) -> None:
        for process in [*self.running, *([self.worker] if self.worker else [])]:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait(10)
        self.running.clear()


@dataclass
class Scene:
    """One schedule under way."""

    rng: random.Random
    servers: OwnServers
    control: ControlClient
    fleet: Fleet
    began: float = field(default_factory=time.monotonic)
    message_count: int = 0
    events: int = 0
    event_posts: set[tuple[int, int]] = field(default_factory=set)
    """Posts about events. They stay as they are, so that it is certain what watches should have told."""

    @property
    def at(self) -> float:
        return time.monotonic() - self.began


async def live(scene: Scene, until: float) -> None:
    """Channels publish, in bursts too, with files and as albums; edit, and delete.

    Of some of it nobody is told.
    """
    rng = scene.rng
    while scene.at < until:
        channel = FIRST_CHANNEL + rng.randrange(CHANNELS)
        if rng.random() < EVENT_SHARE:
            await _tell_event(scene, channel)
        for _ in range(rng.choice((1, 1, 1, 2, 5, 130 if rng.random() < 0.05 else 3))):
            scene.message_count += 1
            newest = await _publish(
                scene, channel, f"новость {scene.message_count} из {channel}", deliver=rng.random() < 0.8
            )
        if rng.random() < 0.3:
            scene.message_count += 1
            edited = rng.randrange(2, newest + 1)
            if (channel, edited) not in scene.event_posts:
                await _quietly(
                    scene.control.edit,
                    channel,
                    edited,
                    f"исправлено {scene.message_count}",
                    deliver=rng.random() < 0.5,
                )
        if rng.random() < 0.1:
            first, count = rng.randrange(2, newest + 1), rng.choice((1, 1, 2, 30))
            gone = [
                message_id
                for message_id in range(first, min(first + count, newest + 1))
                if (channel, message_id) not in scene.event_posts
            ]
            await _quietly(scene.control.delete, channel, gone, deliver=rng.random() < 0.5)
        await asyncio.sleep(rng.uniform(0.1, 0.6))


async def _tell_event(scene: Scene, channel: int) -> None:
    """A new event, or one of the last ones again in some channel."""
    scene.events += scene.rng.random() < 0.4
    event = scene.events - scene.rng.randrange(min(scene.events + 1, 3))
    made = await asyncio.to_thread(
        scene.control.post, channel, text_of(event, scene.rng), deliver=scene.rng.random() < 0.8
    )
    scene.event_posts |= {(channel, message_id) for message_id in made}


async def _publish(scene: Scene, channel: int, text: str, *, deliver: bool) -> int:
    """A post, or an album; its newest id."""
    rng = scene.rng
    kinds, weights = (None, "image/jpeg", "video/mp4", "application/pdf", "album"), (70, 15, 4, 3, 8)
    kind = rng.choices(kinds, weights)[0]
    if kind == "album":
        items = [rng.choice(("image/jpeg", "video/mp4")) for _ in range(rng.randrange(2, 6))]
        made = await asyncio.to_thread(
            scene.control.ask,
            "POST",
            f"/channels/{channel}/albums",
            kinds=items,
            caption=text,
            deliver=deliver,
        )
        return int(made[-1]["message_id"])
    file = (
        {}
        if kind is None
        else {"media": kind, "size": rng.randrange(20_000, 900_000), "dc_id": rng.choice((2, 2, 2, 4))}
    )
    return (await asyncio.to_thread(scene.control.post, channel, text, deliver=deliver, **file))[-1]


async def _quietly(change: Callable[..., Any], *arguments: Any, **more: Any) -> None:
    """Changes a post; does nothing if the post was deleted before."""
    with suppress(httpx.HTTPStatusError):
        await asyncio.to_thread(change, *arguments, **more)


async def freeze(scene: Scene) -> None:
    """One process sleeps past its lease, and wakes up believing that it still has it."""
    await asyncio.sleep(scene.rng.uniform(3, 8))
    process = scene.fleet.take(scene.rng)
    process.send_signal(signal.SIGSTOP)
    scene.fleet.start()
    await asyncio.sleep(scene.rng.uniform(*FROZEN_SECONDS))
    process.send_signal(signal.SIGCONT)
    await asyncio.sleep(5)
    scene.fleet.running.append(process)


async def trouble(scene: Scene, faults: Counter[str]) -> None:
    while scene.at < TROUBLE_SECONDS:
        await asyncio.sleep(scene.rng.uniform(0.5, 4))
        fault = scene.rng.choice(FAULTS)
        if fault in {"kill", "deploy"} and scene.at > LAST_KILL_SECONDS:
            continue
        faults[fault] += 1
        await ACTIONS[fault](scene)


async def _kill(scene: Scene) -> None:
    process = scene.fleet.take(scene.rng)
    process.kill()
    await asyncio.to_thread(process.wait, 10)
    await asyncio.sleep(scene.rng.uniform(0, 2))
    scene.fleet.start()


async def _deploy(scene: Scene) -> None:
    process = scene.fleet.take(scene.rng)
    process.terminate()
    scene.fleet.start()
    await asyncio.to_thread(process.wait, 30)


async def _drop(scene: Scene) -> None:
    await asyncio.to_thread(scene.control.ask, "POST", "/connections/drop", abruptly=scene.rng.random() < 0.5)


async def _expire(scene: Scene) -> None:
    """References to files are no longer good."""
    await asyncio.to_thread(scene.control.ask, "POST", "/files/expire")


def _failing(
    code: int, message: Callable[[random.Random], str], method: str = "messages.getHistory"
) -> Callable[[Scene], Awaitable[None]]:
    async def fail(scene: Scene) -> None:
        body = {
            "method": method,
            "code": code,
            "message": message(scene.rng),
            "times": scene.rng.randrange(1, 4),
        }
        await asyncio.to_thread(scene.control.ask, "POST", "/failures", **body)

    return fail


def _trouble(name: str, on: Any, off: Any) -> Callable[[Scene], Awaitable[None]]:
    async def act(scene: Scene) -> None:
        await asyncio.to_thread(scene.control.ask, "POST", "/trouble", **{name: on})
        await asyncio.sleep(scene.rng.uniform(1, 5))
        await asyncio.to_thread(scene.control.ask, "POST", "/trouble", **{name: off})

    return act


def _restart_server(name: str) -> Callable[[Scene], Awaitable[None]]:
    async def act(scene: Scene) -> None:
        scene.servers.kill(name)
        await asyncio.sleep(scene.rng.uniform(0, 3))
        await asyncio.to_thread(scene.servers.run, "up", name)

    return act


async def _empty_redis(scene: Scene) -> None:
    await asyncio.to_thread(redis_cli, scene.servers, "FLUSHALL")


async def _forget_marks(scene: Scene) -> None:
    """Deletes the marks, as an operator may: they are copies."""
    script = "for _, key in ipairs(redis.call('KEYS', 'parse_hwm:*')) do redis.call('DEL', key) end"
    await asyncio.to_thread(redis_cli, scene.servers, "EVAL", script, "0")


def redis_cli(servers: OwnServers, *command: str) -> None:
    url = servers.environ()["REDIS_URL"]
    subprocess.run(["redis-cli", "-u", url, *command], check=False, capture_output=True, timeout=10)


ACTIONS: dict[str, Callable[[Scene], Awaitable[None]]] = {
    "kill": _kill,
    "deploy": _deploy,
    "drop": _drop,
    "flood": _failing(420, lambda rng: f"FLOOD_WAIT_{rng.randrange(3, 20)}"),
    "premium_flood": _failing(420, lambda rng: f"FLOOD_PREMIUM_WAIT_{rng.randrange(1, 8)}"),
    "fail": _failing(500, lambda rng: rng.choice(("RPC_CALL_FAIL", "TIMEOUT", "MSG_WAIT_FAILED"))),
    "file_flood": _failing(420, lambda rng: f"FLOOD_PREMIUM_WAIT_{rng.randrange(1, 8)}", "upload.getFile"),
    "expire": _expire,
    "deaf": _trouble("drop_updates", on=True, off=False),
    "slow": _trouble("latency_seconds", 1.5, 0.0),
    "refuse": _trouble("refuse_connections", on=True, off=False),
    "kill_postgres": _restart_server("postgres"),
    "kill_redis": _restart_server("redis"),
    "empty_redis": _empty_redis,
    "forget_marks": _forget_marks,
}
