"""The operator's page beside /metrics: with posts on their way, when work has stopped,
and after a worker was killed.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import httpx
import pytest

from telegram_assistant.assembly import assemble
from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.pipeline import PIPELINE
from telegram_assistant.settings import read_settings
from telegram_assistant.stores.postgres.channels.channels import EVERYTHING_DAYS, Subscription
from telegram_assistant.telegram.vault import make_key
from telegram_assistant.telemetry.scraping import Metrics, RoleAddress, role_status
from telegram_assistant.web.cookies import SESSION
from telegram_simulator.control.client import ControlClient
from testkit.engines import Engine, free_port
from testkit.programs import INGEST, WORKER, kill, program, simulator
from testkit.web_clients import begin_session, load_public_id
from tests.journeys.installation import until

API = ("telegram_assistant", "run", "--roles", "api")
CITY, TECH = 1_500_000_001, 1_500_000_002
PHONE = "79990000001"
COUNTED = {
    "processed": "stage_processed_total",
    "failed": "stage_failed_total",
    "retried": "stage_retried_total",
    "dead_lettered": "stage_dead_lettered_total",
    "lag": "stage_lag_entries",
    "pending": "stage_pending_entries",
}
QUEUES = ("outbox", "backfills", "dead_letters", "parked")
BUSY = ("post_persistence", "indexing")
POSTS = 40
SLACK_SECONDS = 1.0
"""A page and its metrics are asked one after the other."""

pytestmark = pytest.mark.serial

type Figures = dict[str, dict[str, int]]


@dataclass(frozen=True)
class Operator:
    """Sees the page, and the metrics of worker and ingest."""

    client: httpx.AsyncClient
    page: str
    environ: dict[str, str]

    async def look(self) -> str:
        return (await self.client.get(self.page)).text

    async def metrics(self, role: str) -> Metrics:
        port = int(self.environ[f"{role}_PORT"])
        return (await role_status(RoleAddress("127.0.0.1", port, port, ""))).metrics


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = Engine("redis", tmp_path_factory.mktemp("redis"), free_port())
    engine.start()
    yield engine
    engine.kill()


@pytest.fixture(scope="module")
def telegram() -> Iterator[ControlClient]:
    with simulator("tiny") as control:
        yield control


@pytest.fixture
def own(
    migrated_database: dict[str, str], redis: Engine, telegram: ControlClient, tmp_path: Path
) -> dict[str, str]:
    """The environment of an installation of its own."""
    return {
        **migrated_database,
        **{f"{role}_PORT": str(free_port()) for role in ("INGEST", "WORKER", "API")},
        "REDIS_URL": redis.url,
        "HTTP_HOST": "127.0.0.1",
        "FILES_DIR": str(tmp_path / "files"),
        "TELEGRAM_API_ID": "1",
        "TELEGRAM_API_HASH": "any",
        "TELEGRAM_SESSION_STRING": telegram.session(PHONE, joined=[CITY, TECH]),
        "SESSION_ENCRYPTION_KEY": make_key(),
        "PARSER_SCHEDULER_INTERVAL_SEC": "5",
    }


@pytest.fixture
async def operator(own: dict[str, str]) -> AsyncIterator[Operator]:
    """An owner of the operator's tenant, which follows two channels with all their history."""
    async with assemble(read_settings(own)) as app:
        tenant = await app.system.tenants.ensure("default")
        for channel_id, title, username in (
            (CITY, "Городские новости", "gorod_news"),
            (TECH, "Tech Daily", "tech_daily"),
        ):
            await app.system.channels.register(
                Channel(channel_id=ChannelId(channel_id), title=title, username=username)
            )
            await app.system.channels.subscribe(
                tenant.tenant_id, Subscription(channel_id=ChannelId(channel_id), history_days=EVERYTHING_DAYS)
            )
        member = await app.system.users.join(tenant.tenant_id, "operator", role=MemberRole.OWNER)
        token = (await begin_session(app, member.user_id)).token
        page = f"/t/{await load_public_id(app, token, tenant.tenant_id)}/operations/numbers"
    base_url = f"http://127.0.0.1:{own['API_PORT']}"
    async with httpx.AsyncClient(
        base_url=base_url, cookies={SESSION: token}, headers={"Accept-Language": "en"}, timeout=30
    ) as client:
        yield Operator(client, page, own)


async def test_the_operators_numbers_are_those_of_metrics_and_killed_processes_are_said_to_be_away(
    own: dict[str, str], operator: Operator, telegram: ControlClient, tmp_path: Path
) -> None:
    log = tmp_path / "tga.log"
    with (
        program(*API, environ=own, log=log),
        program(*INGEST, environ=own, log=log) as ingest,
        program(*WORKER, environ=own, log=log) as worker,
    ):
        await until(lambda: says_nothing_is_missing(operator), "all roles report themselves", seconds=120)
        await watch_under_load(operator, telegram)
        await until(lambda: has_stopped(own), "nothing is on its way any more", seconds=120)
        await leave_something_waiting(own)
        await until(lambda: agrees(operator), "the page says what /metrics says", seconds=60)
        assert figures_named(await operator.look()) == {
            *COUNTED,
            *QUEUES,
            "posts_landed",
            "dead_letters tagging",
            "age",
        }
        await until(
            lambda: minutes_add_up(own, operator),
            "the stored minutes add up to what the page says",
            seconds=60,
        )
        kill(worker)
        kill(ingest)
        assert (
            await until(
                lambda: says_both_are_missing(operator), "the page says that neither runs", seconds=15
            )
            < 15
        )


