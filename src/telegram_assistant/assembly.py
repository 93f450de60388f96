"""The only place that builds things: Settings in, App out. It is long because it is the only one."""

import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

from telegram_assistant.ai.gate import WAIT_SECONDS, Gate
from telegram_assistant.ai.local.understanding import LocalModels
from telegram_assistant.ai.local.vocabulary import packaged_vocabulary
from telegram_assistant.ai.paid_call import ProviderCaller
from telegram_assistant.ai.picture_readers import PictureReaders
from telegram_assistant.ai.prices import read_prices
from telegram_assistant.ai.providers import ConfiguredProvider, open_sources
from telegram_assistant.ai.single_flight import SingleFlight
from telegram_assistant.ai.tenant_questions import RecentResults, TenantQuestions
from telegram_assistant.ai.vectors import VectorMaker
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.media.files import MediaRules
from telegram_assistant.domain.understanding.crawling import CrawlRules
from telegram_assistant.domain.understanding.policy import ModelTask, Urgency
from telegram_assistant.errors import CannotStart
from telegram_assistant.graph.index import GraphIndex
from telegram_assistant.graph.opening import name_of, opened_graph
from telegram_assistant.graph.store import Graph
from telegram_assistant.pages.fetching import PageFetcher
from telegram_assistant.pages.guard import Guard
from telegram_assistant.pages.page_reader import PageReader
from telegram_assistant.pages.readers import Readers
from telegram_assistant.pages.rendering import Renderer
from telegram_assistant.pages.robots import Robots
from telegram_assistant.settings import CrawlSettings, DatabaseLogin, DatabaseSettings, EmbeddingSource, FilesSettings, Settings
from telegram_assistant.stores.files import Files, open_files
from telegram_assistant.stores.postgres.database import Pool, open_pool
from telegram_assistant.stores.postgres.database_logins import ROLES_OF, TENANT
from telegram_assistant.stores.postgres.delivery.wakeup import hung_bell
from telegram_assistant.stores.postgres.schema import require_schema
from telegram_assistant.stores.postgres.stores import (
    ApiStores,
    IngestStores,
    SystemStores,
    TenantStores,
    api_stores,
    ingest_stores,
    system_stores,
    tenant_stores,
)
from telegram_assistant.stores.redis.ai_streams import AiStreams
from telegram_assistant.stores.redis.ai_token import AiToken
from telegram_assistant.stores.redis.album_states import AlbumStates
from telegram_assistant.stores.redis.client import Redis, open_redis
from telegram_assistant.stores.redis.pacing import Pacing
from telegram_assistant.telemetry.health import Probe
from telegram_assistant.telemetry.tracing import start_tracing
from telegram_assistant.understanding.post_pictures import PictureAnalyzer
from telegram_assistant.understanding.post_tags import Tagger
from telegram_assistant.vectors.index import MeaningSearch, VectorIndex
from telegram_assistant.vectors.opening import open_searchable, open_vectors
from telegram_assistant.vectors.protocol import Searchable


@dataclass(frozen=True, slots=True)
class ApiApp:
    """What requests are answered with. Nothing of it can act as tga_system."""

    settings: Settings
    instance: str
    """`HOSTNAME#xxxx`, different for every start: the value of locks and the name of consumers."""
    tenant: Callable[[TenantId], TenantStores]
    api: ApiStores
    redis: Redis
    questions: TenantQuestions
    meaning_search: MeaningSearch | None
    """None: vectors are off, or nobody said that this process uses them."""
    graph: Graph | None
    """None: the graph is off."""
    probes: Mapping[str, Probe]


@dataclass(frozen=True, slots=True)
class App(ApiApp):
    """Everything a role needs, built once per process."""

    system: SystemStores
    ingest: IngestStores | None
    """None: nobody said that this process uses accounts."""
    files: Files | None
    """None: no place for media is set, and none are kept."""
    media_rules: MediaRules
    gate: Gate
    """In front of every call to a model."""
    tagger: Tagger
    looker: PictureAnalyzer
    index: VectorIndex | None
    graph_index: GraphIndex | None
    collaborators: Mapping[str, object]
    """What stages may ask for, by name."""


@dataclass(frozen=True, slots=True)
class Models:
    """Providers and what is understood on this machine. Large, so one per process, behind whatever asks them."""

    sources: Sequence[ConfiguredProvider]
    local: LocalModels
    local_model: str | None
    """It makes the vectors; None when a provider does."""


