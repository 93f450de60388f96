"""The simulator: how fast unmodified Telethon reads from it, beside Telethon's own decoding of the same bytes
in memory.

Also: its CPU per post served from ready bytes, the time of a generated page, memory with a million changes,
and how soon it starts.
"""

import asyncio
import sys
import time
from typing import Any

import telethon
from telethon import TelegramClient
from telethon.extensions import BinaryReader
from telethon.tl.functions.messages import GetHistoryRequest

from testkit.harness import arguments, at_least, at_most, cpu_seconds, finish, median, percentile
from testkit.simulators import PHONE, client_for, simulator

POSTS = 5000
READERS = 8
LIMITS = (*at_least(0.3, "ratio"), *at_most(50.0, "page_p95_ms"))


async def reading(rounds: int) -> dict[str, float]:
    """Over TCP and in memory, taking turns."""
    with simulator("load", "--channels", "1", "--posts", str(POSTS)) as running, running.control() as control:
        client = client_for(control.session(PHONE))
        await client.connect()
        channel = await client.get_input_entity("load_0")
        pages = [page async for page in raw_pages(client, channel)]
        over_wire, in_memory, cpu = [], [], []
        for _ in range(rounds + 1):
            wire = memory = 0.0
            used, offset = cpu_seconds(running.process.pid), 0
            for page in pages:  # page by page in turns, so that a slow moment of the machine hits both
                began = time.perf_counter()
                result = await client(GetHistoryRequest(channel, offset, None, 0, 100, 0, 0, 0))
                between = time.perf_counter()
                BinaryReader(page).tgread_object()
                wire, memory = wire + between - began, memory + time.perf_counter() - between
                offset = result.messages[-1].id
            cpu.append((cpu_seconds(running.process.pid) - used) / POSTS * 1e6)
            over_wire.append(POSTS / wire)
            in_memory.append(POSTS / memory)
        await client.disconnect()
    return {"wire": median(over_wire[1:]), "memory": median(in_memory[1:]), "cpu_us": median(cpu[1:])}


async def raw_pages(client: TelegramClient, channel: Any) -> Any:
    offset = 0
    while True:
        result = await client(GetHistoryRequest(channel, offset, None, 0, 100, 0, 0, 0))
        if not result.messages:
            return
        offset = result.messages[-1].id
        yield bytes(result)


async def generating(channels: int, pages: int, changes: int) -> dict[str, float]:
    """Pages of channels that nobody has looked at before, and memory with the changes."""
    with (
        simulator("load", "--channels", str(channels), "--posts", "100") as running,
        running.control() as control,
    ):
        client = client_for(control.session(PHONE))
        await client.connect()
        numbers = iter(range(pages))

        async def read() -> None:
            for number in numbers:
                channel = await client.get_input_entity(f"load_{number * 7919 % channels}")
                await client(GetHistoryRequest(channel, 0, None, 0, 100, 0, 0, 0))

        await asyncio.gather(*(read() for _ in range(READERS)))
        trace = control.ask("GET", f"/trace?limit={pages * 2}")
        took = [call["milliseconds"] for call in trace if call["method"] == "messages.getHistory"]
        for part in range(10):
            control.ask("POST", "/churn", edits=changes // 20, deletions=changes // 20, seed=part)
        await client.disconnect()
        return {"p50": median(took), "p95": percentile(took, 0.95), "memory": running.memory_mb}


def starting(rounds: int) -> float:
    seconds = []
    for _ in range(rounds):
        with simulator("tiny") as running:
            seconds.append(running.started_s)
    return median(seconds)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--channels", type=int, default=100_000)
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--changes", type=int, default=1_000_000)
    options = parser.parse_args()
    read = asyncio.run(reading(options.rounds))
    made = asyncio.run(generating(options.channels, options.pages, options.changes))
    result: dict[str, object] = {
        "bench": "simulator",
        "ratio": round(read["wire"] / read["memory"], 3),
        "posts_per_s": round(read["wire"]),
        "telethon_decode_per_s": round(read["memory"]),
        "sim_cpu_us_per_post": round(read["cpu_us"], 1),
        "load_memory_mb": round(made["memory"]),
        "page_p50_ms": round(made["p50"], 2),
        "page_p95_ms": round(made["p95"], 2),
        "tiny_start_s": round(starting(options.rounds), 2),
        "channels": options.channels,
        "readers": READERS,
        "changes": options.changes,
        "telethon": telethon.__version__,
        "python": sys.version.split()[0],
    }
    finish(result, options, *LIMITS)


if __name__ == "__main__":
    main()
