"""An ingest under steady load: does its memory grow, does it use its requests fully and never too fast, how
late are posts?

One process follows a thousand channels with three accounts, against a simulator with Telegram's limits whose
channels go on posting. The full size is ten minutes; longer runs tell more about lateness, because the first
round alone takes seven.
"""

import asyncio
import os
import re
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg
import httpx

from bench.workloads.joined_channels import Size, assistant, furnish, telegram_at
from telegram_assistant.assembly import assemble
from telegram_assistant.settings import read_settings
from telegram_simulator.control.client import ControlClient
from testkit.engines import free_port, running_engine
from testkit.harness import (
    arguments,
    at_most,
    cpu_seconds,
    finish,
    growth_percent_per_10_min,
    last_half,
    memory_bytes,
    own_database,
    percentile,
)
from testkit.simulators import simulator
from testkit.socks_proxy import Proxy, proxy_server

POSTS = 200
"""In each channel before the start: more than one page, so that no page is cheaper than in life."""
LAG_PER_ROUND = 0.27
"""The mean lag that bench.freshness predicts. The unit is a round: the time to read every channel once."""
STALE_SLACK_SECONDS = 60.0
FLAT_PERCENT, FLAT_SECONDS = 2.0, 600.0

FIRST_READ = "SELECT channel_id, min(stored_at) AS at FROM posts GROUP BY channel_id"
STORED = "SELECT channel_id, posted_at, stored_at FROM posts WHERE posted_at > $1 AND kind <> 'service'"
STALEST = "SELECT coalesce(max(extract(epoch FROM now() - last_polled_at)), 0)::float8 FROM poll_schedule"
LIMITS = (
    *at_most(FLAT_PERCENT, "memory_growth_percent"),
    *at_most(5, "tasks_more"),
    *at_most(0, "connections_around_proxy", "late_s", "punished", "double_use"),
)


@dataclass
class Samples:
    """The process, moment by moment."""

    moments: list[float] = field(default_factory=list)
    rss_mb: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    tasks: list[float] = field(default_factory=list)
    polls: list[float] = field(default_factory=list)
    stalest_s: list[float] = field(default_factory=list)

    def over(self, values: list[float]) -> float:
        return values[-1] - values[0]


type Late = tuple[datetime, float]
"""When a post was published, and how many seconds it waited."""


async def watch(
    samples: Samples, size: Size, *, pid: int, port: str, admin: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    """From the first poll on; not too often, because a page of metrics costs as much as a poll."""
    deadline, every = float("inf"), max(2.0, size.seconds / 120)
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}", transport=httpx.AsyncHTTPTransport(retries=20)
    ) as client:
        while time.monotonic() < deadline:
            metrics = (await client.get("/metrics")).text
            polls = sum(_values(r'parser_runs_total\{.*status="(?:ok|empty)"\}', metrics))
            if polls:
                deadline = min(deadline, time.monotonic() + size.seconds)
                samples.moments.append(time.monotonic())
                samples.polls.append(polls)
                samples.tasks += _values("asyncio_tasks", metrics)
                samples.rss_mb.append(memory_bytes(pid) / 2**20)
                samples.cpu_s.append(cpu_seconds(pid))
                samples.stalest_s.append(await admin.fetchval(STALEST))
            await asyncio.sleep(every)


def _values(name: str, metrics: str) -> list[float]:
    return [float(value) for value in re.findall(rf"^{name} (\S+)", metrics, re.MULTILINE)]


async def lateness(
    admin: "asyncpg.Connection[asyncpg.Record]", control: ControlClient, began: datetime
) -> tuple[list[Late], datetime]:
    """How long posts waited in channels that were followed already, at least until now;
    and when the first round was over.
    """
    first = {row["channel_id"]: row["at"] for row in await admin.fetch(FIRST_READ)}
    stored = {
        (row["channel_id"], row["posted_at"]): row["stored_at"] for row in await admin.fetch(STORED, began)
    }
    ended = datetime.now(UTC)
    published = stored.keys() | await asyncio.to_thread(_load_published, control, began)
    live = [
        (channel_id, at)
        for channel_id, at in published
        if channel_id in first and first[channel_id] < at <= ended
    ]
    waited = [(at, (stored.get((channel_id, at), ended) - at).total_seconds()) for channel_id, at in live]
    return waited, max(first.values())


def _load_published(control: ControlClient, since: datetime) -> set[tuple[int, datetime]]:
    """An album is one post."""
    rows = (row for row in control.truth() if row["date"] > since.timestamp() and row["service"] is None)
    return {(row["channel_id"], datetime.fromtimestamp(row["date"], UTC)) for row in rows}


