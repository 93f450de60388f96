"""Words and vectors made anew while posts come in and somebody asks all the time: nothing fails, and the same
is found afterwards.

A world of posts passes the pipeline first; then both projections are rebuilt one after the other, as `tga
rebuild` does it, while posts go on landing and passing: in channels that whoever asks does not follow, so
that the right answers stay the same. Questions are asked before, meanwhile and after. Recall is the part of
the ten best of before that are among the ten best of after.
"""

import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from zlib import crc32

import asyncpg
import numpy as np

from bench.pipeline import at_work, understanding_at_once, until_passed, with_redis
from bench.workloads.instant import DIMENSION, SPACE, Drawn, InstantLocal
from bench.workloads.landing_world import CHANNELS, EVERY_CHANNEL, World
from bench.workloads.word_index import make_words
from telegram_assistant.ai.protocols import Embedded, TextKind
from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import ChannelId, PostId, TenantId
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.domain.understanding.spending import Tokens
from telegram_assistant.features.operations.vector_upkeep import rebuild_vectors
from telegram_assistant.features.search.meaning import WordsOnly
from telegram_assistant.features.search.search import search
from telegram_assistant.settings import VectorSettings, read_group
from telegram_assistant.stores.postgres.channels.channels import EVERYTHING_DAYS, Subscription
from telegram_assistant.stores.postgres.pipeline.rebuilds import Projection
from telegram_assistant.vectors.index import MeaningSearch
from testkit.engines import running_engine
from testkit.harness import Versions, arguments, at_least, at_most, finish, own_database, percentile

