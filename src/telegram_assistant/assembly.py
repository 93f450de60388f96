"""Builds everything: Settings in, App out. It is long because nothing is built elsewhere."""

import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, fields
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from telegram_assistant.ai.gate import WAIT_SECONDS, Gate
from telegram_assistant.ai.local.understanding import LocalModels
from telegram_assistant.ai.local.vocabulary import packaged_vocabulary
from telegram_assistant.ai.paid_call import ProviderCaller
from telegram_assistant.ai.picture_readers import PictureReaders
from telegram_assistant.ai.prices import read_prices
from telegram_assistant.ai.protocols import Embeddings
from telegram_assistant.ai.provider_chain import ProviderChain
from telegram_assistant.ai.providers import ConfiguredProvider, open_own_embeddings, open_sources
from telegram_assistant.ai.single_flight import SingleFlight
from telegram_assistant.ai.tenant_questions import RecentResults, TenantQuestions
from telegram_assistant.ai.vectors import VectorMaker
from telegram_assistant.crawling.fetching import PageFetcher
from telegram_assistant.crawling.page_reader import PageReader
from telegram_assistant.crawling.readers import Readers
from telegram_assistant.crawling.rendering import Renderer
from telegram_assistant.crawling.robots import Robots
from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.domain.media.files import MediaRules
from telegram_assistant.domain.understanding.crawling import CrawlRules
from telegram_assistant.domain.understanding.policy import ModelTask, Urgency
from telegram_assistant.errors import CannotStart
from telegram_assistant.fair_queue import WorkQueues, make_queues
from telegram_assistant.features.channels.coverage import Completeness
from telegram_assistant.features.media.thumbnails import Thumbnails
from telegram_assistant.features.receivers.sending import Sender
from telegram_assistant.features.stories.keyword_trends import ExplainedTrend
from telegram_assistant.features.stories.today import EVENTS_KEPT_FOR, Meanwhile
from telegram_assistant.features.understanding.recent import Recent
from telegram_assistant.graph.index import GraphIndex
from telegram_assistant.graph.opening import name_of, open_graph
from telegram_assistant.graph.store import Graph
from telegram_assistant.outbound.guard import Guard, outbound_guard
from telegram_assistant.outbound.mail import Mailer
from telegram_assistant.outbound.webhooks import WebhookClient
from telegram_assistant.reasons import Reason
from telegram_assistant.sealing import Sealer
from telegram_assistant.settings import (
    CrawlSettings,
    DatabaseLogin,
    DatabaseSettings,
    FilesSettings,
    Settings,
)
from telegram_assistant.stores.files import Files, open_files
from telegram_assistant.stores.postgres.database import Pool, open_pool
from telegram_assistant.stores.postgres.database_logins import ROLES_OF, TENANT
from telegram_assistant.stores.postgres.pipeline.wakeup import open_wakeup
from telegram_assistant.stores.postgres.schema import require_schema
from telegram_assistant.stores.postgres.stores import (
    ApiStores,
    IngestStores,
    PersonStores,
    SystemStores,
    TenantStores,
    api_stores,
    ingest_stores,
    person_stores,
    system_stores,
    tenant_stores,
)
from telegram_assistant.stores.postgres.understanding.tag_use import TagCount
from telegram_assistant.stores.redis.ai_streams import AiStreams
from telegram_assistant.stores.redis.ai_token import AiToken
from telegram_assistant.stores.redis.album_states import AlbumStates
from telegram_assistant.stores.redis.client import Redis, open_redis
from telegram_assistant.stores.redis.feed_versions import FeedVersions
from telegram_assistant.stores.redis.limiter import Limiter
from telegram_assistant.stores.redis.marks import Marks
from telegram_assistant.stores.redis.pacing import Pacing
from telegram_assistant.stores.redis.rate_limits import RateLimits
from telegram_assistant.telemetry.health import Probe
from telegram_assistant.telemetry.tracing import start_tracing
from telegram_assistant.understanding.post_pictures import PictureAnalyzer
from telegram_assistant.understanding.post_tags import Tagger
from telegram_assistant.understanding.stories import StoryBuilder
from telegram_assistant.vectors.index import MeaningSearch, VectorIndex
from telegram_assistant.vectors.opening import open_search, open_searchable, open_vectors
from telegram_assistant.vectors.protocol import Searchable


