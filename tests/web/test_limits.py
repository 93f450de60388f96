"""Everybody gets their share: how many pages, pictures and feeds a person, a tenant and a network may open,
and who waits for whom.

It is long because every kind of request has its case.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx
import pytest
from playwright.async_api import Browser as Chromium
from playwright.async_api import expect
from pydantic import SecretStr

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.fair_queue import FairQueue, QueueLimits, WorkKind, make_queues
from telegram_assistant.features.receivers.rss_feeds import ALL_STORIES, create_feed
from telegram_assistant.settings import Settings
from telegram_assistant.stores.postgres.receivers.feed_addresses import FeedKind
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.stores.redis.limiter import Limiter
from telegram_assistant.stores.redis.rate_limits import Bucket, RateLimits
from telegram_assistant.telemetry.metrics import REGISTRY
from telegram_assistant.web.limits import EXPENSIVE_COST, MEDIA_PER_PAGE, RouteKind, feed_share
from telegram_assistant.web.site import OF_TENANT, name_of
from testkit.api_clients import create_key_header, fresh_address, problem_of
from testkit.chromium import ENGLISH_DESKTOP, open_tab
from testkit.factories import make_tenant
from testkit.web_clients import Browser, member_browser, open_browser, serve_web
from tests.conftest import Admin
from tests.web.browsing import log_in
from tests.web.feed.test_feed import make_followed

FEW = 3
"""Pages at once; another one becomes free after four seconds."""


@asynccontextmanager
async def open_limited(
    installation: Settings, *, person: int = 10**5, tenant: int = 10**5, needs_redis: bool = True
) -> AsyncIterator[App]:
    """An installation in which a person, and the people of a tenant together,
    may open so many pages at once.
    """
    web = installation.web.model_copy(update={"per_minute": 5 * person, "tenant_per_minute": 5 * tenant})
    async with assemble(installation.model_copy(update={"web": web}), needs_redis=needs_redis) as app:
        yield app


async def statuses(browser: Browser, path: str, count: int) -> list[int]:
    return [(await browser.open(path)).status_code for _ in range(count)]


def refusals(limit: str) -> float:
    return REGISTRY.get_sample_value("requests_refused_total", {"limit": limit}) or 0.0


@pytest.mark.turns("WEB_REQUESTS_PER_MINUTE")
async def test_who_opens_too_many_pages_is_told_when_to_come_back_by_all_processes(
    installation: Settings, system: SystemStores, tenant_id: TenantId
) -> None:
    counted_before = refusals("person")
    async with (
        open_limited(installation, person=FEW) as app,
        member_browser(app, tenant_id) as eager,
        member_browser(app, tenant_id) as calm,
    ):
        assert await statuses(eager, "./feed", FEW) == [200] * FEW
        async with open_browser(app, language="ru") as elsewhere:
            elsewhere.client.cookies = eager.client.cookies
            for browser, words in (
                (eager, "you opened too many pages"),
                (elsewhere, "вы открыли слишком много страниц за короткое время"),
            ):
                refused = await browser.open(f"{eager.base}/today")
                assert refused.status_code == 429
                assert 1 <= int(refused.headers["retry-after"]) <= 4
                assert words in refused.text.casefold()
                assert refused.headers["content-type"].startswith("text/html")
            assert "Слишком много запросов" in elsewhere.page
            assert re.search("попробуйте снова через (1 секунду|[234] секунды)", elsewhere.page)
            assert (await elsewhere.open("/nowhere")).status_code == 429
        assert (await calm.open("./feed")).status_code == 200
        async with member_browser(app, await make_tenant(system)) as stranger:
            assert (await stranger.open("./feed")).status_code == 200
    assert refusals("person") == counted_before + 3


@pytest.mark.turns("WEB_TENANT_REQUESTS_PER_MINUTE")
async def test_the_people_of_a_tenant_have_a_limit_together(
    installation: Settings, system: SystemStores, tenant_id: TenantId
) -> None:
    async with (
        open_limited(installation, tenant=FEW) as app,
        member_browser(app, tenant_id) as first,
        member_browser(app, tenant_id) as second,
    ):
        assert (await statuses(first, "./feed", 1), await statuses(second, "./feed", FEW - 1)) == (
            [200],
            [200] * (FEW - 1),
        )
        refused = await second.open("./feed")
        assert refused.status_code == 429
        assert "the members of your tenant opened too many pages" in refused.text.casefold()
        assert (await second.open("/me")).status_code == 200
        async with member_browser(app, await make_tenant(system)) as stranger:
            assert (await stranger.open("./feed")).status_code == 200


async def test_no_other_spelling_of_an_address_escapes_the_limit_of_the_tenant(
    installation: Settings, tenant_id: TenantId
) -> None:
    async with open_limited(installation, tenant=3) as app, member_browser(app, tenant_id) as owner:
        assert await statuses(owner, "/", 1) == [200]
        assert await statuses(owner, owner.base.upper().replace("/T/", "/t/") + "/feed", 1) == [200]
        assert await statuses(owner, owner.base.replace("-", "") + "/feed", 1) == [200]
        assert [await statuses(owner, path, 1) for path in ("/", "./feed")] == [[429], [429]]


async def test_a_form_that_is_refused_changes_nothing_and_its_page_stays(
    installation: Settings, tenant_id: TenantId
) -> None:
    async with open_limited(installation, person=2) as app, member_browser(app, tenant_id) as owner:
        await owner.open("./mutes")
        await owner.submit("./mutes", word="first", do="add")
        answer = await owner.submit("./mutes", word="second", do="add", headers={"HX-Request": "true"})
        assert answer.status_code == 429
        assert (answer.headers["hx-retarget"], answer.headers["hx-reswap"]) == ("#notes", "innerHTML")
        assert answer.text.startswith('<p class="notice bad" role="alert">')
        assert (await app.person(tenant_id, owner.user_id).choices.mutes()).words == ("first",)


async def test_a_press_too_many_leaves_the_post_and_the_next_one_works(
    installation: Settings, chromium: Chromium, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_followed(system, admin, tenant_id, "the first")
    async with (
        open_limited(installation, person=12) as app,
        serve_web(app) as address,
        open_tab(chromium, ENGLISH_DESKTOP, address) as page,
    ):
        await log_in(page, app, tenant_id)
        post, note = page.locator(f"#p-{channel_id}-1"), page.locator("#notes .notice")
        async with asyncio.timeout(60):
            while not await note.count():
                async with page.expect_response(re.compile("/read$")):
                    await post.locator("[data-act=read]").click()
        await expect(note).to_have_text(
            re.compile("You opened too many pages in a short time; try again in [0-9]+ seconds?.")
        )
        await expect(post).to_have_count(1)
        await asyncio.sleep(1.1)  # one page a second
        await post.locator("[data-act=read]").click()
        await expect(note).to_have_count(0)


async def test_an_expensive_page_counts_as_ten(installation: Settings, tenant_id: TenantId) -> None:
    async with (
        open_limited(installation, person=EXPENSIVE_COST + 1) as app,
        member_browser(app, tenant_id) as owner,
    ):
        assert await statuses(owner, "./search?q=bridge", 2) == [200, 429]
        assert await statuses(owner, "./feed", 2) == [200, 429]


async def test_pictures_are_counted_apart_and_there_may_be_more_of_them(
    installation: Settings, tenant_id: TenantId
) -> None:
    async with open_limited(installation, person=2, tenant=2) as app, member_browser(app, tenant_id) as owner:
        assert await statuses(owner, "./media/1/1/0/s", 2 * MEDIA_PER_PAGE + 1) == [
            404
        ] * 2 * MEDIA_PER_PAGE + [429]
        assert await statuses(owner, "./feed", 3) == [200] * 2 + [429]


async def test_pages_without_a_login_are_counted_by_network(installation: Settings) -> None:
    async with open_limited(installation, person=FEW) as app:
        address, other = fresh_address(), fresh_address()
        async with (
            open_browser(app, address=address) as visitor,
            open_browser(app, address=f"{address}9") as neighbour,
        ):
            assert 429 not in await statuses(visitor, "/login", FEW)
            assert (await neighbour.open("/login")).status_code == 429
            refused = await visitor.open("/t/00000000-0000-0000-0000-000000000001/feed")
            assert (refused.status_code, "Your network opened" in refused.text) == (429, True)
            async with open_browser(app, address=other) as stranger:
                assert (await stranger.open("/login")).status_code != 429


async def test_files_of_the_pages_themselves_are_free(installation: Settings, tenant_id: TenantId) -> None:
    async with open_limited(installation, person=2, tenant=2) as app, member_browser(app, tenant_id) as owner:
        assert await statuses(owner, "./feed", 3) == [200, 200, 429]
        assert await statuses(owner, "/static/look.css", 30) == [200] * 30


async def test_while_redis_is_away_a_process_limits_alone(
    installation: Settings, tenant_id: TenantId
) -> None:
    away = installation.model_copy(
        update={"redis": installation.redis.model_copy(update={"url": SecretStr("redis://127.0.0.1:1/0")})}
    )
    async with (
        open_limited(away, person=3, needs_redis=False) as app,
        member_browser(app, tenant_id) as owner,
    ):
        assert await statuses(owner, "./feed", 4) == [200] * 3 + [429]


async def read_until_refused(app: App, reader: Browser, token: str, bucket: Bucket) -> httpx.Response:
    """Empties the bucket and reads the feed before it has a token again."""
    limiter = Limiter(RateLimits(app.redis))
    for _ in range(50):
        while (await limiter.take(bucket)).allowed:
            pass
        answer = await reader.client.get(f"/feeds/{token}.rss")
        if answer.status_code != 200:
            return answer
    pytest.fail("the feed was never refused")


async def make_feed(app: App, tenant_id: TenantId) -> str:
    return (
        await create_feed(FeedKind.STORY, ALL_STORIES, stores=app.tenant(tenant_id), created_by="test")
    ).token


async def test_a_feed_that_is_read_too_often_answers_in_plain_words(
    app: App, tenant_id: TenantId, system: SystemStores
) -> None:
    others_id = await make_tenant(system)
    often, seldom, others = (
        await make_feed(app, tenant_id),
        await make_feed(app, tenant_id),
        await make_feed(app, others_id),
    )
    of_address, of_tenant = feed_share(often, tenant_id).buckets
    async with open_browser(app, language="ru") as reader:
        assert (await reader.client.get(f"/feeds/{often}.atom")).status_code == 200
        refused = await read_until_refused(app, reader, often, of_address)
        assert (refused.status_code, refused.headers["content-type"]) == (429, "text/plain; charset=utf-8")
        assert 1 <= int(refused.headers["retry-after"]) <= 2
        assert refused.text.startswith(
            "эту ленту или все ленты её пространства вместе читают слишком часто; попробуйте снова через "
        )
        assert [
            (await reader.client.get(f"/feeds/{token}.rss")).status_code for token in (seldom, others)
        ] == [200, 200]
        assert (await read_until_refused(app, reader, seldom, of_tenant)).status_code == 429
        assert (await reader.client.get(f"/feeds/{others}.rss")).status_code == 200


async def test_guessed_feeds_are_counted_by_network(installation: Settings) -> None:
    async with open_limited(installation, person=3) as app, open_browser(app) as guesser:
        assert [
            (await guesser.client.get(f"/feeds/guess{number}.rss")).status_code for number in range(4)
        ] == [404, 404, 404, 429]


# --- places ----------------------------------------------------------------------------------


def with_few_places(app: App, *, waiting: int = 0) -> App:
    """One expensive request of a tenant at once, two in all, and so many more that wait."""
    limits = QueueLimits(
        max_running=2, max_running_per_tenant=1, max_waiting_per_tenant=waiting, max_wait_seconds=5
    )
    return replace(app, queues={**app.queues, WorkKind.EXPENSIVE: FairQueue(WorkKind.EXPENSIVE, limits)})


EXPENSIVE_PAGES = (
    "./search?q=bridge",
    "./ask?q=bridge",
    "./watches/preview?kind=words&query=bridge",
    "./channels",
)
EXPENSIVE_OPERATIONS = (
    "/search?q=bridge",
    "/ask/stream?question=bridge",
    "/watches/preview?kind=words&query=bridge",
    "/digest",
)


async def test_pages_and_the_api_share_the_expensive_places(
    app: App, tenant_id: TenantId, system: SystemStores
) -> None:
    few, other_id = with_few_places(app), await make_tenant(system)
    key, other_key = await create_key_header(app, tenant_id), await create_key_header(app, other_id)
    async with member_browser(few, tenant_id) as owner, member_browser(few, other_id) as stranger:
        async with few.queues[WorkKind.EXPENSIVE].place(tenant_id, "somebody"):
            for path in EXPENSIVE_PAGES:
                refused = await owner.open(path)
                assert (path, refused.status_code, refused.headers["retry-after"]) == (path, 429, "5")
            for path in EXPENSIVE_OPERATIONS:
                refused = await owner.client.get(f"/api/v1{path}", headers=key)
                assert (path, refused.headers["retry-after"]) == (path, "5")
                assert problem_of(refused) == (
                    429,
                    ("too many requests from you or your tenant are already waiting; try again in 5 seconds"),
                )
            question = {"question": "What about the bridge?"}
            assert (await owner.client.post("/api/v1/ask", json=question, headers=key)).status_code == 429
            assert (await owner.open("./feed")).status_code == 200
            assert (await owner.client.get("/api/v1/feed", headers=key)).status_code == 200
            for path in EXPENSIVE_PAGES:
                assert (path, (await stranger.open(path)).status_code) == (path, 200)
            for path in EXPENSIVE_OPERATIONS:
                assert (
                    path,
                    (await stranger.client.get(f"/api/v1{path}", headers=other_key)).status_code,
                ) == (path, 200)
        assert (await owner.open("./search?q=bridge")).status_code == 200
        assert (await owner.client.post("/api/v1/ask", json=question, headers=key)).status_code == 200


async def test_a_flood_of_one_tenant_refuses_nobody_else(
    app: App, tenant_id: TenantId, system: SystemStores
) -> None:
    few, other_id = with_few_places(app, waiting=4), await make_tenant(system)
    async with (
        member_browser(few, tenant_id, role=MemberRole.VIEWER) as flood,
        member_browser(few, other_id) as reader,
    ):
        flooding = asyncio.gather(
            *(flood.client.get(f"{flood.base}/ask?q=bridge+{number}") for number in range(20))
        )
        assert await statuses(reader, "./search?q=bridge", 5) == [200] * 5
        answers = [answer.status_code for answer in await flooding]
    assert (set(answers), answers.count(429) >= 10) == ({200, 429}, True)


async def test_who_has_a_place_gives_it_back_whatever_becomes_of_the_page(
    app: App, tenant_id: TenantId
) -> None:
    few = with_few_places(app)
    async with member_browser(few, tenant_id) as owner:
        assert (await owner.open("./watches/preview?kind=nonsense")).status_code in {404, 422}
        assert (await owner.open("./tags/%00")).status_code >= 400
        transport_gone = asyncio.create_task(owner.client.get(f"{owner.base}/search?q=bridge"))
        await asyncio.sleep(0.01)
        transport_gone.cancel()
        await asyncio.gather(transport_gone, return_exceptions=True)
        assert await statuses(owner, "./search?q=bridge", 2) == [200, 200]


@pytest.mark.turns("EXPENSIVE_REQUESTS_AT_ONCE")
async def test_the_operator_chooses_how_many_expensive_requests_of_a_tenant_run_at_once(
    installation: Settings, tenant_id: TenantId
) -> None:
    async def count_granted(number: int) -> int:
        http = installation.http.model_copy(update={"max_expensive_per_tenant": number})
        async with assemble(installation.model_copy(update={"http": http})) as app:
            running = 0

            async def hold(caller: str) -> None:
                nonlocal running
                async with app.queues[WorkKind.EXPENSIVE].place(tenant_id, caller):
                    running += 1
                    await asyncio.Event().wait()

            tasks = [asyncio.create_task(hold(str(caller))) for caller in range(10)]
            await asyncio.sleep(0.01)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            return running

    assert [await count_granted(number) for number in (1, 3)] == [1, 3]


def test_the_pages_that_cost_most_are_expensive() -> None:
    expensive = {name_of(route) for route in OF_TENANT if route.kind is RouteKind.EXPENSIVE}
    measured = {
        "ask.show",
        "ask.show_brief",
        "ask.stream",
        "search.show",
        "search.export",
        "watches.preview",
        "digests.make",
        "adding.add",
        "adding.pick",
        "tags.show_posts",
    }
    assert expensive == measured | {"channels.show", "story.write", "ai.understand"}


async def test_a_page_full_of_pictures_takes_no_place_from_pages(app: App, tenant_id: TenantId) -> None:
    queues = make_queues(1)
    slow = replace(app, queues={**queues, WorkKind.MEDIA: FairQueue(WorkKind.MEDIA, replace_waiting(0))})
    async with (
        member_browser(slow, tenant_id) as owner,
        slow.queues[WorkKind.MEDIA].place(tenant_id, "picture"),
    ):
        answers: list[httpx.Response] = [await owner.open("./media/1/1/0/s"), await owner.open("./feed")]
    assert [answer.status_code for answer in answers] == [429, 200]


def replace_waiting(number: int) -> QueueLimits:
    return QueueLimits(
        max_running=1, max_running_per_tenant=1, max_waiting_per_tenant=number, max_wait_seconds=1
    )