BEST = 10
FOLLOWED, BUSY = EVERY_CHANNEL[: CHANNELS // 2], EVERY_CHANNEL[CHANNELS // 2 :]
QUESTIONS = 100
LANDED_PER_S = 20.0
LIMITS = (
    *at_least(1, "text.is_done", "vectors.is_done"),
    *at_most(0, "text.failed", "vectors.failed"),
    *at_least(0.98, "text.recall", "vectors.recall"),
)


type Ids = Sequence[PostId]


class OwnVectors(InstantLocal):
    """Every text has a vector of its own, in the heap that its words choose."""

    def __init__(self) -> None:
        super().__init__(Drawn())
        self._heaps = np.random.default_rng(2).normal(size=(500, DIMENSION))

    async def embed(
        self, texts: Sequence[str], kind: TextKind, *, model: str, timeout_seconds: float
    ) -> Embedded:
        del kind, model, timeout_seconds
        made = [
            self._heaps[crc32(text.encode()) % 500]
            + 0.7 * np.random.default_rng(crc32(text.encode())).normal(size=DIMENSION)
            for text in texts
        ]
        return Embedded(tuple(tuple((vector / np.linalg.norm(vector)).tolist()) for vector in made), Tokens())


class Searcher:
    """Somebody with a list of questions."""

    def __init__(self, app: App, tenant_id: TenantId, questions: Sequence[str]) -> None:
        self._app = app
        self._tenant_id = tenant_id
        self._questions = questions
        self.took_ms: list[float] = []
        self.failed = 0

    async def search_ids(self, question: str, index: MeaningSearch | None) -> Ids:
        stores = self._app.tenant(self._tenant_id)
        answer = await search(
            question, tenant_id=self._tenant_id, stores=stores, index=index, now=datetime.now(UTC), limit=BEST
        )
        why = answer.words_only
        if index is not None and why is not None and why is not WordsOnly.FILLING:
            raise RuntimeError(why.words)
        return [hit.post_id for hit in answer.results]

    async def all_found(self, index: MeaningSearch | None) -> list[Ids]:
        return [await self.search_ids(question, index) for question in self._questions]

    async def keep_asking(self, index: MeaningSearch | None) -> None:
        while True:
            for question in self._questions:
                began = time.perf_counter()
                try:
                    await self.search_ids(question, index)
                except Exception:  # noqa: BLE001 -- whatever it is, the question was not answered
                    self.failed += 1
                self.took_ms.append((time.perf_counter() - began) * 1e3)
                await asyncio.sleep(0.02)


def recall(before: Sequence[Ids], after: Sequence[Ids]) -> float:
    shares = [
        len({*earlier} & {*later}) / len(earlier) if earlier else 1.0
        for earlier, later in zip(before, after, strict=True)
    ]
    return sum(shares) / len(shares)


async def rebuilt(
    world: World,
    asker: Searcher,
    index: MeaningSearch | None,
    make_anew: Callable[[], Awaitable[bool]],
    *,
    settle: Callable[[], Awaitable[None]],
) -> dict[str, float]:
    """Ask, make anew under load while asking, let everything pass, ask again: a search has 40 ms,
    so a busy moment finds less.
    """
    before = await asker.all_found(index)
    asker.took_ms, asker.failed = [], 0
    load = [
        asyncio.create_task(world.land_evenly(LANDED_PER_S, 10_000, channels=BUSY)),
        asyncio.create_task(asker.keep_asking(index)),
    ]
    began = time.perf_counter()
    is_done = await make_anew()
    seconds = time.perf_counter() - began
    for task in load:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    await settle()
    return {
        "is_done": is_done,
        "seconds": round(seconds, 1),
        "asked": len(asker.took_ms),
        "failed": asker.failed,
        "p95_ms": round(percentile(asker.took_ms, 0.95), 1),
        "slowest_ms": round(max(asker.took_ms), 1),
        "recall": round(recall(before, await asker.all_found(index)), 4),
    }


async def run(posts: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder, running_engine("redis", Path(folder)) as engine:
        async with own_database("tga_bench_rebuild") as settings:
            admin = await asyncpg.connect(
                (settings.database.admin_url or settings.database.url).get_secret_value()
            )
            embedded = read_group(VectorSettings, {"VECTORS_DIR": f"{folder}/vectors"})
            vectors = settings.vectors if settings.vectors.url else embedded
            async with (
                assemble(with_redis(settings, engine.url)) as plain,
                understanding_at_once(plain, vectors=vectors, local=OwnVectors()) as app,
            ):
                world = World(app.system, AiPolicy.LOCAL)
                await world.open()
                landed = await world.land(posts)

                async def settle() -> None:
                    """As it is some minutes later: how far a search relaxes depends on PostgreSQL's
                    statistics.
                    """
                    await until_passed(admin)
                    await admin.execute("ANALYZE")

                async with at_work(app):
                    await settle()
                    texts = [
                        row["text"]
                        for row in await admin.fetch(
                            "SELECT text FROM posts ORDER BY channel_id, message_id LIMIT 2000"
                        )
                    ]
                    figures = await both(app, world, _questions(texts), settle=settle)
                    await until_passed(admin)
            versions = await Versions.read(admin)
            await admin.close()
    return {
        "bench": "rebuild",
        "posts": landed,
        **figures,
        "engine": "server" if vectors.url else "embedded",
        **versions.as_json(),
    }


async def both(
    app: App, world: World, questions: Sequence[str], *, settle: Callable[[], Awaitable[None]]
) -> dict[str, object]:
    system = app.system
    assert app.index is not None
    index = app.index
    tenant_id = (await system.tenants.ensure("asker")).tenant_id
    for number in FOLLOWED:
        await system.channels.subscribe(
            tenant_id, Subscription(channel_id=ChannelId(number), history_days=EVERYTHING_DAYS)
        )
    asker = Searcher(app, tenant_id, questions)

    async def vectors_anew() -> bool:
        await system.rebuilds.want(Projection.VECTORS)
        return await rebuild_vectors(
            index=index,
            states=system.post_states,
            rebuilds=system.rebuilds,
            model=SPACE.model,
            owner="bench",
            stopping=asyncio.Event(),
        )

    words = await rebuilt(world, asker, None, partial(make_words, app), settle=settle)
    return {
        "text": words,
        "vectors": await rebuilt(world, asker, app.meaning_search, vectors_anew, settle=settle),
    }


def _questions(texts: Sequence[str]) -> list[str]:
    """Two words of some post each, as a person would remember it."""
    rng = random.Random(3)
    made = []
    for text in rng.sample(texts, min(len(texts), QUESTIONS)):
        words = [word for word in text.split() if word.isalpha() and len(word) > 4]
        made.append(" ".join(rng.sample(words, min(2, len(words)))) or "новости")
    return made


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--posts", type=int, default=20_000)
    options = parser.parse_args()
    figures = asyncio.run(run(options.posts))
    finish(figures, options, *LIMITS)


if __name__ == "__main__":
    main()
