"""Runs ordinary and hostile contents against a running installation,
and measures how long others wait meanwhile.
"""

import asyncio
import itertools
import sys
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import asyncpg
import httpx

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.settings import read_settings
from telegram_assistant.stores.postgres.channels.channels import Subscription
from telegram_assistant.stores.postgres.posts.landing import Claim
from testkit import hostile_contents as contents
from testkit.api_clients import create_key_header
from testkit.factories import make_channel, make_page, make_post
from testkit.harness import percentile
from testkit.hostile_author import Author, serve_web
from testkit.processes import last_words, proportional_mb, with_children

PER_SECOND = 20
PROBE_SECONDS = 0.05
READING_EVERY = 10
SETTLED_SECONDS = 120.0
FINISHING_SECONDS = 30.0
STARTING_SECONDS = 60.0
UNLIMITED = {
    "API_REQUESTS_PER_MINUTE": "100000",
    "API_REQUESTS_AT_ONCE": "100000",
    "CRAWL_SITE_INTERVAL_SECONDS": "0",
    "LOG_LEVEL": "warning",
}

ON_THEIR_WAY = "SELECT count(*) FROM outbox"

type Admin = "asyncpg.Connection[asyncpg.Record]"
type Step = Callable[[], Awaitable[None]]


@dataclass
class Probe:
    """One question, asked again and again from a thread of its own."""

    name: str
    url: str
    headers: Mapping[str, str]
    waited: list[float] = field(default_factory=list)
    answers: Counter[int] = field(default_factory=Counter)

    def ask(self, ended: threading.Event) -> None:
        with httpx.Client(timeout=60, headers=dict(self.headers)) as client:
            while not ended.wait(PROBE_SECONDS):
                began = time.perf_counter()
                self.answers[client.get(self.url).status_code] += 1
                self.waited.append(time.perf_counter() - began)

    @property
    def p95_ms(self) -> float:
        return round(percentile(self.waited, 0.95) * 1000, 1)


@dataclass(frozen=True)
class Run:
    """The measurements of one run."""

    probes: Sequence[Probe]
    steps: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The hostile run compared with the ordinary one; in each pair the ordinary one is first."""

    probe_ratio: float
    answers_503: int
    memory_ratio: float
    p95_ms: Mapping[str, tuple[float, float]]
    answers: Mapping[str, Mapping[int, int]]
    memory_mb: tuple[int, int]
    with_children_mb: int
    steps: int
    seconds: float
    settled_s: tuple[float, ...]
    left: int


@contextmanager
def probing(probes: Sequence[Probe]) -> Iterator[None]:
    ended = threading.Event()
    threads = [threading.Thread(target=probe.ask, args=(ended,), daemon=True) for probe in probes]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def ordinary_steps(author: Author) -> Iterator[Step]:
    """The same kinds in the same shares as the hostile ones."""
    edited = contents.ORDINARY_TEXT.replace("15", "16")
    for number in itertools.count():
        yield from (partial(author.post, contents.ORDINARY_TEXT) for _ in contents.texts())
        yield from (partial(author.edit, contents.ORDINARY_TEXT, edited) for _ in contents.edits())
        yield from (partial(author.link, "ordinary", "/ordinary") for _ in (*author.pages, *author.robots))
        yield from (partial(author.show, contents.ordinary_picture(number)) for _ in author.pictures)
        yield from (partial(author.send, b'{"references": []}') for _ in author.bodies)
        yield from (partial(author.follow_list, "@channel") for _ in author.lists)


def hostile_steps(author: Author) -> Iterator[Step]:
    while True:
        yield from (partial(author.post, text) for text in contents.texts().values())
        yield from (partial(author.edit, before, after) for before, after in contents.edits().values())
        yield from (partial(author.link, "ordinary", path) for path in author.pages)
        yield from (partial(author.link, site, "/ordinary") for site in author.robots)
        yield from (partial(author.show, picture) for picture in author.pictures.values())
        yield from (partial(author.send, body) for body in author.bodies.values())
        yield from (partial(author.follow_list, text) for text in author.lists.values())


def mix_steps(steps: Iterator[Step], count: int) -> list[Step]:
    """The first `count` steps, with the kinds mixed instead of one after another."""
    taken = list(itertools.islice(steps, count))
    return [taken[place * 31 % len(taken)] for place in range(len(taken))] if len(taken) % 31 else taken


async def drive(author: Author, steps: Sequence[Step], probes: Sequence[Probe]) -> Run:
    """Starts steps at a fixed rate, without waiting for earlier ones. The probes ask until all have ended."""
    began, under_way = time.monotonic(), set[asyncio.Task[None]]()
    with probing(probes):
        for number, step in enumerate(steps):
            await asyncio.sleep(max(0.0, began + number / PER_SECOND - time.monotonic()))
            for act in (step, author.read) if number % READING_EVERY == 0 else (step,):
                task = asyncio.ensure_future(act())
                under_way.add(task)
                task.add_done_callback(under_way.discard)
        if under_way:
            _, late = await asyncio.wait(under_way, timeout=FINISHING_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
    return Run(probes, len(steps), time.monotonic() - began)


def print_progress(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


async def wait_until_settled(admin: Admin) -> float:
    """Waits until nothing is on its way any more. Returns the seconds that it took."""
    began = time.monotonic()
    while await admin.fetchval(ON_THEIR_WAY) and time.monotonic() - began < SETTLED_SECONDS:
        await asyncio.sleep(0.5)
    return round(time.monotonic() - began, 1)


@asynccontextmanager
async def installation(
    environ: Mapping[str, str], web_port: int, log: Path
) -> AsyncIterator[asyncio.subprocess.Process]:
    command = (sys.executable, "-m", "testkit.hostile_installation", str(web_port))
    with log.open("wb") as lines:
        process = await asyncio.create_subprocess_exec(
            *command, env=dict(environ), stdout=lines, stderr=lines
        )
    try:
        await _answers(f"http://127.0.0.1:{environ['API_PORT']}/health", process, log)
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()


async def _answers(url: str, process: asyncio.subprocess.Process, log: Path) -> None:
    async with asyncio.timeout(STARTING_SECONDS), httpx.AsyncClient() as client:
        while True:
            if process.returncode is not None:
                sys.exit(last_words(log))
            try:
                await client.get(url)
            except httpx.TransportError:
                await asyncio.sleep(0.2)
            else:
                return


async def inhabitants(app: App) -> tuple[TenantId, ChannelId, TenantId]:
    """Creates the author's tenant with its channel, and another tenant that has ordinary posts."""
    tenants = [(await app.system.tenants.ensure(name)).tenant_id for name in ("author", "somebody else")]
    channels = [await make_channel(app.system) for _ in tenants]
    for tenant_id, channel_id in zip(tenants, channels, strict=True):
        await app.system.channels.subscribe(tenant_id, Subscription(channel_id=channel_id))
    posts = [
        make_post(channel_id=channels[1], message_id=number, text=f"{contents.ORDINARY_TEXT} {number}")
        for number in range(1, 51)
    ]
    await app.system.landing.land(make_page(*posts), Claim(channels[1], 0))
    return tenants[0], channels[0], tenants[1]


