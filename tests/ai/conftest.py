"""A gate on real stores in front of a server that speaks the providers' protocols."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from redis.asyncio import Redis

from telegram_assistant.ai.clients import gigachat, openai_compatible
from telegram_assistant.ai.gate import Gate
from telegram_assistant.ai.gate_results import Material, Understood
from telegram_assistant.ai.outputs import Tags
from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import ChannelId, PostId, TenantId
from telegram_assistant.domain.understanding.policy import AiPolicy, Urgency
from telegram_assistant.domain.understanding.vocabulary import Vocabulary
from telegram_assistant.settings import read_settings
from telegram_assistant.stores.postgres.channels.channels import Subscription
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import make_channel, make_tenant
from testkit.models import package_models
from testkit.provider_server import FakeServer, fake_server

PLENTY = 1_000_000_000

LOADED = (gigachat, openai_compatible)
"""Their libraries take seconds to load, which no test about time should wait for."""

TAGS = {
    "экономика": "economy",
    "спорт": "sports",
    "политика": "politics",
    "sport": "sports",
    "economy": "economy",
}
VOCABULARY = Vocabulary({"ru": TAGS, "en": TAGS})

type Opened = Callable[..., AbstractAsyncContextManager[App]]


async def ask_tags(
    gate: Gate,
    text: str,
    *,
    channel_id: ChannelId,
    urgency: Urgency = Urgency.LIVE,
    post_id: PostId | None = None,
) -> Understood[Tags]:
    """Of one post."""
    (understood,) = await gate.tags(
        [Material(text, channel_id, post_id)], vocabulary=VOCABULARY, urgency=urgency
    )
    return understood


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    async with fake_server() as fake:
        yield fake


@pytest.fixture
async def redis(database: dict[str, str]) -> AsyncIterator[Redis]:
    client = Redis.from_url(database["REDIS_URL"])
    await client.flushdb()
    yield client
    await client.aclose()


@pytest.fixture
def open_program(database: dict[str, str], redis: Redis) -> Opened:
    """The program with these variables."""
    assert redis is not None  # it is empty now

    @asynccontextmanager
    async def open_app(**variables: str) -> AsyncIterator[App]:
        async with assemble(read_settings({**database, **variables})) as app:
            yield app

    return open_app


@pytest.fixture
async def app(open_program: Opened, server: FakeServer, prices: Path) -> AsyncIterator[App]:
    async with open_program(**server.gigachat(AI_PRICES_FILE=str(prices), GIGACHAT_STREAMS="10")) as built:
        yield built


@pytest.fixture
def gate(app: App) -> Gate:
    return app.gate


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    """Only what comes out costs: one unit for a million tokens, so one micro-unit for a token."""
    file = tmp_path / "prices.toml"
    file.write_text(
        'as_of = 2026-11-01\nunit = "RUB"\n[gigachat."*"]\nreceived = 1\n[openai."*"]\nreceived = 1\n',
        encoding="utf-8",
    )
    return file


@pytest.fixture(scope="session")
def minilm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models with one in it."""
    return package_models(tmp_path_factory.mktemp("models"))


def fresh_text(about: str = "Экономика страны выросла на три процента") -> str:
    """A post that nobody has asked about before."""
    return f"{about} {uuid4()}"


async def make_payer(
    system: SystemStores, *, micro: int = PLENTY, tokens: int | None = None, consents: bool = True
) -> TenantId:
    tenant_id = await make_tenant(system)
    await system.spending.set_budget(tenant_id, micro=micro, tokens=tokens)
    if consents:
        await system.ai_policies.consent(tenant_id, given_by="owner")
    return tenant_id


async def make_followed(system: SystemStores, *followers: tuple[TenantId, AiPolicy]) -> ChannelId:
    channel_id = await make_channel(system)
    for tenant_id, policy in followers:
        await system.channels.subscribe(tenant_id, Subscription(channel_id=channel_id, ai_policy=policy))
    return channel_id


async def make_paid_channel(
    system: SystemStores, *, micro: int = PLENTY, tokens: int | None = None
) -> tuple[ChannelId, TenantId]:
    tenant_id = await make_payer(system, micro=micro, tokens=tokens)
    return await make_followed(system, (tenant_id, AiPolicy.PROVIDER)), tenant_id