@dataclass(frozen=True, slots=True)
class _Clients:
    """What is connected once per process."""

    instance: str
    pools: Mapping[DatabaseLogin, Pool]
    redis: Redis
    models: Models
    graph: Graph | None


@asynccontextmanager
async def assemble_api(settings: Settings) -> AsyncIterator[ApiApp]:
    """Connect to what requests need, with the login of requests alone; otherwise as `assemble`."""
    async with AsyncExitStack() as stack:
        clients = await _connect(stack, settings, [DatabaseLogin.API])
        searchable = await stack.enter_async_context(open_searchable(settings.vectors))
        yield await _api_app(stack, settings, clients, searchable)


@asynccontextmanager
async def assemble(
    settings: Settings, *, with_vectors: bool = False, with_accounts: bool = False, needs_redis: bool = True, guard: Guard | None = None
) -> AsyncIterator[App]:
    """Connect to everything that is needed, or raise CannotStart; disconnect at the end.

    Embedded vectors can be used by one process at a time, so only who says so opens them. Sessions are open to ingest only. `guard`: for
    tests that play the web.
    """
    logins = [DatabaseLogin.API, DatabaseLogin.SYSTEM, *([DatabaseLogin.INGEST] if with_accounts else [])]
    async with AsyncExitStack() as stack:
        clients = await _connect(stack, settings, logins, needs_redis=needs_redis)
        vectors = await stack.enter_async_context(open_vectors(settings.vectors)) if with_vectors else None
        front = await _api_app(stack, settings, clients, vectors)
        bell = await stack.enter_async_context(hung_bell(settings.database))
        system = system_stores(clients.pools[DatabaseLogin.SYSTEM], bell)
        await system.vocabularies.seed(packaged_vocabulary())
        files, rules = _files(settings.files)
        readers = Readers()
        stack.push_async_callback(readers.close)
        guard = guard or Guard()
        page_reader = await stack.enter_async_context(open_page_reader(settings.crawl, front.redis, guard=guard, readers=readers))
        picture_readers = PictureReaders()
        stack.push_async_callback(picture_readers.close)
        gate = await stack.enter_async_context(open_gate(clients.models, settings, system=system, redis=front.redis))
        tagger = Tagger(gate, system.enrichments, system.vocabularies)
        looker = PictureAnalyzer(system.ai_policies, system.enrichments, system.media_results, files, picture_readers, gate)
        index = None if vectors is None else VectorIndex(vectors, gate=gate, states=system.post_states)
        graph_index = None if front.graph is None else GraphIndex(front.graph, states=system.post_states)
        yield App(
            settings=settings,
            instance=front.instance,
            tenant=front.tenant,
            api=front.api,
            redis=front.redis,
            questions=front.questions,
            meaning_search=front.meaning_search,
            graph=front.graph,
            probes={**front.probes, "postgres": system.tenants.answers},
            system=system,
            ingest=ingest_stores(clients.pools[DatabaseLogin.INGEST]) if with_accounts else None,
            files=files,
            media_rules=rules,
            gate=gate,
            tagger=tagger,
            looker=looker,
            index=index,
            graph_index=graph_index,
            collaborators={
                "posts": system.posts,
                "versions": system.versions,
                "media": system.media,
                "media_rules": rules,
                "albums": system.albums,
                "album_summaries": system.album_summaries,
                "album_states": AlbumStates(front.redis),
                "pages": system.pages,
                "page_reader": page_reader,
                "crawl_rules": crawl_rules(settings.crawl),
                "ai_policies": system.ai_policies,
                "enrichments": system.enrichments,
                "vocabularies": system.vocabularies,
                "tagger": tagger,
                "looker": looker,
                "post_states": system.post_states,
                "index": index,
                "graph_index": graph_index,
                "rebuilds": system.rebuilds,
            },
        )


async def _connect(stack: AsyncExitStack, settings: Settings, logins: Sequence[DatabaseLogin], *, needs_redis: bool = True) -> _Clients:
    instance = f"{settings.process.instance_name}#{secrets.token_hex(2)}"
    tracing = start_tracing(settings.telemetry, instance=instance)
    if tracing is not None:
        stack.callback(tracing.shutdown)
    pools = await _open_pools(stack, settings.database, logins)
    redis = await stack.enter_async_context(open_redis(settings.redis, must_answer=needs_redis))
    models = await stack.enter_async_context(open_models(settings, redis=redis))
    name = name_of(urlsplit(settings.database.url.get_secret_value()).path)
    graph = await stack.enter_async_context(opened_graph(settings.graph, name=name))
    return _Clients(instance, pools, redis, models, graph)


