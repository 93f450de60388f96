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
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg
import httpx

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.accounts.account import Lease
from telegram_assistant.domain.channels.channel import FoundChannel
from telegram_assistant.domain.ids import AccountId, TenantId
from telegram_assistant.ingest.accounts import FIRST_TENANT, add_account
from telegram_assistant.ingest.scheduler import REQUESTS_PER_SECOND
from telegram_assistant.settings import read_settings
from telegram_assistant.stores.postgres.channels.channels import Subscription
from telegram_assistant.telegram.client import open_account_client
from telegram_assistant.telegram.reader import ChannelReader
from telegram_assistant.telegram.vault import make_key, vault_of
from telegram_simulator.control.client import ControlClient
from telegram_simulator.world.load import FIRST_CHANNEL
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
from testkit.processes import last_words
from testkit.simulators import Running, simulator
from testkit.socks_proxy import Proxy, proxy_server

POSTS = 200
"""In each channel before the start: more than one page, so that no page is cheaper than in life."""
TICK_SECONDS = 30
LAG_PER_ROUND = 0.27
"""What bench.freshness predicts for the mean, in rounds:
the time in which every channel could be read once.
"""
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


@dataclass(frozen=True)
class Size:
    seconds: float
    channels: int
    accounts: int
    proxy: bool

    @property
    def requests_per_s(self) -> float:
        return REQUESTS_PER_SECOND * self.accounts

    @property
    def round_seconds(self) -> float:
        return self.channels / self.requests_per_s


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


async def furnish(app: App, control: ControlClient, size: Size) -> None:
    """Each account has joined its share of the channels, and knows them already:
    finding them is not what is measured.
    """
    tenant_id = (await app.system.tenants.ensure(FIRST_TENANT, is_operator=True)).tenant_id
    shares = [
        range(FIRST_CHANNEL + number, FIRST_CHANNEL + size.channels, size.accounts)
        for number in range(size.accounts)
    ]
    sessions = [control.session(f"7999000{number:04}", joined=share) for number, share in enumerate(shares)]
    await asyncio.gather(*(add_joined(app, tenant_id, session, history_days=0) for session in sessions))


async def add_joined(app: App, tenant_id: TenantId, session: str, *, history_days: int) -> None:
    """An account, and subscriptions to every channel that it has joined."""
    assert app.ingest is not None
    system = app.system
    vault = vault_of(app.settings.telegram.encryption_key.get_secret_value())
    account_id = await add_account(session, tenant_id, accounts=app.ingest.accounts, vault=vault)
    for membership in await _joined(app, account_id, session):
        await system.channels.open_to(
            account_id, membership.channel, membership.access_hash, joined=True, read_at=datetime.now(UTC)
        )
        await system.channels.subscribe(
            tenant_id,
            Subscription(
                channel_id=membership.channel.channel_id, history_days=history_days, wants_media=False
            ),
        )


async def _joined(app: App, account_id: AccountId, session: str) -> list[FoundChannel]:
    telegram, system, lease = app.settings.telegram, app.system, Lease(begun=time.monotonic())
    async with open_account_client(
        telegram, session, lease, account_id=account_id, limits=system.limits
    ) as line:
        reader = ChannelReader(line)
        page, cursor = await reader.joined()
        joined = list(page)
        while cursor is not None:
            page, cursor = await reader.joined(cursor)
            joined += page
    return joined


@asynccontextmanager
async def assistant(
    environ: dict[str, str], log: Path, *, roles: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    with log.open("wb") as lines:
        command = (sys.executable, "-m", "telegram_assistant", "run", "--roles", roles)
        process = await asyncio.create_subprocess_exec(*command, env=environ, stdout=lines, stderr=lines)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
        else:
            print("the assistant died:", last_words(log), file=sys.stderr)


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
    published = stored.keys() | await asyncio.to_thread(_published, control, began)
    live = [
        (channel_id, at)
        for channel_id, at in published
        if channel_id in first and first[channel_id] < at <= ended
    ]
    waited = [(at, (stored.get((channel_id, at), ended) - at).total_seconds()) for channel_id, at in live]
    return waited, max(first.values())


def _published(control: ControlClient, since: datetime) -> set[tuple[int, datetime]]:
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
            **carried(proxy),
        }


def telegram_at(running: Running, proxy: Proxy | None) -> dict[str, str]:
    through = {"TELEGRAM_PROXY_ADDR": "127.0.0.1", "TELEGRAM_PROXY_PORT": str(proxy.port)} if proxy else {}
    return {
        "TELEGRAM_API_ID": "1",
        "TELEGRAM_API_HASH": "any",
        "TELEGRAM_DC_ADDR": running.where["host"],
        "TELEGRAM_DC_PORT": str(running.where["ports"]["2"]),
        "SESSION_ENCRYPTION_KEY": make_key(),
        "PARSER_SCHEDULER_INTERVAL_SEC": str(TICK_SECONDS),
        **through,
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


def carried(proxy: Proxy | None) -> dict[str, object]:
    return (
        {"proxy": False}
        if proxy is None
        else {"proxy": True, "proxy_connections": len(proxy.connected_to), "proxy_bytes": proxy.bytes_carried}
    )


def judged(result: dict[str, Any]) -> dict[str, float]:
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
    finish(result | judged(result), options, *LIMITS)


if __name__ == "__main__":
    main()