async def measure(environ: Mapping[str, str], folder: Path, *, seconds: float) -> Figures:
    settings = read_settings(environ)
    async with AsyncExitStack() as stack:
        app = await stack.enter_async_context(assemble(settings))
        admin = await asyncpg.connect(
            (settings.database.admin_url or settings.database.url).get_secret_value()
        )
        stack.push_async_callback(admin.close)
        web_port = await stack.enter_async_context(serve_web())
        author_id, channel_id, other_id = await inhabitants(app)
        keys = [await create_key_header(app, tenant_id) for tenant_id in (author_id, other_id)]
        api = f"http://127.0.0.1:{environ['API_PORT']}"
        process = await stack.enter_async_context(installation(environ, web_port, folder / "tga.log"))
        client = await stack.enter_async_context(
            httpx.AsyncClient(base_url=f"{api}/api/v1", headers=keys[0], timeout=60)
        )
        author = Author(
            app=app, channel_id=channel_id, client=client, web_port=web_port, folder=folder, environ=environ
        )

        def probes() -> list[Probe]:
            return [Probe("health", f"{api}/health", {}), Probe("feed", f"{api}/api/v1/feed", keys[1])]

        count = round(seconds * PER_SECOND)
        print_progress("warming up")
        await drive(
            author, mix_steps(ordinary_steps(author), count // 4), probes()
        )  # what is loaded once is loaded now
        print_progress("ordinary contents")
        ordinary = await drive(author, mix_steps(ordinary_steps(author), count), probes())
        waits = [await wait_until_settled(admin)]
        before = proportional_mb([process.pid])
        print_progress("hostile contents")
        hostile = await drive(author, mix_steps(hostile_steps(author), count), probes())
        waits.append(await wait_until_settled(admin))
        after = proportional_mb([process.pid])
        return Figures(
            probe_ratio=round(
                max(
                    strange.p95_ms / usual.p95_ms
                    for usual, strange in zip(ordinary.probes, hostile.probes, strict=True)
                ),
                2,
            ),
            answers_503=sum(probe.answers[503] for probe in hostile.probes),
            memory_ratio=round(after / before, 3),
            p95_ms={
                usual.name: (usual.p95_ms, strange.p95_ms)
                for usual, strange in zip(ordinary.probes, hostile.probes, strict=True)
            },
            answers={probe.name: dict(probe.answers) for probe in hostile.probes},
            memory_mb=(round(before), round(after)),
            with_children_mb=round(proportional_mb(with_children(process.pid))),
            steps=hostile.steps,
            seconds=round(hostile.seconds, 1),
            settled_s=tuple(waits),
            left=await admin.fetchval(ON_THEIR_WAY),
        )
