"""One tenant floods the pages, another reads: how much longer the reader waits.

The api role runs in a process of its own, as `tga run` starts it, with its limits as they are by default. A
viewer of tenant A keeps 60 expensive pages open at once (questions, searches and previews of watches, each
with other words) and asks again as soon as one is answered, also after a refusal. Meanwhile somebody of
tenant B opens the feed page and the API's feed, five times a second each. Rounds with and without A take
turns. `p95_ratio` is the worse of B's two: the median of the rounds' 95th percentiles with A beside the
median of those without.
"""

import asyncio
import os
import secrets
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import asyncpg
import httpx

from bench.workloads.fair_load import Readings, Target, flood, read_steadily
from bench.workloads.web_world import CHANNELS, FOLLOWED, WATCHED_WORDS, WORDS, build_world
from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.web.cookies import SESSION
from testkit.api_clients import create_key_header
from testkit.engines import free_port, running_engine
from testkit.harness import (
    Versions,
    arguments,
    at_least,
    at_most,
    cpu_seconds,
    find_postmaster,
    finish,
    median,
    own_database,
    percentile,
    postgres_cpu,
)
from testkit.processes import last_words
from testkit.programs import program
from testkit.web_clients import begin_session, load_public_id

PARALLEL = 60
STARTING_SECONDS = 60
LIMITS = (*at_most(2, "p95_ratio"), *at_most(0, "refused_b"), *at_least(1, "refused_a"))


@dataclass(frozen=True, slots=True)
class Server:
    """The api role, and the processes whose CPU is counted."""

    address: str
    api: int
    postmaster: int


@dataclass(frozen=True, slots=True)
class Round:
    """The same seconds of reading, with or without the flood."""

    readings: Mapping[str, Readings]
    flood: Mapping[int, int]
    api_cpu_seconds: float
    postgres_cpu_seconds: float

    def p95_ms(self, name: str) -> float:
        return percentile(self.readings[name].seconds, 0.95) * 1000

    def p50_ms(self, name: str) -> float:
        return median(self.readings[name].seconds) * 1000


async def run(posts: int, seconds: float, pairs: int, *, keep: bool) -> dict[str, object]:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        engine = stack.enter_context(running_engine("redis", folder / "redis"))
        places = {
            "S3_ENDPOINT": "",
            "FILES_DIR": str(folder / "files"),
            "VECTORS_DIR": str(folder / "vectors"),
            "REDIS_URL": engine.url,
        }
        port = {"API_PORT": str(free_port()), "HTTP_HOST": "127.0.0.1"}
        settings = await stack.enter_async_context(
            own_database(f"tga_bench_fair_{posts}", keep=keep, variables=places)
        )
        admin = await asyncpg.connect(
            (settings.database.admin_url or settings.database.url).get_secret_value(), command_timeout=3600
        )
        stack.push_async_callback(admin.close)
        async with assemble(settings) as app:
            targets_a, targets_b = await furnish(app, admin, posts)
        urls = {
            "DATABASE_URL": settings.database.url.get_secret_value(),
            "DATABASE_ADMIN_URL": "",
            "LOG_LEVEL": "warning",
            "NEO4J_URI": "",
        }
        environ = {**os.environ, **places, **port, **urls}
        address, log = f"http://127.0.0.1:{port['API_PORT']}", folder / "tga.log"
        process = stack.enter_context(
            program("telegram_assistant", "run", "--roles", "api", environ=environ, log=log)
        )
        await until_ready(address, log)
        server = Server(address, process.pid, await find_postmaster(admin))
        clients = stack.enter_context(ProcessPoolExecutor(2, mp_context=get_context("spawn")))
        await take_round(clients, server, targets_a, targets_b, seconds)  # templates, plans and caches
        await take_round(clients, server, (), targets_b, seconds)
        quiet: list[Round] = []
        flooded: list[Round] = []
        for number in range(pairs):
            for is_flooded in (False, True) if number % 2 else (True, False):
                flooding = targets_a if is_flooded else ()
                (flooded if is_flooded else quiet).append(
                    await take_round(clients, server, flooding, targets_b, seconds)
                )
        versions = await Versions.read(admin)
    return {
        "bench": "fair_pages",
        "posts": posts,
        "channels": CHANNELS,
        "seconds": seconds,
        "pairs": pairs,
    } | {
        **figures(quiet, flooded, [target.name for target in targets_b]),
        **versions.as_json(),
    }