async def watch_under_load(operator: Operator, telegram: ControlClient) -> None:
    """The figures of the page are at least those of the moment that it names, and at most those of now."""
    seen: list[tuple[float, dict[str, int]]] = [
        (time.monotonic(), dict.fromkeys((stage.name for stage in PIPELINE), 0))
    ]
    async with asyncio.timeout(180):
        while min(seen[-1][1][stage] for stage in BUSY) < POSTS:
            if len(seen) <= POSTS:
                telegram.post(CITY, f"Новость номер {len(seen)}: на площади открыли фонтан.")
            asked_at, page = time.monotonic(), await operator.look()
            now = count_processed(await operator.metrics("WORKER"))
            at_least = next(
                (
                    counts
                    for at, counts in reversed(seen)
                    if at <= asked_at - stages_age(page) - SLACK_SECONDS
                ),
                seen[0][1],
            )
            for stage, stage_figures in figures(page).items():
                assert at_least[stage] <= stage_figures["processed"] <= now[stage], (stage, stages_age(page))
            seen.append((time.monotonic(), now))


async def says_nothing_is_missing(operator: Operator) -> bool:
    try:
        page = await operator.look()
    except httpx.TransportError:
        return False
    return "data-stage" in page and "No process runs" not in page


async def says_both_are_missing(operator: Operator) -> bool:
    page = await operator.look()
    return (
        "No process runs the role worker." in page
        and "No process runs the role ingest." in page
        and page.count(">missing</span>") == 2
    )


async def has_stopped(environ: dict[str, str]) -> bool:
    return not await ask(
        environ,
        "SELECT EXISTS (SELECT 1 FROM outbox) OR EXISTS (SELECT 1 FROM notices WHERE announced_at IS NULL)",
    )


async def leave_something_waiting(environ: dict[str, str]) -> None:
    """A dead letter and a parked channel, which nothing of this journey would leave."""
    columns = "(stage, stream, entry_id, payload, reason, attempts)"
    await ask(
        environ,
        f"INSERT INTO dead_letters {columns} VALUES ('tagging', 'stream:posts:parsed', '1-0', '', 'it "
        "fell', 3)",
    )
    parked = "VALUES (1, 'Parked', 'it fell', now() + interval '1 hour')"
    await ask(environ, f"INSERT INTO channels (channel_id, title, parked_reason, parked_until) {parked}")


async def agrees(operator: Operator) -> bool:
    """Every number of the page beside the metric that counts the same."""
    page, worker, ingest = (
        await operator.look(),
        await operator.metrics("WORKER"),
        await operator.metrics("INGEST"),
    )
    expected = {
        stage.name: {
            figure: int(worker.total(metric, stage=stage.name) or 0) for figure, metric in COUNTED.items()
        }
        for stage in PIPELINE
    }
    waiting = {queue: int(worker.total("backlog_entries", queue=queue) or 0) for queue in QUEUES}
    dead = int(worker.total("backlog_entries", queue="dead_letters", kind="tagging") or 0)
    landed = int(ingest.total("posts_landed_total") or 0)
    page_figures = (
        figures(page),
        {queue: figure(page, queue) for queue in QUEUES},
        figure(page, "dead_letters tagging"),
        figure(page, "posts_landed"),
    )
    return waiting["dead_letters"] == waiting["parked"] == 1 and page_figures == (
        expected,
        waiting,
        dead,
        landed,
    )


async def minutes_add_up(own: dict[str, str], operator: Operator) -> bool:
    """The worker stores them a little later than it reports itself."""
    return await load_minutes(own) == {
        name: stage_figures["processed"]
        for name, stage_figures in figures(await operator.look()).items()
        if stage_figures["processed"]
    }


async def load_minutes(environ: dict[str, str]) -> dict[str, int]:
    connection = await asyncpg.connect(environ["DATABASE_ADMIN_URL"])
    try:
        rows = await connection.fetch(
            "SELECT stage, sum(processed)::bigint FROM stage_minutes GROUP BY stage HAVING sum(processed) > 0"
        )
    finally:
        await connection.close()
    return {row[0]: row[1] for row in rows}


async def ask(environ: dict[str, str], query: str) -> object:
    connection = await asyncpg.connect(environ["DATABASE_ADMIN_URL"])
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


def count_processed(metrics: Metrics) -> dict[str, int]:
    return {
        stage.name: int(metrics.total("stage_processed_total", stage=stage.name) or 0) for stage in PIPELINE
    }


def figures(page: str) -> Figures:
    """The numbers of every stage on the page."""
    stages = re.findall(r'<li data-stage="(\w+)">(.*?)</li>', page, re.DOTALL)
    return {
        stage: {name: int(value) for name, value in re.findall(r'data-figure="(\w+)" value="(\d+)"', row)}
        for stage, row in stages
    }


def figure(page: str, name: str) -> int:
    match = re.search(rf'data-figure="{name}" value="(\d+)"', page)
    return int(match[1]) if match else 0


def figures_named(page: str) -> set[str]:
    return set(re.findall(r'data-figure="([^"]+)"', page))


def stages_age(page: str) -> float:
    match = re.search(r'data-figure="age" value="([\d.]+)"', page.partition('id="h-stages"')[2])
    assert match is not None
    return float(match[1])
