"""The only place that builds things: Settings in, App out."""

import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

from telegram_assistant.ai.calling import Caller
from telegram_assistant.ai.gate import WAIT_SECONDS, Gate
from telegram_assistant.ai.local.understanding import Local
from telegram_assistant.ai.local.vocabulary import packaged_vocabulary
from telegram_assistant.ai.picture_readers import PictureReaders
from telegram_assistant.ai.prices import read_prices
from telegram_assistant.ai.providers import Source, open_sources
from telegram_assistant.domain.crawling import CrawlRules
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.media import MediaRules
from telegram_assistant.domain.understanding import Urgency
from telegram_assistant.errors import CannotStart
from telegram_assistant.graph.index import GraphIndex
from telegram_assistant.graph.opening import name_of, opened_graph
from telegram_assistant.pages.fetching import Fetcher
from telegram_assistant.pages.guard import Guard
from telegram_assistant.pages.page_reader import PageReader
from telegram_assistant.pages.readers import Readers
from telegram_assistant.pages.rendering import Renderer
from telegram_assistant.pages.robots import Robots
from telegram_assistant.settings import CrawlSettings, EmbeddingsBy, FilesSettings, Settings
from telegram_assistant.stages.sights import Looker
from telegram_assistant.stages.tags import Tagger
from telegram_assistant.stores.files import Files, open_files
from telegram_assistant.stores.postgres.bell import hung_bell
from telegram_assistant.stores.postgres.database import open_pool
from telegram_assistant.stores.postgres.schema import require_schema
from telegram_assistant.stores.postgres.stores import SystemStores, TenantStores, system_stores, tenant_stores
from telegram_assistant.stores.redis.ai_streams import AiStreams
from telegram_assistant.stores.redis.ai_token import AiToken
from telegram_assistant.stores.redis.album_states import AlbumStates
from telegram_assistant.stores.redis.client import Redis, open_redis
from telegram_assistant.stores.redis.pacing import Pacing
from telegram_assistant.telemetry.health import Probe
from telegram_assistant.telemetry.tracing import start_tracing
from telegram_assistant.vectors.index import Index, MeaningSearch
from telegram_assistant.vectors.opening import open_searchable, open_vectors


@dataclass(frozen=True, slots=True)
class App:
    """Everything a role needs, built once per process."""

    settings: Settings
    instance: str
    """`HOSTNAME#xxxx`, different for every start: the value of locks and the name of consumers."""
    system: SystemStores
    tenant: Callable[[TenantId], TenantStores]
    redis: Redis
    files: Files | None
    """None: no place for media is set, and none are kept."""
    media_rules: MediaRules
    gate: Gate
    """In front of every call to a model."""
    tagger: Tagger
    looker: Looker
    index: Index | None
    """None: vectors are off, or nobody said that this process uses them."""
    graph_index: GraphIndex | None
    """None: the graph is off."""
    collaborators: Mapping[str, object]
    """What stages may ask for, by name."""
    probes: Mapping[str, Probe]