def figures(quiet: Sequence[Round], flooded: Sequence[Round], names: Sequence[str]) -> dict[str, object]:
    p95 = {
        name: (
            median([sample.p95_ms(name) for sample in quiet]),
            median([sample.p95_ms(name) for sample in flooded]),
        )
        for name in names
    }
    p50 = {
        name: (
            median([sample.p50_ms(name) for sample in quiet]),
            median([sample.p50_ms(name) for sample in flooded]),
        )
        for name in names
    }
    answers_a: Counter[int] = sum((Counter(sample.flood) for sample in flooded), Counter())
    answers_b = sum(
        (sample.readings[name].answers for sample in (*quiet, *flooded) for name in names), Counter[int]()
    )
    return {
        "parallel": PARALLEL,
        "p95_ratio": round(max(with_a / without_a for without_a, with_a in p95.values()), 2),
        "p50_ratio": round(max(with_a / without_a for without_a, with_a in p50.values()), 2),
        "refused_a": answers_a[429],
        "refused_b": sum(count for status, count in answers_b.items() if status != httpx.codes.OK),
        "answers_a": dict(answers_a),
        "answers_b": dict(answers_b),
        "p95_ms": {name: [round(value, 1) for value in pair] for name, pair in p95.items()},
        "p50_ms": {name: [round(value, 1) for value in pair] for name, pair in p50.items()},
        "p95_ms_of_rounds": {
            name: [[round(sample.p95_ms(name)) for sample in rounds] for rounds in (quiet, flooded)]
            for name in names
        },
        "api_cpu_s": [
            round(median([sample.api_cpu_seconds for sample in rounds]), 2) for rounds in (quiet, flooded)
        ],
        "postgres_cpu_s": [
            round(median([sample.postgres_cpu_seconds for sample in rounds]), 2)
            for rounds in (quiet, flooded)
        ],
    }


async def take_round(
    clients: ProcessPoolExecutor,
    server: Server,
    flooding: Sequence[Target],
    reading: Sequence[Target],
    seconds: float,
) -> Round:
    loop, api, postgres = asyncio.get_running_loop(), cpu_seconds(server.api), postgres_cpu(server.postmaster)
    flooded = loop.run_in_executor(clients, _flood, server.address, flooding, seconds) if flooding else None
    readings = await loop.run_in_executor(clients, read_steadily, server.address, reading, seconds)
    return Round(
        readings,
        await flooded if flooded else {},
        cpu_seconds(server.api) - api,
        postgres_cpu(server.postmaster) - postgres,
    )


def _flood(address: str, targets: Sequence[Target], seconds: float) -> dict[int, int]:
    return flood(address, targets, parallel=PARALLEL, seconds=seconds)


async def furnish(
    app: App, admin: "asyncpg.Connection[asyncpg.Record]", posts: int
) -> tuple[list[Target], list[Target]]:
    """Two tenants who follow the same channels; returns the pages of a viewer of the one,
    and of somebody of the other.
    """
    reader = (await build_world(app, admin, posts)).tenant_id
    flooder = (await app.system.tenants.ensure("flooder")).tenant_id
    if not await admin.fetchval("SELECT count(*) FROM subscriptions WHERE tenant_id = $1", flooder):
        await admin.execute(FOLLOWED, flooder)
        await admin.execute("VACUUM ANALYZE")
    flooding, cookie = await log_in(app, flooder, MemberRole.VIEWER)
    expensive = [
        target
        for word, watched in zip(WORDS * 2, WATCHED_WORDS, strict=False)
        for target in (
            Target("ask", f"{flooding}/ask?q={word}", cookie),
            Target("search", f"{flooding}/search?q={word}", cookie),
            Target("preview", f"{flooding}/watches/preview?kind=words&query={watched}", cookie),
        )
    ]
    reading, cookie = await log_in(app, reader, MemberRole.VIEWER)
    return expensive, [
        Target("feed", f"{reading}/feed", cookie),
        Target("api", "/api/v1/feed", await create_key_header(app, reader)),
    ]


async def log_in(app: App, tenant_id: TenantId, role: MemberRole) -> tuple[str, dict[str, str]]:
    """A new person of the tenant: the path of the tenant, and the cookie of a session."""
    member = await app.system.users.join(
        tenant_id, f"somebody of {tenant_id} {secrets.token_hex(4)}", role=role
    )
    begun = await begin_session(app, member.user_id, agent="bench")
    return f"/t/{await load_public_id(app, begun.token, tenant_id)}", {
        "Cookie": f"{SESSION}={begun.token}",
        "Accept-Language": "ru",
    }


async def until_ready(address: str, log: Path) -> None:
    async with asyncio.timeout(STARTING_SECONDS), httpx.AsyncClient() as client:
        while True:
            try:
                if (await client.get(f"{address}/ready")).is_success:
                    return
            except httpx.TransportError:
                if "cannot" in last_words(log):
                    sys.exit(last_words(log))
            await asyncio.sleep(0.2)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--posts", type=int, default=200_000)
    parser.add_argument("--seconds", type=float, default=15, help="of each round")
    parser.add_argument("--pairs", type=int, default=8, help="rounds with and as many without the flood")
    parser.add_argument("--quick", action="store_true", help="20,000 posts, 3 pairs of 8 s")
    parser.add_argument("--keep", action="store_true", help="leave the database for the next run")
    options = parser.parse_args()
    posts, seconds, pairs = (
        (20_000, 8.0, 3) if options.quick else (options.posts, options.seconds, options.pairs)
    )
    finish(asyncio.run(run(posts, seconds, pairs, keep=options.keep)), options, *LIMITS)


if __name__ == "__main__":
    main()
