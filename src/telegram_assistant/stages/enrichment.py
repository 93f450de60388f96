"""enrichment: reads the linked pages of a post. posts.crawl -> posts.enriched, for every one,
with or without pages.
"""

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from datetime import timedelta

from telegram_assistant.crawling.page_reader import PageReader
from telegram_assistant.domain.understanding.pages import LinkedPage, PageStatus
from telegram_assistant.errors import Busy
from telegram_assistant.events import PostCrawlRequested, PostEnriched, Trigger
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.understanding.pages import LinkedPages, PageClaim
from telegram_assistant.streams.stage import stage
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()

LOOK_AGAIN_SECONDS = 0.25
LEASE_MARGIN_SECONDS = 30.0
READ_ELSEWHERE = Reason("page_read_elsewhere", "another post is already reading it")


@stage(consumes=PostCrawlRequested, emits=PostEnriched, concurrency=32, timeout_seconds=150)
async def enrichment(
    event: PostCrawlRequested, *, pages: LinkedPages, page_reader: PageReader
) -> PostEnriched:
    """Emits one event for each post.

    Each page is read once, however many posts link to it and however often this event is delivered.
    """
    if event.urls and event.trigger is Trigger.INITIAL:
        try:
            read_pages = await _read_pages(event.urls, pages=pages, page_reader=page_reader)
            await pages.note(
                [
                    (
                        event.post,
                        event.revision,
                        {"pages": [page.as_json(url) for url, page in read_pages.items()]},
                    )
                ]
            )
        except Busy:
            raise
        except Exception:
            log.exception(
                "pages_not_read",
                post_id=event.post_id,
                what_to_do="the post continues without its pages; report this bug",
            )
    return PostEnriched.about(
        event.post, event.revision, occurred_at=event.occurred_at, trigger=event.trigger
    )


async def _read_pages(
    urls: Sequence[str], *, pages: LinkedPages, page_reader: PageReader
) -> Mapping[str, LinkedPage]:
    """Gets each page from the cache, from its server, or from the process that is reading it.

    Gives up pages that take too long.
    """
    owner, deadline = uuid.uuid4().hex, asyncio.get_running_loop().time() + page_reader.max_seconds
    lease = timedelta(seconds=page_reader.max_seconds + LEASE_MARGIN_SECONDS)
    read_pages: dict[str, LinkedPage] = {}
    while True:
        claims = await pages.claim([url for url in urls if url not in read_pages], owner=owner, lease=lease)
        read_pages |= {url: claim.known for url, claim in claims.items() if claim.known is not None}
        read_pages |= await _read_claimed(
            {url: claim for url, claim in claims.items() if claim.ours},
            owner,
            pages=pages,
            page_reader=page_reader,
        )
        if len(read_pages) == len(set(urls)):
            return {url: read_pages[url] for url in urls}
        if asyncio.get_running_loop().time() >= deadline:
            return {
                url: read_pages.get(url) or LinkedPage(url=url, status=PageStatus.WAITING, why=READ_ELSEWHERE)
                for url in urls
            }
        await asyncio.sleep(LOOK_AGAIN_SECONDS)


async def _read_claimed(
    claims: Mapping[str, PageClaim], owner: str, *, pages: LinkedPages, page_reader: PageReader
) -> Mapping[str, LinkedPage]:
    """Reads the claimed pages. If it is interrupted, it releases the claims."""
    read_pages: dict[str, LinkedPage] = {}
    try:
        page_reads = (
            _read_page(url, claim, owner, pages=pages, page_reader=page_reader)
            for url, claim in claims.items()
        )
        for url, page in zip(claims, await asyncio.gather(*page_reads, return_exceptions=True), strict=True):
            if isinstance(page, BaseException):
                raise page
            read_pages[url] = page
    finally:
        if len(read_pages) < len(claims):
            await pages.release(list(claims), owner=owner)
    return read_pages


async def _read_page(
    url: str, page_claim: PageClaim, owner: str, *, pages: LinkedPages, page_reader: PageReader
) -> LinkedPage:
    page = await page_reader.read(url)
    if page.status is PageStatus.WAITING:
        await pages.release([url], owner=owner)
    else:
        await pages.finish(url, page, owner=owner, attempt_count=page_claim.attempts)
    return page