@dataclass(frozen=True, slots=True)
class ApiApp:
    """The settings, stores and services that answer requests. No part of it can act as tga_system."""

    settings: Settings
    instance: str
    """`HOSTNAME#xxxx`, different for every start. The value of locks and the name of consumers."""
    tenant: Callable[[TenantId], TenantStores]
    tenant_of_actor: Callable[[TenantId, UserId | None], TenantStores]
    """The same for the request of a person, or of a program of theirs."""
    person: Callable[[TenantId, UserId], PersonStores]
    api: ApiStores
    redis: Redis
    questions: TenantQuestions
    meaning_search: MeaningSearch | None
    """None if vectors are off, or this process does not use them."""
    graph: Graph | None
    """None if the graph is off, or this process does not use it."""
    files: Files | None
    """None if no store for media is configured; then no media are stored."""
    limiter: Limiter
    """Counts requests and logins against their limits."""
    picture_readers: PictureReaders
    thumbnails: Thumbnails | None
    """None without a store for media."""
    recent_tags: Recent[tuple[TagCount, ...]]
    recent_trends: Recent[tuple[ExplainedTrend, ...]]
    recent_events: Recent[Meanwhile]
    recent_checks: Recent[datetime | None]
    recent_completeness: Recent[Completeness]
    webhook_guard: Guard
    """Decides where webhooks may go."""
    feed_versions: FeedVersions
    sealer: Sealer
    """Seals with SECRET_KEY what leaves for the database or for an address."""
    queues: WorkQueues
    probes: Mapping[str, Probe]


@dataclass(frozen=True, slots=True)
class App(ApiApp):
    """Everything a role needs, built once per process."""

    system: SystemStores
    ingest: IngestStores | None
    """None if this process does not use accounts."""
    marks: Marks
    """Marks of channels in Redis, for operators."""
    media_rules: MediaRules
    gate: Gate
    """Every call to a model goes through it."""
    tagger: Tagger
    picture_analyzer: PictureAnalyzer
    index: VectorIndex | None
    graph_index: GraphIndex | None
    sender: Sender
    """Delivers alerts and digests."""
    story_builder: StoryBuilder
    album_states: AlbumStates
    page_reader: PageReader
    crawl_rules: CrawlRules

    @property
    def collaborators(self) -> Mapping[str, object]:
        """Everything that stages may request by name: system stores, and the fields that requests
        do not have. Accounts are not among them.
        """
        own_names = (
            {field.name for field in fields(self)} - {field.name for field in fields(ApiApp)} - {"ingest"}
        )
        return _values_of(self.system) | {name: getattr(self, name) for name in own_names}


@dataclass(frozen=True, slots=True)
class Models:
    """Providers and local models.

    The local models are large, so there is one of each per process, shared by all callers.
    """

    sources: Sequence[ConfiguredProvider]
    local: LocalModels
    embeddings: Embeddings
    """Computes vectors with `local_model`: here, or on a server of the operator."""
    local_model: str | None
    """None if a provider computes vectors."""


@dataclass(frozen=True, slots=True)
class _ServerClients:
    """Connections that are opened once per process."""

    instance: str
    pools: Mapping[DatabaseLogin, Pool]
    redis: Redis
    models: Models
    graph: Graph | None


@asynccontextmanager
async def assemble_api(settings: Settings) -> AsyncIterator[ApiApp]:
    """Connect what requests need, with the login of requests only. Otherwise like `assemble`."""
    async with AsyncExitStack() as stack:
        clients = await _connect(stack, settings, [DatabaseLogin.API])
        searchable = await stack.enter_async_context(open_search(settings.vectors))
        yield await _api_app(stack, settings, clients, searchable)


