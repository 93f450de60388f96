"""The pipeline from a landed post to `posts.enriched`: how many posts a second, and the CPU of each stage, servers included.

This machine understands alone (`--ai local`), or a provider that answers at once is asked for every post (`--ai provider`:
policy, cache, budget, stream and bill are real). A quarter of the posts link to pages that were read before. First every
stage works alone, one after the other, so that its CPU is its own; then all work together, and that is what counts.
"""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import asyncpg
from pydantic import SecretStr
from redis.asyncio import Redis

from bench.engines import Engine, running_engine
from bench.harness import Versions, arguments, cpu_seconds, own_cpu_seconds, own_database, postgres_cpu, postmaster_of, report
from bench.rows import make_writer, page_of, posts_of
from telegram_assistant.ai.gate import Gate
from telegram_assistant.ai.local.understanding import Local
from telegram_assistant.ai.protocols import Embedded, Instruction, Picture, Reply, TextKind
from telegram_assistant.ai.providers import Source
from telegram_assistant.assembly import App, assemble, gate_before
from telegram_assistant.domain.channel import Channel
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.links import urls_of
from telegram_assistant.domain.pages import Page, PageStatus
from telegram_assistant.domain.post import Post
from telegram_assistant.domain.spending import Tokens
from telegram_assistant.domain.understanding import AiPolicy, Work
from telegram_assistant.pipeline import LAST, PIPELINE
from telegram_assistant.settings import Settings
from telegram_assistant.stages.tags import Tagger
from telegram_assistant.stores.postgres.channels import Subscription
from telegram_assistant.stores.postgres.landing import Claim
from telegram_assistant.streams.runner import Options
from telegram_assistant.streams.stage import Stage
from telegram_assistant.streams.watching import look
from telegram_assistant.telemetry.health import Health
from telegram_assistant.work import loops_of, relay_of, runner_of

CHANNELS = 200
PAGE = 100
ANSWER = '{"tags": ["экономика", "economy", "погода", "weather"], "topic": "economy", "kind": "news", "entities": []}'
TEXT = "Подробности на странице, которую уже кто-то прочёл. " * 30


