"""From posts.tagged to posts.enriched on the runtime: every post arrives, whatever its links lead to."""

from typing import Any

from redis.asyncio import Redis

from telegram_assistant.crawling.readers import Readers
from telegram_assistant.domain.lane import Lane
from telegram_assistant.domain.understanding.crawling import CrawlRules
from telegram_assistant.events import PostEnriched, Trigger
from telegram_assistant.stages.crawl_trigger import crawl_trigger
from telegram_assistant.stages.enrichment import enrichment
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.streams.entries import PAYLOAD
from telegram_assistant.streams.keys import stream_key
from testkit.web import hang, redirect
from tests.stages.reading import post_with, reading_posts, tagged_event
from tests.streams.conftest import Bench, publish, until

ENRICHED = stream_key(PostEnriched, Lane.LIVE)


async def load_enriched(redis: Redis) -> list[tuple[str, str]]:
    entries: Any = await redis.xrange(ENRICHED)
    events = [PostEnriched.model_validate_json(fields[PAYLOAD]) for _, fields in entries]
    return [(event.post_id, event.trigger.value) for event in events]


async def test_every_post_is_enriched_when_nothing_can_be_read(
    bench: Bench, redis: Redis, system: SystemStores, database: dict[str, str]
) -> None:
    readers = Readers(at_once=1)
    async with reading_posts(
        system, database, readers, CRAWL_TIMEOUT_SECONDS="1.5", CRAWLER_ADDRESS="127.0.0.1:1"
    ) as reading:
        reading.web.outside.pages |= {
            "/slow": hang,
            "/inside": redirect(f"http://127.0.0.1:{reading.web.port}/"),
        }
        links = (
            (),
            (reading.url("/slow"),),
            (reading.url("/inside"),),
            (reading.url("/gone"), reading.url()),
            ("http://10.0.0.1/", "https://t.me/x"),
        )
        posts = [await post_with(system, *urls) for urls in links * 3]
        events = [
            *(tagged_event(post) for post in posts),
            *(tagged_event(post, Trigger.VISION_RETAG) for post in posts),
        ]
        judging = bench.working(
            crawl_trigger, posts=system.posts, pages=system.pages, crawl_rules=CrawlRules()
        )
        async with judging, bench.working(enrichment, pages=system.pages, page_reader=reading.reader):
            await publish(redis, events)

            async def all_arrived() -> bool:
                return len(await load_enriched(redis)) == len(events)

            await until(all_arrived, seconds=60)
        assert sorted(await load_enriched(redis)) == sorted(
            (str(event.post), event.trigger.value) for event in events
        )
        assert await bench.letters("crawl_trigger") == await bench.letters("enrichment") == []
        assert reading.web.inside.connections == 0
    await readers.close()