@asynccontextmanager
async def assemble(
    settings: Settings,
    *,
    with_vectors: bool = False,
    with_accounts: bool = False,
    with_graph: bool = True,
    needs_redis: bool = True,
    guard: Guard | None = None,
) -> AsyncIterator[App]:
    """Connect everything that is needed, or raise CannotStart. Disconnects at the end.

    One process at a time can use embedded vectors, so they are opened only on request. Only ingest may read
    sessions. The graph's library takes half a second to load. `guard` is for tests that simulate the web.
    """
    logins = [DatabaseLogin.API, DatabaseLogin.SYSTEM, *([DatabaseLogin.INGEST] if with_accounts else [])]
    async with AsyncExitStack() as stack:
        clients = await _connect(stack, settings, logins, needs_redis=needs_redis, with_graph=with_graph)
        vectors = await stack.enter_async_context(open_vectors(settings.vectors)) if with_vectors else None
        api_app = await _api_app(stack, settings, clients, vectors)
        wakeup = await stack.enter_async_context(open_wakeup(settings.database))
        system = system_stores(clients.pools[DatabaseLogin.SYSTEM], wakeup)
        await system.vocabularies.seed(packaged_vocabulary())
        files = api_app.files
        rules = MediaRules(
            has_place=files is not None,
            max_bytes=settings.files.max_bytes,
            quota_bytes=settings.files.quota_bytes,
        )
        story_builder = StoryBuilder(system.story_sources, system.post_terms, system.story_groups)
        readers = Readers()
        stack.push_async_callback(readers.close)
        page_reader = await stack.enter_async_context(
            open_page_reader(settings.crawl, api_app.redis, guard=guard or Guard(), readers=readers)
        )
        webhooks = WebhookClient(guard or api_app.webhook_guard)
        stack.push_async_callback(webhooks.close)
        gate = await stack.enter_async_context(
            open_gate(clients.models, settings, system=system, redis=api_app.redis)
        )
        tagger = Tagger(gate, system.enrichments, system.vocabularies)
        picture_analyzer = PictureAnalyzer(
            system.ai_policies, system.enrichments, system.media_results, files, api_app.picture_readers, gate
        )
        index = None if vectors is None else VectorIndex(vectors, gate=gate, states=system.post_states)
        graph_index = None if api_app.graph is None else GraphIndex(api_app.graph, states=system.post_states)
        yield App(
            **_values_of(api_app)
            | {
                "webhook_guard": guard or api_app.webhook_guard,
                "probes": {**api_app.probes, "postgres": system.tenants.answers},
            },
            system=system,
            ingest=ingest_stores(clients.pools[DatabaseLogin.INGEST]) if with_accounts else None,
            marks=Marks(api_app.redis),
            media_rules=rules,
            gate=gate,
            tagger=tagger,
            picture_analyzer=picture_analyzer,
            index=index,
            graph_index=graph_index,
            sender=Sender(
                deliveries=system.deliveries,
                tenant=api_app.tenant_of_actor,
                person=api_app.person,
                webhooks=webhooks,
                mailer=Mailer(settings.mail, settings.pages_url),
                sealer=api_app.sealer,
                owner=api_app.instance,
                per_hour=settings.delivery.per_hour,
            ),
            story_builder=story_builder,
            album_states=AlbumStates(api_app.redis),
            page_reader=page_reader,
            crawl_rules=crawl_rules(settings.crawl),
        )


def _values_of(instance: ApiApp | SystemStores) -> dict[str, Any]:
    return {field.name: getattr(instance, field.name) for field in fields(instance)}


