"""Two tenants in processes of their own: one reads at a steady pace,
the other opens expensive pages as fast as they are answered.
"""

import asyncio
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

import httpx

from telegram_assistant.interpreter import collect_seldom

READS_PER_SECOND = 5
"""Of the feed page, and of the API: half of what one person and one key may."""
TIMEOUT_SECONDS = 60.0
FLOOD_NICENESS = 19
"""The flood comes from another machine: on this one its clients give way to everybody else."""


@dataclass(frozen=True, slots=True)
class Target:
    """One address, with the headers that open it."""

    name: str
    path: str
    headers: Mapping[str, str]


@dataclass(slots=True)
class Readings:
    """The answers that one kind of requests got: seconds, and how many of each status."""

    seconds: list[float] = field(default_factory=list)
    answers: Counter[int] = field(default_factory=Counter)


def read_steadily(address: str, targets: Sequence[Target], seconds: float) -> dict[str, Readings]:
    """Opens each target READS_PER_SECOND times a second,
    whether the ones before have been answered or not.
    """
    collect_seldom()  # a pause of the reader's is not the server's
    return asyncio.run(_read_steadily(address, targets, seconds))


async def _read_steadily(address: str, targets: Sequence[Target], seconds: float) -> dict[str, Readings]:
    readings = {target.name: Readings() for target in targets}
    step = 1 / READS_PER_SECOND
    async with open_client(address) as client, asyncio.TaskGroup() as group:
        began = time.monotonic()
        for number in range(round(seconds * READS_PER_SECOND)):
            for place, target in enumerate(targets):
                due = began + (number + place / len(targets)) * step
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                group.create_task(_open(client, target, readings[target.name]))
    return readings


def flood(address: str, targets: Sequence[Target], *, parallel: int, seconds: float) -> dict[int, int]:
    """Keeps so many requests open at once and asks again as soon as one is answered, whatever the answer is.

    Returns the statuses.
    """
    os.nice(FLOOD_NICENESS)
    collect_seldom()
    return asyncio.run(_flood(address, targets, parallel, seconds))


async def _flood(address: str, targets: Sequence[Target], parallel: int, seconds: float) -> dict[int, int]:
    readings, ends = Readings(), time.monotonic() + seconds

    async def ask(first: int) -> None:
        number = first
        while time.monotonic() < ends:
            target = targets[number % len(targets)]
            await _open(
                client, Target(target.name, f"{target.path}+{quote(str(number))}", target.headers), readings
            )
            number += parallel

    async with open_client(address) as client:
        await asyncio.gather(*(ask(number) for number in range(parallel)))
    return dict(readings.answers)


async def _open(client: httpx.AsyncClient, target: Target, readings: Readings) -> None:
    began = time.perf_counter()
    answer = await client.get(target.path, headers=dict(target.headers))
    readings.seconds.append(time.perf_counter() - began)
    readings.answers[answer.status_code] += 1


def open_client(address: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=address, timeout=TIMEOUT_SECONDS, limits=httpx.Limits(max_connections=None)
    )