class Instant:
    """A model that answers at once."""

    async def chat(self, instruction: Instruction, *, model: str, timeout_seconds: float) -> Reply:
        del model, timeout_seconds
        return Reply(ANSWER, Tokens(len(instruction.user) // 4, 40))

    async def look(self, instruction: Instruction, picture: Picture, *, model: str, timeout_seconds: float) -> Reply:
        raise NotImplementedError

    async def embed(self, texts: Sequence[str], kind: TextKind, *, model: str, timeout_seconds: float) -> Embedded:
        raise NotImplementedError

    async def close(self) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Meter:
    """CPU seconds of this process, PostgreSQL and Redis."""

    postmaster: int
    engine: Engine

    def read(self) -> tuple[float, float, float]:
        return own_cpu_seconds(), postgres_cpu(self.postmaster), cpu_seconds(self.engine.pid)


@dataclass(frozen=True, slots=True)
class Used:
    """What a piece of work took."""

    seconds: float
    own: float
    postgres: float
    redis: float

    def each_us(self, posts: int) -> dict[str, float]:
        shares = {"own": self.own, "postgres": self.postgres, "redis": self.redis}
        return {name: round(used / posts * 1e6) for name, used in {**shares, "all": sum(shares.values())}.items()}


def instant_gate(app: App) -> AbstractAsyncContextManager[Gate]:
    source = Source("openai", Instant(), {Work.CHAT: "instant"}, streams=64, per_minute=10_000_000)
    local = Local(models=app.settings.ai.models)
    return gate_before([source], app.settings, system=app.system, redis=app.redis, local=local, local_model=None)


class World:
    """Channels that one tenant follows, and posts that land in them; pages that they link to are known."""

    def __init__(self, app: App, policy: AiPolicy) -> None:
        self._app = app
        self._policy = policy
        self._writer = make_writer(7)
        self._next_id = 1
        self._read: set[str] = set()

    async def open(self) -> None:
        system = self._app.system
        tenant_id = (await system.tenants.ensure("bench")).tenant_id
        await system.ai_policies.consent(tenant_id, given_by="bench")
        await system.spending.set_budget(tenant_id, micro=10**15, tokens=None)
        for number in range(1, CHANNELS + 1):
            await system.channels.register(Channel(channel_id=ChannelId(number), title=f"bench {number}"))
            await system.channels.subscribe(tenant_id, Subscription(channel_id=ChannelId(number), ai_policy=self._policy))

    async def land(self, posts: int) -> int:
        """So many more, in all channels alike."""
        each, landed = max(1, posts // CHANNELS), 0
        for channel_id in range(1, CHANNELS + 1):
            for start in range(self._next_id, self._next_id + each, PAGE):
                count = min(PAGE, self._next_id + each - start)
                made = tuple(posts_of(self._writer, channel_id, first_id=start, count=count, newest=datetime.now(UTC), span=timedelta(hours=1)))
                await self._know_pages(made)
                await self._app.system.landing.land(page_of(made), Claim(ChannelId(channel_id), 0))
                landed += count
        self._next_id += each
        return landed

    async def _know_pages(self, posts: Sequence[Post]) -> None:
        pages, urls = self._app.system.pages, {url for post in posts for url in urls_of(post.text, post.entities)} - self._read
        if urls:
            await pages.claim(list(urls), owner="bench", lease=timedelta(minutes=5))
        for url in urls:
            await pages.finish(url, Page(url=url, status=PageStatus.READ, title="Статья", text=TEXT), owner="bench", attempts=0)
        self._read |= urls


async def measured(meter: Meter, work: Callable[[], Awaitable[None]]) -> Used:
    before, began = meter.read(), time.perf_counter()
    await work()
    took = time.perf_counter() - began
    own, postgres, redis = (after - earlier for after, earlier in zip(meter.read(), before, strict=True))
    return Used(took, own, postgres, redis)


async def alone(app: App, stage: Stage) -> None:
    """Let one stage work until nothing is left for it."""
    stopping = asyncio.Event()
    running = asyncio.create_task(runner_of(stage, LAST, app, Health(probes={}), Options()).run(stopping))
    await until_idle(app.redis, (stage,))
    stopping.set()
    await running


async def until_idle(redis: Redis, stages: Sequence[Stage]) -> None:
    while any(state.lag or state.pending for state in await look(redis, stages, 1)):
        await asyncio.sleep(0.05)


async def by_stage(app: App, meter: Meter, posts: int) -> dict[str, dict[str, float]]:
    relay = relay_of(PIPELINE, app, Health(probes={}))
    await relay.check()

    async def announce() -> None:
        while await relay.step():
            pass

    costs = {"relay": (await measured(meter, announce)).each_us(posts)}
    for stage in PIPELINE:
        costs[stage.name] = (await measured(meter, partial(alone, app, stage))).each_us(posts)
    return costs


async def together(app: App, meter: Meter, admin: "asyncpg.Connection[asyncpg.Record]") -> Used:
    stopping = asyncio.Event()

    async def work() -> None:
        loops = loops_of(PIPELINE, LAST, app, Health(probes={}), Options())
        tasks = [asyncio.create_task(loop.run(stopping)) for loop in loops]
        while await admin.fetchval("SELECT EXISTS (SELECT 1 FROM outbox)"):
            await asyncio.sleep(0.1)
        stopping.set()
        await asyncio.gather(*tasks)

    return await measured(meter, work)


async def run(posts: int, ai: str) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder, running_engine("redis", Path(folder)) as engine:
        async with own_database("tga_bench_pipeline") as settings:
            admin = await asyncpg.connect((settings.database.admin_url or settings.database.url).get_secret_value())
            async with assemble(_with_redis(settings, engine.url)) as plain, instant_gate(plain) as gate:
                is_asked = ai == "provider"
                app = _asking(plain, gate) if is_asked else plain
                world = World(app, AiPolicy.PROVIDER if is_asked else AiPolicy.LOCAL)
                await world.open()
                meter = Meter(await postmaster_of(admin), engine)
                landed = await world.land(max(CHANNELS, posts // 4))
                costs = await by_stage(app, meter, landed)
                landed = await world.land(posts)
                used = await together(app, meter, admin)
                dead = await admin.fetchval("SELECT count(*) FROM dead_letters")
            versions = await Versions.read(admin)
            await admin.close()
    return {
        "bench": "pipeline",
        "until": "enriched",
        "ai": ai,
        "posts_per_s": round(landed / used.seconds),
        "cpu_us_per_post": used.each_us(landed)["all"],
        "cpu_us_by_part": used.each_us(landed),
        "cpu_us_by_stage": costs,
        "dead_letters": dead,
        "posts": landed,
        **versions.as_json(),
    }


def _asking(app: App, gate: Gate) -> App:
    """The same with another gate."""
    tagger = Tagger(gate, app.system.enrichments, app.system.vocabularies)
    return replace(app, gate=gate, tagger=tagger, collaborators={**app.collaborators, "gate": gate, "tagger": tagger})


def _with_redis(settings: Settings, url: str) -> Settings:
    return settings.model_copy(update={"redis": settings.redis.model_copy(update={"url": SecretStr(url)})})


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--posts", type=int, default=20_000)
    parser.add_argument("--ai", choices=("local", "provider"), default="local")
    parser.add_argument("--until", choices=("enriched",), default="enriched")
    options = parser.parse_args()
    report(asyncio.run(run(options.posts, options.ai)), as_json=options.json)


if __name__ == "__main__":
    main()
