"""The pipeline from a landed post to its index: how many posts a second, and the CPU of each stage, servers
included.

Understanding takes no time: this machine looks at the words alone (`--ai local`), or a provider that answers
at once is asked for every post (`--ai provider`: policy, cache, budget, stream and bill are real); vectors
were drawn before and go into the server where QDRANT_URL is set, else into the embedded engine. A quarter of
the posts link to pages that were read before. First every stage works alone, one after the other, so that its
CPU is its own; then all work together, and that is what counts; then posts come in at half that rate, and
each one's time from stored to searchable is taken. `--until enriched` leaves the vectors out.
"""

import asyncio
import multiprocessing
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import asyncpg
from pydantic import SecretStr
from redis.asyncio import Redis

from bench.workloads.instant import SPACE, Drawn, InstantLocal, InstantModel
from bench.workloads.landing_world import CHANNELS, World, land_elsewhere
from telegram_assistant.ai.providers import ConfiguredProvider
from telegram_assistant.assembly import App, Models, assemble, open_gate, open_questions
from telegram_assistant.domain.understanding.policy import AiPolicy, ModelTask
from telegram_assistant.pipeline import ENDS, PIPELINE
from telegram_assistant.settings import Settings, VectorSettings, read_group
from telegram_assistant.streams.monitoring import measure_stages
from telegram_assistant.streams.runner import Options
from telegram_assistant.streams.stage import AnyStage
from telegram_assistant.telemetry.health import Health
from telegram_assistant.understanding.post_tags import Tagger
from telegram_assistant.vectors.index import MeaningSearch, VectorIndex
from telegram_assistant.vectors.opening import open_vectors
from telegram_assistant.worker_role import branches_of, build_loops, build_relay, build_runner
from testkit.engines import Engine, running_engine
from testkit.harness import (
    Versions,
    arguments,
    at_most,
    cpu_seconds,
    find_postmaster,
    finish,
    own_cpu_seconds,
    own_database,
    percentile,
    postgres_cpu,
)

HALF_LOAD_SECONDS = 15.0
WATCH_OUTBOX = """
CREATE TABLE bench_passed (took double precision);
CREATE FUNCTION bench_passed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
    INSERT INTO bench_passed SELECT extract(epoch FROM clock_timestamp() - gone.created_at) FROM gone;
    RETURN NULL;
END $$;
CREATE TRIGGER bench_passed AFTER DELETE ON outbox REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION bench_passed();
"""
LIMITS = (*at_most(0, "dead_letters"), *at_most(10_000, "cpu_us_per_post"))


@dataclass(frozen=True, slots=True)
class Meter:
    """CPU seconds of this process, PostgreSQL and Redis."""

    postmaster: int
    engine: Engine

    def read(self) -> tuple[float, float, float]:
        return own_cpu_seconds(), postgres_cpu(self.postmaster), cpu_seconds(self.engine.pid)


@dataclass(frozen=True, slots=True)
class Used:
    """The wall time of a piece of work, and the CPU seconds that each process spent on it."""

    seconds: float
    own: float
    postgres: float
    redis: float

    def each_us(self, posts: int) -> dict[str, float]:
        shares = {"own": self.own, "postgres": self.postgres, "redis": self.redis}
        return {
            name: round(used / posts * 1e6) for name, used in {**shares, "all": sum(shares.values())}.items()
        }


@asynccontextmanager
async def understanding_at_once(
    app: App, *, vectors: VectorSettings | None, asks: bool = False, local: InstantLocal | None = None
) -> AsyncIterator[App]:
    """The same installation before models that take no time."""
    sources = (
        [
            ConfiguredProvider(
                "openai", InstantModel(), {ModelTask.CHAT: "instant"}, streams=64, per_minute=10_000_000
            )
        ]
        if asks
        else []
    )
    local = local or InstantLocal(Drawn())
    settings = app.settings.model_copy(update={"vectors": vectors or VectorSettings()})
    async with AsyncExitStack() as stack:
        models = Models(sources, local, local, SPACE.model if vectors else None)
        gate = await stack.enter_async_context(
            open_gate(models, settings, system=app.system, redis=app.redis)
        )
        questions = await stack.enter_async_context(
            open_questions(models, settings, api=app.api, tenant=app.tenant, redis=app.redis)
        )
        opened = await stack.enter_async_context(open_vectors(settings.vectors))
        index = None if opened is None else VectorIndex(opened, gate=gate, states=app.system.post_states)
        meaning_search = None if opened is None else MeaningSearch(opened, questions=questions)
        tagger = Tagger(gate, app.system.enrichments, app.system.vocabularies)
        picture_analyzer = replace(app.picture_analyzer, gate=gate)
        yield replace(
            app,
            gate=gate,
            tagger=tagger,
            picture_analyzer=picture_analyzer,
            index=index,
            meaning_search=meaning_search,
        )


async def measure(meter: Meter, work: Callable[[], Awaitable[None]]) -> Used:
    before, began = meter.read(), time.perf_counter()
    await work()
    took = time.perf_counter() - began
    own, postgres, redis = (after - earlier for after, earlier in zip(meter.read(), before, strict=True))
    return Used(took, own, postgres, redis)


