"""The only place that builds things: Settings in, App out."""

import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from telegram_assistant.domain.crawling import CrawlRules
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.media import MediaRules
from telegram_assistant.errors import CannotStart
from telegram_assistant.pages.fetching import Fetcher
from telegram_assistant.pages.guard import Guard
from telegram_assistant.pages.page_reader import PageReader
from telegram_assistant.pages.readers import Readers
from telegram_assistant.pages.rendering import Renderer
from telegram_assistant.pages.robots import Robots
from telegram_assistant.settings import CrawlSettings, FilesSettings, Settings
from telegram_assistant.stores.files import Files, open_files
from telegram_assistant.stores.postgres.bell import hung_bell
from telegram_assistant.stores.postgres.database import open_pool
from telegram_assistant.stores.postgres.migrating import require_schema
from telegram_assistant.stores.postgres.stores import SystemStores, TenantStores, system_stores, tenant_stores
from telegram_assistant.stores.redis.client import Redis, open_redis
from telegram_assistant.stores.redis.pacing import Pacing
from telegram_assistant.telemetry.health import Probe
from telegram_assistant.telemetry.tracing import start_tracing


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
    collaborators: Mapping[str, object]
    """What stages may ask for, by name."""
    probes: Mapping[str, Probe]


@asynccontextmanager
async def assemble(settings: Settings) -> AsyncIterator[App]:
    """Connect to everything that is needed, or raise CannotStart; disconnect at the end."""
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
        files, rules = _files(settings.files)
        readers = Readers()
        stack.push_async_callback(readers.close)
        page_reader = await stack.enter_async_context(open_page_reader(settings.crawl, redis, guard=Guard(), readers=readers))
        yield App(
            settings=settings,
            instance=instance,
            system=system,
            tenant=partial(tenant_stores, pool),
            redis=redis,
            files=files,
            media_rules=rules,
            collaborators={
                "posts": system.posts,
                "media": system.media,
                "media_rules": rules,
                "albums": system.albums,
                "pages": system.pages,
                "page_reader": page_reader,
                "crawl_rules": crawl_rules(settings.crawl),
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
    render = Renderer(settings.crawler_address, guard=guard, most_bytes=settings.most_bytes).render if settings.crawler_address else None
    try:
        yield PageReader(
            fetcher=fetcher,
            robots=Robots(fetcher),
            readers=readers,
            turn=Pacing(redis).turn,
            render=render,
            every_seconds=settings.every_seconds,
            longest_seconds=settings.longest_seconds,
        )
    finally:
        await fetcher.close()
