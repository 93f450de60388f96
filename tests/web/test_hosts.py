"""Pages answer under the names of this installation only: a foreign name leads here by DNS rebinding."""

import secrets

import pytest

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.settings import Settings, read_settings
from testkit.web_clients import Browser, open_browser
from tests.web.test_pages_languages import english_in

PASSWORD = "correct horse battery"
FOREIGN = [
    "evil.example",
    "evil.example:8000",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "localhost@evil.example",
    "news.example@evil.example",
    "2130706433",
    "0x7f.1",
    "",
]
OWN = [
    "localhost",
    "localhost:8000",
    "LOCALHOST.",
    "127.0.0.1:8000",
    "[::1]:8000",
    "192.168.1.7",
    "[fd00::7]:8000",
    "news.example",
    "desk:8000",
]


def with_names(settings: Settings) -> Settings:
    """An installation that people know as news.example, and its neighbours as desk."""
    web, http = (
        settings.web.model_copy(update={"base_url": "https://news.example"}),
        settings.http.model_copy(update={"allowed_hosts": ("desk",)}),
    )
    return settings.model_copy(update={"web": web, "http": http})


@pytest.mark.parametrize("host", FOREIGN)
@pytest.mark.parametrize(
    "path", ["/", "/login", "/start", "/link/x", "/t/x/feed", "/feeds/x.rss", "/nothing"]
)
async def test_no_page_answers_under_a_foreign_name(browser: Browser, path: str, host: str) -> None:
    refused = await browser.open(path, Host=host)
    assert refused.status_code == 421
    assert "set BASE_URL" in refused.text


@pytest.mark.turns("BASE_URL")
@pytest.mark.turns("ALLOWED_HOSTS")
@pytest.mark.parametrize("host", OWN)
async def test_addresses_this_machine_and_the_names_that_are_set_are_answered(
    installation: Settings, host: str
) -> None:
    async with assemble(with_names(installation)) as app, open_browser(app) as browser:
        assert (await browser.open("/login", Host=host)).status_code in {200, 303}


async def test_a_session_is_of_no_use_under_a_foreign_name(owner: Browser) -> None:
    assert (await owner.open("./members")).status_code == 200
    assert (await owner.open("./members", Host="evil.example")).status_code == 421
    answer = await owner.submit(
        "./members/invite", role="owner", headers={"Host": "evil.example", "Origin": "http://evil.example"}
    )
    assert answer.status_code == 421


async def test_the_refusal_can_be_read(app: App) -> None:
    async with open_browser(app, language="ru") as browser:
        refused = await browser.open("/login", Host="evil.example")
        assert english_in(refused.text) == []
        assert "BASE_URL" in refused.text
        style = refused.text.partition('rel="stylesheet" href="')[2].partition('"')[0]
        assert (await browser.open(style, Host="evil.example")).status_code == 200


async def test_a_web_page_cannot_make_itself_the_first_owner(migrated_database: dict[str, str]) -> None:
    async with (
        assemble(read_settings(migrated_database)) as app,
        open_browser(app, address="127.0.0.1") as page,
    ):
        headers = {"Host": "evil.example:8000", "Origin": "http://evil.example:8000"}
        await page.open("/start", Host="evil.example:8000")
        made = await page.submit("/start", name="Ева", password=PASSWORD, headers=headers)
        assert made.status_code == 421
        assert (await page.open("/login")).headers["location"] == "/start"


@pytest.mark.parametrize(("host", "is_told"), [("news.example", False), ("192.168.1.7:8000", True)])
async def test_who_would_log_in_over_plain_http_is_told_where_to_do_it(
    installation: Settings, tenant_id: TenantId, host: str, is_told: bool
) -> None:
    async with assemble(with_names(installation)) as app, open_browser(app) as browser:
        await app.system.users.join(tenant_id, f"person {secrets.token_hex(6)}")
        page = (await browser.open("/login", Host=host)).text
    assert ('Log in at <a class="link" href="https://news.example/login">' in page) is is_told
