"""enrichment: every post comes out, with its pages where they can be had."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from telegram_assistant.crawling.page_reader import PageReader
from telegram_assistant.crawling.readers import Readers
from telegram_assistant.domain.ids import PostId
from telegram_assistant.errors import Busy
from telegram_assistant.events import Trigger
from telegram_assistant.reasons import quote
from telegram_assistant.stages.enrichment import enrichment
from telegram_assistant.stores.postgres.database import Pool, TenantTransactions
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import make_subscription, make_tenant
from testkit.web import answer, hang, redirect
from tests.conftest import Admin
from tests.crawling.test_extraction import NEWS
from tests.stages.reading import Reading, crawl_event, post_with, reading_posts


@pytest.fixture(scope="module")
async def readers() -> AsyncIterator[Readers]:
    running = Readers(at_once=1, max_seconds=20)
    yield running
    await running.close()


@pytest.fixture
async def reading(system: SystemStores, database: dict[str, str], readers: Readers) -> AsyncIterator[Reading]:
    async with reading_posts(system, database, readers) as running:
        yield running


async def load_pages(admin: Admin, post: PostId) -> list[dict[str, Any]]:
    data = await admin.fetchval(
        "SELECT data FROM post_enrichment WHERE channel_id = $1 AND message_id = $2 AND kind = 'crawl'",
        *post_key(post),
    )
    return [] if data is None else list(json.loads(data).get("pages", []))


def post_key(post: PostId) -> tuple[int, int]:
    return post.channel_id, post.message_id


async def statuses(admin: Admin, post: PostId) -> list[str]:
    return [page["status"] for page in await load_pages(admin, post)]


async def test_what_a_page_says_is_stored_beside_the_post(reading: Reading, admin: Admin) -> None:
    post = await post_with(reading.system)
    await reading.enrich(post, reading.url())
    (page,) = await load_pages(admin, post)
    assert (page["url"], page["status"], page["title"], page["author"]) == (
        reading.url(),
        "read",
        "Мост закрыт",
        "Анна Петрова",
    )
    assert (page["published_at"], page["lang"]) == ("2026-10-30T00:00:00+00:00", "ru")
    assert page["image_url"] == reading.url("/most.jpg")
    assert "объезд организован" in page["excerpt"]


async def test_a_post_without_links_goes_on_at_once(reading: Reading, admin: Admin) -> None:
    post = await post_with(reading.system)
    await reading.enrich(post)
    assert await load_pages(admin, post) == []


async def test_a_post_tagged_again_goes_on_without_a_second_visit(reading: Reading) -> None:
    post = await post_with(reading.system)
    event = await reading.enrich(post, reading.url(), trigger=Trigger.VISION_RETAG)
    assert event.trigger is Trigger.VISION_RETAG
    assert reading.web.outside.connections == 0


async def test_a_page_is_read_once_however_many_posts_link_to_it_and_however_often_they_are_delivered(
    reading: Reading, admin: Admin
) -> None:
    posts = [await post_with(reading.system) for _ in range(8)]
    await asyncio.gather(*(reading.enrich(post, reading.url()) for post in posts for _ in range(3)))
    assert reading.web.outside.count("/a") == 1
    assert [await statuses(admin, post) for post in posts] == [["read"]] * 8


async def test_a_short_link_and_the_page_behind_it_are_one_visit(reading: Reading, admin: Admin) -> None:
    reading.web.outside.pages["/short"] = redirect(reading.url())
    first, second = await post_with(reading.system), await post_with(reading.system)
    await reading.enrich(first, reading.url("/short"))
    await reading.enrich(second, reading.url())
    assert reading.web.outside.count("/a") == 1
    assert (await load_pages(admin, first))[0]["found_at"] == reading.url()
    assert (await load_pages(admin, second))[0]["title"] == "Мост закрыт"


async def test_a_page_cannot_speak_for_another_address(reading: Reading, admin: Admin) -> None:
    """A page may claim another address, but posts that link to that address do not show its content."""
    reading.web.outside.pages["/evil"] = answer(
        NEWS.replace("https://news.example/news/most", reading.url("/a")).replace("Мост", "Обман")
    )
    await reading.enrich(await post_with(reading.system), reading.url("/evil"))
    post = await post_with(reading.system)
    await reading.enrich(post, reading.url())
    assert (await load_pages(admin, post))[0]["title"] == "Мост закрыт"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nothing", "gone"),
        ("/broken", "failed"),
        ("/empty", "empty"),
        ("/file", "not_a_page"),
        ("/inside", "blocked"),
        ("/private", "robots"),
    ],
)
async def test_a_page_that_cannot_be_had_does_not_hold_its_post(
    reading: Reading, admin: Admin, path: str, status: str
) -> None:
    reading.web.outside.pages |= {
        "/robots.txt": answer("User-agent: *\nDisallow: /private", kind="text/plain"),
        "/broken": answer(status="500 Broken"),
        "/empty": answer("<html></html>"),
        "/file": answer("%PDF", kind="application/pdf"),
        "/inside": redirect(f"http://127.0.0.1:{reading.web.port}/"),
    }
    post = await post_with(reading.system)
    await reading.enrich(post, reading.url(path), reading.url())
    assert await statuses(admin, post) == [status, "read"]
    assert all(page["status"] == "read" or page["why"] for page in await load_pages(admin, post))
    visits = len(reading.web.outside.requested_paths)
    await reading.enrich(await post_with(reading.system), reading.url(path))
    assert len(reading.web.outside.requested_paths) == visits, "how it ended is remembered for a while"
    assert reading.web.inside.connections == 0


@pytest.mark.turns("CRAWL_TIMEOUT_SECONDS")
async def test_a_post_waits_for_its_pages_so_long_and_no_longer(
    system: SystemStores, database: dict[str, str], readers: Readers, admin: Admin
) -> None:
    async with reading_posts(system, database, readers, CRAWL_TIMEOUT_SECONDS="0.4") as reading:
        reading.web.outside.pages["/slow"] = hang
        first, second = await post_with(system), await post_with(system)
        async with asyncio.timeout(30):
            await asyncio.gather(
                reading.enrich(first, reading.url("/slow")), reading.enrich(second, reading.url("/slow"))
            )
        assert reading.web.outside.count("/slow") == 1
        assert {*await statuses(admin, first), *await statuses(admin, second)} <= {"too_slow", "waiting"}


@pytest.mark.turns("CRAWL_MAX_BYTES")
async def test_a_page_that_is_larger_than_allowed_is_not_read(
    system: SystemStores, database: dict[str, str], readers: Readers, admin: Admin
) -> None:
    async with reading_posts(system, database, readers, CRAWL_MAX_BYTES="500") as reading:
        post = await post_with(system)
        await reading.enrich(post, reading.url())
        assert await statuses(admin, post) == ["too_large"]


@pytest.mark.turns("CRAWL_SITE_INTERVAL_SECONDS")
async def test_a_site_is_asked_in_turns_and_who_would_wait_too_long_goes_on(
    system: SystemStores, database: dict[str, str], readers: Readers, admin: Admin
) -> None:
    async with reading_posts(system, database, readers, CRAWL_SITE_INTERVAL_SECONDS="30") as reading:
        reading.web.outside.pages["/b"] = answer(NEWS)
        first, second = await post_with(system), await post_with(system)
        await reading.enrich(first, reading.url("/a"))
        await reading.enrich(second, reading.url("/b"))
        assert [await statuses(admin, first), await statuses(admin, second)] == [["read"], ["waiting"]]
        assert reading.web.outside.count("/b") == 0


class Broken(PageReader):
    def __init__(self, error: Exception) -> None:
        self.error = error
        self.max_seconds = 0.5

    async def read(self, _url: str) -> Any:
        raise self.error


async def test_a_mistake_of_ours_does_not_hold_a_post(reading: Reading) -> None:
    post = await post_with(reading.system)
    broken = Reading(reading.system, reading.web, Broken(RuntimeError("a bug")), reading.host)
    await broken.enrich(post, reading.url())


async def test_a_store_that_is_away_is_waited_for_and_nothing_stays_claimed(
    reading: Reading, admin: Admin
) -> None:
    post = await post_with(reading.system)
    with pytest.raises(Busy):
        await enrichment(
            crawl_event(post, reading.url()),
            pages=reading.system.pages,
            page_reader=Broken(Busy(quote("Redis is away"))),
        )
    await reading.enrich(post, reading.url())
    assert await statuses(admin, post) == ["read"]


async def test_who_is_interrupted_leaves_the_page_to_others(reading: Reading, admin: Admin) -> None:
    reading.web.outside.pages["/slow"] = hang
    post = await post_with(reading.system)
    task = asyncio.create_task(reading.enrich(post, reading.url("/slow")))
    while not reading.web.outside.count("/slow"):
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    reading.web.outside.pages["/slow"] = answer(NEWS)
    await reading.enrich(post, reading.url("/slow"))
    assert await statuses(admin, post) == ["read"]


async def test_what_a_dead_process_was_reading_is_read_by_another(reading: Reading, admin: Admin) -> None:
    await admin.execute(
        "INSERT INTO pages (url_hash, url, leased_by, leased_until) "
        "VALUES (sha256($1::text::bytea), $1, 'dead', now() - interval '1 s')",
        reading.url(),
    )
    post = await post_with(reading.system)
    await reading.enrich(post, reading.url())
    assert await statuses(admin, post) == ["read"]


async def test_tenants_see_pages_through_their_posts_only(reading: Reading, pool: Pool) -> None:
    follower, stranger = await make_tenant(reading.system), await make_tenant(reading.system)
    post = await post_with(reading.system)
    await reading.system.channels.subscribe(follower, make_subscription(post.channel_id))
    await reading.enrich(post, reading.url())
    seen = []
    for tenant in (follower, stranger):
        async with TenantTransactions(pool, tenant).begin() as connection:
            seen.append(
                await connection.fetchval(
                    "SELECT count(*) FROM post_enrichment WHERE channel_id = $1", post.channel_id
                )
            )
    assert seen == [1, 0]


async def test_pages_that_nobody_asks_for_are_forgotten(reading: Reading, admin: Admin) -> None:
    await reading.enrich(await post_with(reading.system), reading.url())
    moment = await admin.fetchval(
        "UPDATE pages SET expires_at = '2020-01-01' WHERE url = $1 RETURNING '2020-01-02'::timestamptz",
        reading.url(),
    )
    assert await reading.system.pages.forget(moment) == 1
