"""Posts with links, a small web, and what reads it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from redis.asyncio import Redis

from telegram_assistant.assembly import open_page_reader
from telegram_assistant.crawling.page_reader import PageReader
from telegram_assistant.crawling.readers import Readers
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.posts.post import TextEntity
from telegram_assistant.events import PostCrawlRequested, PostEnriched, PostTagged, Trigger
from telegram_assistant.settings import CrawlSettings, read_group
from telegram_assistant.stages.enrichment import enrichment
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import fresh_number, make_channel, make_page, make_post
from testkit.web import OUTSIDE, Web, answer, small_web
from tests.crawling.test_extraction import NEWS

MOMENT = datetime(2026, 11, 1, tzinfo=UTC)


async def post_with(
    system: SystemStores, *urls: str, channel_id: ChannelId | None = None, message_id: int = 1
) -> PostId:
    channel_id = channel_id or await make_channel(system)
    entities = tuple(TextEntity("text_url", number, 1, url) for number, url in enumerate(urls))
    post = make_post(
        channel_id=channel_id, message_id=message_id, text="Подробности по ссылкам", entities=entities
    )
    await system.landing.land(make_page(post), Claim(channel_id, 0))
    return PostId(channel_id, MessageId(message_id))


def tagged_event(post: PostId, trigger: Trigger = Trigger.INITIAL, revision: int = 1) -> PostTagged:
    return PostTagged.about(post, revision, occurred_at=MOMENT, trigger=trigger)


def crawl_event(post: PostId, *urls: str, trigger: Trigger = Trigger.INITIAL) -> PostCrawlRequested:
    return PostCrawlRequested.about(post, 1, occurred_at=MOMENT, trigger=trigger, urls=urls)


@dataclass
class Reading:
    """The stage, on a web of its own in which news.example has one article at /a."""

    system: SystemStores
    web: Web
    reader: PageReader
    host: str

    def url(self, path: str = "/a") -> str:
        return self.web.url(path, host=self.host)

    async def enrich(self, post: PostId, *urls: str, **more: Any) -> PostEnriched:
        event = await enrichment(
            crawl_event(post, *urls, **more), pages=self.system.pages, page_reader=self.reader
        )
        assert isinstance(event, PostEnriched)
        assert event.post == post
        return event


@asynccontextmanager
async def reading_posts(
    system: SystemStores, database: dict[str, str], readers: Readers, **settings: str
) -> AsyncIterator[Reading]:
    host = f"{fresh_number()}.example"
    redis = Redis.from_url(database["REDIS_URL"])
    crawl = read_group(
        CrawlSettings, {"CRAWL_SITE_INTERVAL_SECONDS": "0", "CRAWL_TIMEOUT_SECONDS": "20", **settings}
    )
    async with (
        small_web({host: [OUTSIDE]}) as web,
        open_page_reader(crawl, redis, guard=web.guard(), readers=readers) as reader,
    ):
        web.outside.pages["/a"] = answer(NEWS)
        yield Reading(system, web, reader, host)
    await redis.aclose()