async def _open_pools(stack: AsyncExitStack, settings: DatabaseSettings, logins: Sequence[DatabaseLogin]) -> Mapping[DatabaseLogin, Pool]:
    """Logins with the same address share a pool."""
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


async def _api_app(stack: AsyncExitStack, settings: Settings, clients: _Clients, searchable: Searchable | None) -> ApiApp:
    pool, redis = clients.pools[DatabaseLogin.API], clients.redis
    api, tenant = api_stores(pool), partial(tenant_stores, pool)
    questions = await stack.enter_async_context(open_questions(clients.models, settings, api=api, tenant=tenant, redis=redis))
    return ApiApp(
        settings=settings,
        instance=clients.instance,
        tenant=tenant,
        api=api,
        redis=redis,
        questions=questions,
        meaning_search=None if searchable is None else MeaningSearch(searchable, questions=questions),
        graph=clients.graph,
        probes={"postgres": api.key_directory.answers, "redis": redis.ping},
    )


def _files(settings: FilesSettings) -> tuple[Files | None, MediaRules]:
    try:
        files = open_files(settings)
    except ValueError as error:
        raise CannotStart(f"the store for files cannot be used: {error}", remedy="Correct it; `tga doctor` says more") from error
    return files, MediaRules(has_place=files is not None, max_bytes=settings.max_bytes, quota_bytes=settings.quota_bytes)


def crawl_rules(settings: CrawlSettings) -> CrawlRules:
    """What the installation has chosen, as the stage asks for it."""
    allow, deny = (frozenset(site for site in sites.split(",") if site) for sites in (settings.allow, settings.deny))
    return CrawlRules(enabled=settings.enabled, allow=allow, deny=deny, max_links=settings.max_links)


@asynccontextmanager
async def open_page_reader(settings: CrawlSettings, redis: Redis, *, guard: Guard, readers: Readers) -> AsyncIterator[PageReader]:
    """What reads linked pages; it begins nothing before the first page."""
    fetcher = PageFetcher(guard, max_bytes=settings.max_bytes)
    robots = Robots(fetcher)
    render = Renderer(settings.crawler_address, guard=guard, max_bytes=settings.max_bytes).render if settings.crawler_address else None
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
    """The providers that are set, and the local understanding; it loads nothing before the first text."""
    token = AiToken(redis, credentials=settings.gigachat.credentials.get_secret_value(), scope=settings.gigachat.scope.value)
    async with open_sources(settings, token=token) as sources:
        model = settings.ai.embeddings_model_in_force if settings.ai.embeddings is EmbeddingSource.LOCAL else None
        yield Models(sources, LocalModels(models=settings.ai.models), model)


@asynccontextmanager
async def open_gate(
    models: Models, settings: Settings, *, system: SystemStores, redis: Redis, wait_seconds: Mapping[Urgency, float] = WAIT_SECONDS
) -> AsyncIterator[Gate]:
    """The gate before these models; at its end, what was not sent is called off."""
    gate = Gate(
        models.sources,
        local=models.local,
        local_model=models.local_model,
        caller=ProviderCaller(ledger=system.spending, streams=AiStreams(redis), prices=read_prices(settings.ai.prices)),
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
    models: Models, settings: Settings, *, api: ApiStores, tenant: Callable[[TenantId], TenantStores], redis: Redis
) -> AsyncIterator[TenantQuestions]:
    """What tenants ask of the same models; at its end, what was not sent is called off."""
    caller = ProviderCaller(ledger=api.questions, streams=AiStreams(redis), prices=read_prices(settings.ai.prices))
    flights = SingleFlight(caller)
    maker = VectorMaker(
        next((source for source in models.sources if ModelTask.EMBEDDINGS in source.models), None),
        local=models.local,
        local_model=models.local_model,
        caller=caller,
        flights=flights,
        results=RecentResults(),
        wait_seconds=WAIT_SECONDS,
    )

    async def has_consented(tenant_id: TenantId) -> bool:
        return (await tenant(tenant_id).ai.stance()).consent is not None

    try:
        yield TenantQuestions(maker, has_consented=has_consented)
    finally:
        await flights.close()


@asynccontextmanager
async def open_meaning_search(settings: Settings, *, questions: TenantQuestions) -> AsyncIterator[MeaningSearch | None]:
    """Questions by meaning, from a process that writes no vectors; None where vectors are off."""
    async with open_searchable(settings.vectors) as searchable:
        yield None if searchable is None else MeaningSearch(searchable, questions=questions)