async def _connect(
    stack: AsyncExitStack,
    settings: Settings,
    logins: Sequence[DatabaseLogin],
    *,
    needs_redis: bool = True,
    with_graph: bool = True,
) -> _ServerClients:
    instance = f"{settings.process.instance_name}#{secrets.token_hex(2)}"
    tracing = start_tracing(settings.telemetry, instance=instance)
    if tracing is not None:
        stack.callback(tracing.shutdown)
    pools = await _open_pools(stack, settings.database, logins)
    redis = await stack.enter_async_context(open_redis(settings.redis, must_answer=needs_redis))
    models = await stack.enter_async_context(open_models(settings, redis=redis))
    name = name_of(urlsplit(settings.database.url.get_secret_value()).path)
    graph = await stack.enter_async_context(open_graph(settings.graph, name=name)) if with_graph else None
    return _ServerClients(instance, pools, redis, models, graph)


async def _open_pools(
    stack: AsyncExitStack, settings: DatabaseSettings, logins: Sequence[DatabaseLogin]
) -> Mapping[DatabaseLogin, Pool]:
    """Open a pool for each login. Logins with the same URL share one."""
    by_url: dict[str, Pool] = {}
    pools: dict[DatabaseLogin, Pool] = {}
    for login in logins:
        url = settings.url_of(login).get_secret_value()
        if url not in by_url:
            by_url[url] = await stack.enter_async_context(open_pool(settings, login))
        pools[login] = by_url[url]
        for role in sorted(ROLES_OF[login] - {TENANT}):
            await require_schema(pools[login], role=role)
    return pools


async def _api_app(
    stack: AsyncExitStack, settings: Settings, clients: _ServerClients, searchable: Searchable | None
) -> ApiApp:
    pool, redis = clients.pools[DatabaseLogin.API], clients.redis
    api, tenant = api_stores(pool), partial(tenant_stores, pool)
    questions = await stack.enter_async_context(
        open_questions(clients.models, settings, api=api, tenant=tenant, redis=redis)
    )
    files, picture_readers = _open_files(settings.files), PictureReaders()
    stack.push_async_callback(picture_readers.close)
    thumbnails = None if files is None else Thumbnails(files, picture_readers)
    if thumbnails is not None:
        stack.push_async_callback(thumbnails.close)
    return ApiApp(
        settings=settings,
        instance=clients.instance,
        tenant=tenant,
        tenant_of_actor=tenant,
        person=partial(person_stores, pool),
        api=api,
        redis=redis,
        questions=questions,
        meaning_search=None if searchable is None else MeaningSearch(searchable, questions=questions),
        graph=clients.graph,
        files=files,
        limiter=Limiter(RateLimits(redis)),
        picture_readers=picture_readers,
        thumbnails=thumbnails,
        recent_tags=Recent(),
        recent_trends=Recent(),
        recent_events=Recent(kept_for=EVENTS_KEPT_FOR),
        recent_checks=Recent(),
        recent_completeness=Recent(),
        webhook_guard=outbound_guard(settings),
        feed_versions=FeedVersions(redis),
        sealer=Sealer(settings.web.secret_key.get_secret_value()),
        queues=make_queues(settings.http.max_expensive_per_tenant),
        probes={"postgres": api.key_directory.answers, "redis": redis.ping},
    )


def _open_files(settings: FilesSettings) -> Files | None:
    try:
        return open_files(settings)
    except ValueError as error:
        raise CannotStart(
            Reason("file_store_unusable", "the store for files cannot be used: {error}", error=str(error)),
            remedy=Reason(
                "correct_file_store", "Correct S3_ENDPOINT or FILES_DIR; `tga doctor` shows details"
            ),
        ) from error


def crawl_rules(settings: CrawlSettings) -> CrawlRules:
    """Returns the crawl rules that the settings define."""
    return CrawlRules(
        enabled=settings.enabled,
        allow=frozenset(settings.allow),
        deny=frozenset(settings.deny),
        max_links=settings.max_links,
    )