async def alone(app: App, stage: AnyStage) -> None:
    """Let one stage work until nothing is left for it."""
    stopping = asyncio.Event()
    running = asyncio.create_task(
        build_runner(
            stage, branches_of(PIPELINE, ENDS).get(stage.name), app, Health(probes={}), Options()
        ).run(stopping)
    )
    await until_idle(app.redis, (stage,))
    stopping.set()
    await running


async def until_idle(redis: Redis, stages: Sequence[AnyStage]) -> None:
    while any(state.lag or state.pending for state in await measure_stages(redis, stages, 1)):
        await asyncio.sleep(0.05)


async def by_stage(app: App, meter: Meter) -> dict[str, Used]:
    relay = build_relay(PIPELINE, app, Health(probes={}))
    await relay.check()

    async def announce() -> None:
        while await relay.step():
            pass

    costs = {"relay": await measure(meter, announce)}
    for stage in PIPELINE:
        costs[stage.name] = await measure(meter, partial(alone, app, stage))
    return costs


@asynccontextmanager
async def at_work(app: App) -> AsyncIterator[None]:
    stopping = asyncio.Event()
    tasks = [
        asyncio.create_task(loop.run(stopping))
        for loop in build_loops(PIPELINE, ENDS, app, Health(probes={}), Options())
    ]
    try:
        yield
    finally:
        stopping.set()
        await asyncio.gather(*tasks)


async def until_passed(admin: "asyncpg.Connection[asyncpg.Record]") -> None:
    while await admin.fetchval("SELECT EXISTS (SELECT 1 FROM outbox)"):
        await asyncio.sleep(0.1)


async def together(app: App, meter: Meter, admin: "asyncpg.Connection[asyncpg.Record]") -> Used:
    async def work() -> None:
        async with at_work(app):
            await until_passed(admin)

    return await measure(meter, work)


async def half_load(
    app: App, world: World, per_second: float, admin: "asyncpg.Connection[asyncpg.Record]"
) -> dict[str, float]:
    """How long posts take that come in evenly.

    A post leaves the outbox when the last stage has passed it, so no sooner than it can be found.
    """
    await admin.execute(WATCH_OUTBOX)
    given = (app.settings.database, world.policy, world.next_id, per_second / 2, HALF_LOAD_SECONDS)
    async with at_work(app):
        landing = multiprocessing.get_context("spawn").Process(target=land_elsewhere, args=given)
        landing.start()
        await asyncio.to_thread(landing.join)
        await until_passed(admin)
    times = [row["took"] for row in await admin.fetch("SELECT took FROM bench_passed")]
    return {
        "half_load_posts_per_s": round(len(times) / HALF_LOAD_SECONDS),
        "p50_s_at_half_load": round(percentile(times, 0.5), 3),
        "p95_s_at_half_load": round(percentile(times, 0.95), 3),
    }


async def run(posts: int, ai: str, until: str) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder, running_engine("redis", Path(folder)) as engine:
        async with own_database("tga_bench_pipeline") as settings:
            admin = await asyncpg.connect(
                (settings.database.admin_url or settings.database.url).get_secret_value()
            )
            embedded = read_group(VectorSettings, {"VECTORS_DIR": f"{folder}/vectors"})
            vectors = None if until == "enriched" else settings.vectors if settings.vectors.url else embedded
            async with (
                assemble(with_redis(settings, engine.url)) as plain,
                understanding_at_once(plain, asks=ai == "provider", vectors=vectors) as app,
            ):
                world = World(app.system, AiPolicy(ai))
                await world.open()
                meter = Meter(await find_postmaster(admin), engine)
                first = await world.land(max(CHANNELS, posts // 4))
                costs = await by_stage(app, meter)
                landed = await world.land(posts)
                used = await together(app, meter, admin)
                waits = await half_load(app, world, landed / used.seconds, admin)
                dead = await admin.fetchval("SELECT count(*) FROM dead_letters")
            versions = await Versions.read(admin)
            await admin.close()
    index_seconds = sum(costs[name].seconds for name in ("post_persistence", "indexing"))
    return {
        "bench": "pipeline",
        "until": until,
        "ai": ai,
        "posts_per_s": round(landed / used.seconds),
        **waits,
        "words_and_vectors_per_s": round(first / index_seconds),
        "cpu_us_per_post": used.each_us(landed)["all"],
        "cpu_us_by_part": used.each_us(landed),
        "cpu_us_by_stage": {name: cost.each_us(first) for name, cost in costs.items()},
        "dead_letters": dead,
        "posts": landed,
        "vectors": "off" if vectors is None else "server" if vectors.url else "embedded",
        **versions.as_json(),
    }


def with_redis(settings: Settings, url: str) -> Settings:
    return settings.model_copy(update={"redis": settings.redis.model_copy(update={"url": SecretStr(url)})})


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--posts", type=int, default=20_000)
    parser.add_argument("--ai", choices=("local", "provider"), default="local")
    parser.add_argument("--until", choices=("enriched", "searchable"), default="searchable")
    options = parser.parse_args()
    finish(asyncio.run(run(options.posts, options.ai, options.until)), options, *LIMITS)


if __name__ == "__main__":
    main()
