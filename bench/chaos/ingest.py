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

from telegram_simulator.control.client import ControlClient
from telegram_simulator.world.load import FIRST_CHANNEL
from tests.servers import OwnServers

CHANNELS = 18
TROUBLE_SECONDS = 40.0
LAST_KILL_SECONDS = 28.0
FROZEN_SECONDS = (62.0, 70.0)
FAULTS = (
    *("kill", "kill", "deploy", "drop", "flood", "premium_flood", "fail"),
    *("slow", "refuse", "kill_postgres", "kill_redis", "empty_redis", "forget_marks"),
)


class Fleet:
    """The ingest processes."""

    def __init__(self, environ: dict[str, str], log: Path) -> None:
        self._environ = environ
        self._log = log
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        with self._log.open("ab") as lines:
            command = [sys.executable, "-m", "telegram_assistant", "run", "--roles", "ingest"]
            self.running.append(subprocess.Popen(command, env=self._environ, stdout=lines, stderr=lines))

    def take(self, hand: random.Random) -> subprocess.Popen[bytes]:
        return self.running.pop(hand.randrange(len(self.running)))

    def stop(self) -> None:
        for process in self.running:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait(10)
        self.running.clear()


@dataclass
class Scene:
    """One schedule under way."""

    hand: random.Random
    servers: OwnServers
    control: ControlClient
    fleet: Fleet
    began: float = field(default_factory=time.monotonic)
    said: int = 0

    @property
    def at(self) -> float:
        return time.monotonic() - self.began


async def live(scene: Scene, until: float) -> None:
    """Channels publish, in bursts too; edit, and delete."""
    while scene.at < until:
        channel = FIRST_CHANNEL + scene.hand.randrange(CHANNELS)
        for _ in range(scene.hand.choice((1, 1, 1, 2, 5, 130 if scene.hand.random() < 0.05 else 3))):
            scene.said += 1
            ids = await asyncio.to_thread(scene.control.post, channel, f"новость {scene.said} из {channel}")
        newest = ids[-1]
        if scene.hand.random() < 0.3:
            scene.said += 1
            await _quietly(scene.control.edit, channel, scene.hand.randrange(2, newest + 1), f"исправлено {scene.said}")
        if scene.hand.random() < 0.1:
            await _quietly(scene.control.delete, channel, [scene.hand.randrange(2, newest + 1)])
        await asyncio.sleep(scene.hand.uniform(0.1, 0.6))


async def _quietly(change: Callable[..., Any], *arguments: Any) -> None:
    """What was deleted before cannot be changed."""
    with suppress(httpx.HTTPStatusError):
        await asyncio.to_thread(change, *arguments)


async def freeze(scene: Scene) -> None:
    """One process sleeps past its lease, and wakes up believing that it still has it."""
    await asyncio.sleep(scene.hand.uniform(3, 8))
    process = scene.fleet.take(scene.hand)
    process.send_signal(signal.SIGSTOP)
    scene.fleet.start()
    await asyncio.sleep(scene.hand.uniform(*FROZEN_SECONDS))
    process.send_signal(signal.SIGCONT)
    await asyncio.sleep(5)
    scene.fleet.running.append(process)


async def trouble(scene: Scene, faults: Counter[str]) -> None:
    while scene.at < TROUBLE_SECONDS:
        await asyncio.sleep(scene.hand.uniform(0.5, 4))
        fault = scene.hand.choice(FAULTS)
        if fault in {"kill", "deploy"} and scene.at > LAST_KILL_SECONDS:
            continue
        faults[fault] += 1
        await ACTIONS[fault](scene)


async def _kill(scene: Scene) -> None:
    process = scene.fleet.take(scene.hand)
    process.kill()
    await asyncio.to_thread(process.wait, 10)
    await asyncio.sleep(scene.hand.uniform(0, 2))
    scene.fleet.start()


async def _deploy(scene: Scene) -> None:
    process = scene.fleet.take(scene.hand)
    process.terminate()
    scene.fleet.start()
    await asyncio.to_thread(process.wait, 30)


async def _drop(scene: Scene) -> None:
    await asyncio.to_thread(scene.control.ask, "POST", "/connections/drop", abruptly=scene.hand.random() < 0.5)


def _failing(code: int, message: Callable[[random.Random], str]) -> Callable[[Scene], Awaitable[None]]:
    async def fail(scene: Scene) -> None:
        body = {"method": "messages.getHistory", "code": code, "message": message(scene.hand), "times": scene.hand.randrange(1, 4)}
        await asyncio.to_thread(scene.control.ask, "POST", "/failures", **body)

    return fail


def _trouble(name: str, on: Any, off: Any) -> Callable[[Scene], Awaitable[None]]:
    async def act(scene: Scene) -> None:
        await asyncio.to_thread(scene.control.ask, "POST", "/trouble", **{name: on})
        await asyncio.sleep(scene.hand.uniform(1, 5))
        await asyncio.to_thread(scene.control.ask, "POST", "/trouble", **{name: off})

    return act


def _restarted(name: str) -> Callable[[Scene], Awaitable[None]]:
    async def act(scene: Scene) -> None:
        scene.servers.kill(name)
        await asyncio.sleep(scene.hand.uniform(0, 3))
        await asyncio.to_thread(scene.servers.run, "up", name)

    return act


async def _empty_redis(scene: Scene) -> None:
    await asyncio.to_thread(redis_cli, scene.servers, "FLUSHALL")


async def _forget_marks(scene: Scene) -> None:
    """As an operator may: the marks are mirrors."""
    script = "for _, key in ipairs(redis.call('KEYS', 'parse_hwm:*')) do redis.call('DEL', key) end"
    await asyncio.to_thread(redis_cli, scene.servers, "EVAL", script, "0")


def redis_cli(servers: OwnServers, *command: str) -> None:
    url = servers.environ()["REDIS_URL"]
    subprocess.run(["redis-cli", "-u", url, *command], check=False, capture_output=True, timeout=10)


ACTIONS: dict[str, Callable[[Scene], Awaitable[None]]] = {
    "kill": _kill,
    "deploy": _deploy,
    "drop": _drop,
    "flood": _failing(420, lambda hand: f"FLOOD_WAIT_{hand.randrange(3, 20)}"),
    "premium_flood": _failing(420, lambda hand: f"FLOOD_PREMIUM_WAIT_{hand.randrange(1, 8)}"),
    "fail": _failing(500, lambda hand: hand.choice(("RPC_CALL_FAIL", "TIMEOUT", "MSG_WAIT_FAILED"))),
    "slow": _trouble("latency_seconds", 1.5, 0.0),
    "refuse": _trouble("refuse_connections", on=True, off=False),
    "kill_postgres": _restarted("postgres"),
    "kill_redis": _restarted("redis"),
    "empty_redis": _empty_redis,
    "forget_marks": _forget_marks,
}