@asynccontextmanager
async def open_page_reader(
    settings: CrawlSettings, redis: Redis, *, guard: Guard, readers: Readers
) -> AsyncIterator[PageReader]:
    """Open the reader of linked pages. It starts no process before the first page."""
    fetcher = PageFetcher(guard, max_bytes=settings.max_bytes)
    robots = Robots(fetcher)
    render = (
        Renderer(settings.crawler_address, guard=guard, max_bytes=settings.max_bytes).render
        if settings.crawler_address
        else None
    )
    try:
        yield PageReader(
            fetcher=fetcher,
            robots=robots,
            readers=readers,
            turn=Pacing(redis).turn,
            render=render,
            every_seconds=settings.every_seconds,
            max_seconds=settings.max_seconds,
        )
    finally:
        await robots.close()
        await fetcher.close()


@asynccontextmanager
async def open_models(settings: Settings, *, redis: Redis) -> AsyncIterator[Models]:
    """Open the configured providers and the local models. Loads no model before the first text."""
    token = AiToken(
        redis,
        credentials=settings.gigachat.credentials.get_secret_value(),
        scope=settings.gigachat.scope.value,
    )
    local = LocalModels(models=settings.ai.models)
    async with open_sources(settings, token=token) as sources, open_own_embeddings(settings) as own:
        yield Models(sources, local, own or local, settings.local_vectors_model)


@asynccontextmanager
async def open_embeddings(settings: Settings) -> AsyncIterator[Embeddings]:
    """Open what makes vectors without a provider: a model on this machine, or a server of the operator."""
    async with open_own_embeddings(settings) as own:
        yield own or LocalModels(models=settings.ai.models)


@asynccontextmanager
async def open_gate(
    models: Models,
    settings: Settings,
    *,
    system: SystemStores,
    redis: Redis,
    wait_seconds: Mapping[Urgency, float] = WAIT_SECONDS,
) -> AsyncIterator[Gate]:
    """Open the gate in front of these models. At the end, cancels what was not sent."""
    gate = Gate(
        models.sources,
        local=models.local,
        embeddings=models.embeddings,
        local_model=models.local_model,
        caller=ProviderCaller(
            ledger=system.spending, streams=AiStreams(redis), prices=read_prices(settings.ai.prices)
        ),
        policies=system.ai_policies,
        results=system.ai_results,
        later=system.provider_wanted,
        copies=system.near_texts,
        wait_seconds=wait_seconds,
    )
    try:
        yield gate
    finally:
        await gate.close()


@asynccontextmanager
async def open_questions(
    models: Models,
    settings: Settings,
    *,
    api: ApiStores,
    tenant: Callable[[TenantId], TenantStores],
    redis: Redis,
) -> AsyncIterator[TenantQuestions]:
    """Open tenants' questions to the same models. At the end, cancels what was not sent."""
    prices, results = read_prices(settings.ai.prices), RecentResults()
    caller = ProviderCaller(ledger=api.questions, streams=AiStreams(redis), prices=prices)
    flights = SingleFlight(caller)
    chain = ProviderChain(
        models.sources, caller=caller, flights=flights, results=results, wait_seconds=WAIT_SECONDS
    )
    maker = VectorMaker(
        next((source for source in models.sources if ModelTask.EMBEDDINGS in source.models), None),
        local=models.embeddings,
        local_model=models.local_model,
        caller=caller,
        flights=flights,
        results=results,
        wait_seconds=WAIT_SECONDS,
    )

    async def has_consented(tenant_id: TenantId) -> bool:
        return (await tenant(tenant_id).ai.stance()).consent is not None

    try:
        yield TenantQuestions(
            models.sources, maker=maker, chain=chain, prices=prices, has_consented=has_consented
        )
    finally:
        await flights.close()


@asynccontextmanager
async def open_meaning_search(
    settings: Settings, *, questions: TenantQuestions
) -> AsyncIterator[MeaningSearch | None]:
    """Open semantic search for a process that writes no vectors. None if vectors are off."""
    async with open_searchable(settings.vectors) as searchable:
        yield None if searchable is None else MeaningSearch(searchable, questions=questions)
