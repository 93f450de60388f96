"""Every page, for everybody who may and may not open it."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.web.headers import POLICY
from telegram_assistant.web.page import AnyRoute, Page
from telegram_assistant.web.site import OF_PERSON, OF_TENANT, OPEN
from testkit.factories import make_page, make_post
from testkit.web_clients import ADDRESS, Browser, member_browser, open_browser
from tests.conftest import Admin
from tests.web.feed.test_feed import make_followed
from tests.web.people.test_people import person_with_password

CLOSED: tuple[AnyRoute, ...] = (*OF_PERSON, *OF_TENANT)
READING = [
    "/feed",
    "/feed?order=oldest",
    "/feed?show=unread",
    "/saved",
    "/lists",
    "/lists/add?post=1/1",
    "/mutes",
    "/search",
    "/search?q=мост",
    "/search/suggest?q=fr",
    "/ask",
    "/ask?q=мост",
    "/changes",
    "/channels",
    "/channels?order=posts",
    "/channels/export/opml",
    "/channels/export/txt",
    "/digest",
    "/digest/plan",
    "/interests",
    "/trends",
    "/tags",
    "/go",
    "/go/found?q=city",
    "/spread/1",
]

MAX_QUERIES = 12


@pytest.mark.parametrize("path", READING)
@pytest.mark.parametrize("language", ["en", "ru"])
async def test_every_page_opens_in_both_languages(
    app: App, tenant_id: TenantId, system: SystemStores, admin: Admin, path: str, language: str
) -> None:
    await make_followed(system, admin, tenant_id, "Мост открыт", "Мост закрыт")
    async with member_browser(app, tenant_id, language=language) as browser:
        assert (await browser.open(f".{path}")).status_code == 200


async def test_a_post_shows_its_versions(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_followed(system, admin, tenant_id, "The bridge opens at noon")
    now = datetime.now(UTC).replace(microsecond=0)
    edited = make_post(
        channel_id=channel_id,
        message_id=1,
        text="The bridge opens at night",
        posted_at=now - timedelta(minutes=1),
        edited_at=now,
    )
    await system.landing.land(make_page(edited), Claim(channel_id, 0))
    answer = await owner.open(f"./post/{channel_id}/1")
    assert answer.status_code == 200
    assert "edited 1 time" in answer.text


async def test_a_viewer_may_read_and_may_not_save_searches(app: App, tenant_id: TenantId) -> None:
    async with member_browser(app, tenant_id, role=MemberRole.VIEWER) as viewer:
        assert (await viewer.open("./feed")).status_code == 200
        assert (await viewer.submit("./search/saved", name="x", query="мост")).status_code == 403


async def test_a_saved_search_is_kept_until_it_is_deleted(owner: Browser) -> None:
    await owner.open("./search?q=мост")
    await owner.submit("./search/saved", name="bridges", query="мост")
    page = (await owner.open("./search")).text
    assert ">bridges</a>" in page
    search = page.partition("/search/saved/")[2].partition("/delete")[0]
    await owner.submit(f"./search/saved/{search}/delete")
    assert ">bridges</a>" not in (await owner.open("./search")).text


async def test_a_search_can_be_narrowed_watched_and_taken_along(owner: Browser) -> None:
    page = (await owner.open("./search?q=мост&period=30d&changed=edited&order=newest")).text
    assert '<option value="30d" selected>' in page
    assert (
        '/watches/new?kind=changes&amp;name=%D0%BC%D0%BE%D1%81%D1%82&amp;query=%D0%BC%D0%BE%D1%81%D1%82"'
        in page
    )
    assert not [word for word in ("QDRANT_URL", "VECTORS_DIR", "vector") if word in page]
    file = await owner.open("./search/file/csv?q=мост")
    assert file.headers["content-type"] == "text/csv; charset=utf-8"
    assert file.text.startswith('\ufeff"posted_at","channel","link","text"')
    assert (await owner.open("./search/file/exe?q=мост")).status_code == 404
    await owner.open("./search?q=мост")
    assert "/feeds/feed_" in (await owner.submit("./search/feed", query="мост")).text


async def test_a_question_is_answered_above_what_is_found(owner: Browser) -> None:
    page = (await owner.open("./search?q=Что+с+мостом%3F")).text
    assert "/ask/brief?q=" in page
    assert "/ask?q=" in (await owner.open("./ask/brief?q=Что+с+мостом%3F")).text


@pytest.mark.parametrize("route", CLOSED, ids=lambda route: f"{type(route).__name__} {route.path}")
async def test_without_a_session_every_page_leads_to_the_login(browser: Browser, route: AnyRoute) -> None:
    prefix = "/t/00000000-0000-4000-8000-000000000000" if route in OF_TENANT else ""
    path = prefix + route.path.replace("{channel:int}", "1").replace("{message:int}", "1").replace(
        "{ordinal:int}", "1"
    )
    answer = await (browser.open(path) if isinstance(route, Page) else browser.submit(path))
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/login")


@pytest.mark.parametrize("path", ["/login", "/nothing/here", "/static/look.css", "/t/x/feed"])
async def test_every_answer_has_the_content_security_policy(browser: Browser, path: str) -> None:
    answer = await browser.open(path)
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ],
    ids=str,
)
async def test_a_form_from_another_site_changes_nothing(owner: Browser, headers: dict[str, str]) -> None:
    await owner.open("./mutes")
    answer = await owner.submit("./mutes", headers=headers, word="forged")
    assert answer.status_code == 403
    assert "forged" not in (await owner.open("./mutes")).text


@pytest.mark.parametrize("token", ["", "x", "x.y", "0" * 32 + "." + "0" * 64])
async def test_a_form_without_our_token_changes_nothing(owner: Browser, token: str) -> None:
    await owner.open("./mutes")
    assert (await owner.submit("./mutes", csrf=token, word="forged")).status_code == 403


async def test_the_token_of_one_session_does_not_serve_another(
    app: App, owner: Browser, tenant_id: TenantId
) -> None:
    async with member_browser(app, tenant_id) as other:
        await other.open("./mutes")
        owner.page = other.page
        assert (await owner.submit("./mutes", word="forged")).status_code == 403


async def test_over_plain_http_on_a_local_network_forms_work(owner: Browser) -> None:
    """Such browsers send no Sec-Fetch-Site."""
    await owner.open("./mutes")
    assert (await owner.submit("./mutes", headers={"Origin": ADDRESS}, word="football")).status_code == 303


async def test_cookies_are_secure_where_the_page_came_over_https(app: App, tenant_id: TenantId) -> None:
    await person_with_password(app, tenant_id)
    async with open_browser(app) as plain:
        answer = await plain.open("/login")
    assert "Secure" not in answer.headers["set-cookie"]
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "SameSite=lax" in answer.headers["set-cookie"]
    async with open_browser(app) as secure:
        secure.client.base_url = httpx.URL("https://web")
        answer = await secure.open("/login")
    assert "Secure" in answer.headers["set-cookie"]


async def test_a_russian_reader_gets_russian_pages(app: App, tenant_id: TenantId) -> None:
    async with member_browser(app, tenant_id, language="ru-RU,ru;q=0.9,en;q=0.8") as browser:
        assert '<html lang="ru"' in (await browser.open("./feed")).text


def test_every_page_says_how_many_queries_it_may_cost() -> None:
    queries = {
        route.path: route.queries for route in (*OPEN, *OF_PERSON, *OF_TENANT) if isinstance(route, Page)
    }
    assert all(queries.values())
    grows_with_tenants = {"/operations/tenants"}
    assert {path for path, count in queries.items() if count > MAX_QUERIES} == grows_with_tenants