async def run(size: Size) -> dict[str, object]:
    samples = Samples()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        world = ("load", "--channels", str(size.channels), "--posts", str(POSTS), "--live")
        running = stack.enter_context(simulator(*world, limits="telegram"))
        control = stack.enter_context(running.control())
        engine = stack.enter_context(running_engine("redis", folder / "redis"))
        database = (await stack.enter_async_context(own_database("tga_bench_soak_ingest"))).database
        proxy = await stack.enter_async_context(proxy_server()) if size.proxy else None
        servers = {"DATABASE_URL": database.url.get_secret_value(), "REDIS_URL": engine.url}
        environ = {**os.environ, **servers, **telegram_at(running, proxy), "INGEST_PORT": str(free_port())}
        async with assemble(read_settings(environ), with_accounts=True) as app:
            await furnish(app, control, size)
        admin = await asyncpg.connect((database.admin_url or database.url).get_secret_value())
        stack.push_async_callback(admin.close)
        began = datetime.now(UTC)
        async with assistant(environ, folder / "ingest.log", roles="ingest") as process:
            await watch(samples, size, pid=process.pid, port=environ["INGEST_PORT"], admin=admin)
            waited, settled_at = await lateness(admin, control, began)
            state = await asyncio.to_thread(control.state)
        return {
            **figures(size, samples),
            **lag(waited, settled_at, size),
            **requests(state),
            **proxy_figures(proxy),
        }


def figures(size: Size, samples: Samples) -> dict[str, object]:
    polls, tasks = samples.over(samples.polls), last_half(samples.tasks)
    slope = growth_percent_per_10_min(last_half(samples.moments), last_half(samples.rss_mb))
    return {
        "bench": "soak_ingest",
        "memory_slope_percent_per_10_min": round(slope, 2),
        "rss_mb_first": round(samples.rss_mb[0], 1),
        "rss_mb_middle": round(samples.rss_mb[len(samples.rss_mb) // 2], 1),
        "rss_mb_last": round(samples.rss_mb[-1], 1),
        "tasks_middle": tasks[0],
        "tasks_last": tasks[-1],
        "tasks_most": max(tasks),
        "polls": round(polls),
        "polls_per_s": round(polls / samples.over(samples.moments), 2),
        "polls_per_s_predicted": round(size.requests_per_s, 2),
        "cpu_ms_per_poll": round(samples.over(samples.cpu_s) / polls * 1000, 2),
        "stalest_s": round(max(samples.stalest_s)),
        "stalest_s_allowed": round(2 * size.round_seconds + STALE_SLACK_SECONDS),
        "seconds": size.seconds,
        "channels": size.channels,
        "accounts": size.accounts,
        "samples": len(samples.moments),
        "cores": os.cpu_count(),
    }


def lag(waited: Sequence[Late], settled_at: datetime, size: Size) -> dict[str, object]:
    """Of all posts, and of those that came after every channel had been read once:
    only these are what was predicted.
    """
    every, settled = (
        [seconds for _, seconds in waited],
        [seconds for at, seconds in waited if at > settled_at],
    )
    lags: dict[str, object] = {"lag_mean_s_predicted": round(LAG_PER_ROUND * size.round_seconds, 1)}
    for name, seconds in (("lag", every), ("lag_settled", settled)):
        lags[f"{name}_posts"] = len(seconds)
        if seconds:
            lags |= {
                f"{name}_mean_s": round(statistics.fmean(seconds), 1),
                f"{name}_p50_s": round(percentile(seconds, 0.5), 1),
            }
            lags |= {
                f"{name}_p95_s": round(percentile(seconds, 0.95), 1),
                f"{name}_max_s": round(max(seconds), 1),
            }
    return lags


def requests(state: dict[str, Any]) -> dict[str, object]:
    calls = state["calls"].values()
    return {
        "requests": sum(sum(methods.values()) for methods in calls),
        "history_requests": sum(methods.get("messages.getHistory", 0) for methods in calls),
        "errors": state["errors"],
        "punished": state["punished"],
        "double_use": state["double_use"],
        "posts_live": state["posts_live"],
        "connections_ever": state["connections_ever"],
    }


def proxy_figures(proxy: Proxy | None) -> dict[str, object]:
    return (
        {"proxy": False}
        if proxy is None
        else {"proxy": True, "proxy_connections": len(proxy.connected_to), "proxy_bytes": proxy.bytes_carried}
    )


def judge_memory(result: dict[str, Any]) -> dict[str, float]:
    """In a short run memory is judged by what was gained in its last half,
    not by what that would come to in ten minutes.
    """
    slope, seconds = result["memory_slope_percent_per_10_min"], result["seconds"]
    return {
        "memory_growth_percent": slope if seconds >= FLAT_SECONDS else slope * seconds / 2 / FLAT_SECONDS,
        "tasks_more": result["tasks_most"] - result["tasks_middle"],
        "connections_around_proxy": result["connections_ever"] - result["proxy_connections"]
        if result["proxy"]
        else 0,
        "late_s": max(0, result["stalest_s"] - result["stalest_s_allowed"]),
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--channels", type=int, default=1000)
    parser.add_argument("--accounts", type=int, default=3)
    parser.add_argument("--proxy", action="store_true", help="reach the simulator through a SOCKS5 proxy")
    options = parser.parse_args()
    result = asyncio.run(run(Size(options.seconds, options.channels, options.accounts, options.proxy)))
    finish(result | judge_memory(result), options, *LIMITS)


if __name__ == "__main__":
    main()