@asynccontextmanager
async def assemble(settings: Settings, *, with_vectors: bool = False, guard: Guard | None = None) -> AsyncIterator[App]:
    """Connect to everything that is needed, or raise CannotStart; disconnect at the end.

    Embedded vectors can be used by one process at a time, so only who says so opens them. `guard`: for tests that play the web.
    """
    instance = f"{settings.process.instance_name}#{secrets.token_hex(2)}"
    async with AsyncExitStack() as stack:
        tracing = start_tracing(settings.telemetry, instance=instance)
        if tracing is not None:
            stack.callback(tracing.shutdown)
        pool = await stack.enter_async_context(open_pool(settings.database))
        await require_schema(pool)
        redis = await stack.enter_async_context(open_redis(settings.redis))
        bell = await stack.enter_async_context(hung_bell(settings.database))
        system = system_stores(pool, bell)
        await system.vocabularies.seed(packaged_vocabulary())
        files, rules = _files(settings.files)
        readers = Readers()
        stack.push_async_callback(readers.close)
        page_reader = await stack.enter_async_context(open_page_reader(settings.crawl, redis, guard=guard or Guard(), readers=readers))
        picture_readers = PictureReaders()
        stack.push_async_callback(picture_readers.close)
        gate = await stack.enter_async_context(open_gate(settings, system=system, redis=redis))
        tagger = Tagger(gate, system.enrichments, system.vocabularies)
        looker = Looker(system.ai_policies, system.enrichments, system.media_results, files, picture_readers, gate)
        index = await stack.enter_async_context(open_index(settings, system=system, gate=gate)) if with_vectors else None
        graph_index = await stack.enter_async_context(open_graph(settings, system=system))
        yield App(
            settings=settings,
            instance=instance,
            system=system,
            tenant=partial(tenant_stores, pool),
            redis=redis,
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
                "album_states": AlbumStates(redis),
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
            probes={"postgres": system.tenants.answers, "redis": redis.ping},
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
    return CrawlRules(enabled=settings.enabled, allow=allow, deny=deny, most_links=settings.most_links)


@asynccontextmanager
async def open_page_reader(settings: CrawlSettings, redis: Redis, *, guard: Guard, readers: Readers) -> AsyncIterator[PageReader]:
    """What reads linked pages; it begins nothing before the first page."""
    fetcher = Fetcher(guard, most_bytes=settings.most_bytes)
    robots = Robots(fetcher)
    render = Renderer(settings.crawler_address, guard=guard, most_bytes=settings.most_bytes).render if settings.crawler_address else None
    try:
        yield PageReader(
            fetcher=fetcher,
            robots=robots,
            readers=readers,
            turn=Pacing(redis).turn,
            render=render,
            every_seconds=settings.every_seconds,
            longest_seconds=settings.longest_seconds,
        )
    finally:
        await robots.close()
        await fetcher.close()


@asynccontextmanager
async def open_gate(
    settings: Settings, *, system: SystemStores, redis: Redis, wait_seconds: Mapping[Urgency, float] = WAIT_SECONDS
) -> AsyncIterator[Gate]:
    """The gate with everything behind it; at its end, what was not sent is called off."""
    token = AiToken(redis, credentials=settings.gigachat.credentials.get_secret_value(), scope=settings.gigachat.scope.value)
    async with open_sources(settings, token=token) as sources:
        model = settings.ai.embeddings_model_in_force if settings.ai.embeddings is EmbeddingsBy.LOCAL else None
        local = Local(models=settings.ai.models)
        async with gate_before(sources, settings, system=system, redis=redis, local=local, local_model=model, wait_seconds=wait_seconds) as gate:
            yield gate


@asynccontextmanager
async def gate_before(
    sources: Sequence[Source],
    settings: Settings,
    *,
    system: SystemStores,
    redis: Redis,
    local: Local,
    local_model: str | None,
    wait_seconds: Mapping[Urgency, float] = WAIT_SECONDS,
) -> AsyncIterator[Gate]:
    """The same before these providers and this local understanding."""
    gate = Gate(
        sources,
        local=local,
        local_model=local_model,
        caller=Caller(ledger=system.spending, streams=AiStreams(redis), prices=read_prices(settings.ai.prices)),
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
async def open_index(settings: Settings, *, system: SystemStores, gate: Gate) -> AsyncIterator[Index | None]:
    """Posts by meaning; None where vectors are off."""
    async with open_vectors(settings.vectors) as vectors:
        yield None if vectors is None else Index(vectors, gate=gate, states=system.post_states)


@asynccontextmanager
async def open_meaning_search(settings: Settings, *, gate: Gate) -> AsyncIterator[MeaningSearch | None]:
    """Questions by meaning, from a process that writes no vectors; None where vectors are off."""
    async with open_searchable(settings.vectors) as searchable:
        yield None if searchable is None else MeaningSearch(searchable, gate=gate)


@asynccontextmanager
async def open_graph(settings: Settings, *, system: SystemStores) -> AsyncIterator[GraphIndex | None]:
    """Who forwards whom; None where the graph is off."""
    name = name_of(urlsplit(settings.database.url.get_secret_value()).path)
    async with opened_graph(settings.graph, name=name) as graph:
        yield None if graph is None else GraphIndex(graph, states=system.post_states)
