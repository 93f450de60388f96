"""The first owner: a code from the log, once, and nobody who is there already."""

import asyncio

import pytest
from pydantic import SecretStr

from telegram_assistant.assembly import assemble
from telegram_assistant.settings import Settings, read_settings
from telegram_assistant.web.cookies import SESSION
from telegram_assistant.web.pages.people.login import first_owner_code, first_owner_link
from testkit.web_clients import open_browser
from tests.web.people.test_people import PASSWORD, person_with_password, with_web


@pytest.mark.turns("SECRET_KEY")
async def test_the_code_of_the_first_owner_is_the_same_in_every_process_that_has_the_key(
    installation: Settings,
) -> None:
    first, again, other = [
        with_web(installation, secret_key=SecretStr(key)) for key in ("k" * 32, "k" * 32, "l" * 32)
    ]
    assert first_owner_code(first) == first_owner_code(again) != first_owner_code(other)


async def test_the_first_owner_needs_the_code_from_anywhere_and_is_the_only_one(
    migrated_database: dict[str, str],
) -> None:
    settings = read_settings(migrated_database)
    async with (
        assemble(settings) as app,
        open_browser(app) as far,
        open_browser(app, address="127.0.0.1") as near,
    ):
        assert (await far.open("/")).headers["location"] == "/login"
        assert (await far.open("/login")).headers["location"] == "/start"
        for browser in (far, near):
            await browser.open("/start")
            for code in ("wrong", ""):
                refused = await browser.submit("/start", name="Ева", password=PASSWORD, code=code)
                assert "This is not the code" in refused.text
        code = first_owner_code(app.settings)
        made = await asyncio.gather(
            far.submit("/start", name="Ева", password=PASSWORD, code=code),
            near.submit("/start", name="Адам", password=PASSWORD, code=code),
        )
        assert sorted(response.status_code for response in made) == [200, 303]
        assert "This installation already has an owner" in next(
            response.text for response in made if response.status_code == 200
        )
        assert (await far.open("/start")).headers["location"] == "/login"


async def test_the_link_in_the_log_fills_in_the_code(migrated_database: dict[str, str]) -> None:
    async with assemble(read_settings(migrated_database)) as app, open_browser(app) as browser:
        link = first_owner_link(app.settings)
        page = (await browser.open(link.partition(":8000")[2])).text
        code = page.partition('name="code"')[2].partition('value="')[2].partition('"')[0]
        assert code == first_owner_code(app.settings)
        assert (await browser.submit("/start", name="Ева", password=PASSWORD, code=code)).status_code == 303


@pytest.mark.parametrize(
    ("host", "base_url", "begins"),
    [
        ("127.0.0.1", "", "http://127.0.0.1:8000/start?code="),
        ("0.0.0.0", "", "http://127.0.0.1:8000/start?code="),  # noqa: S104 -- nobody listens
        ("::", "", "http://[::1]:8000/start?code="),
        ("192.168.1.7", "", "http://192.168.1.7:8000/start?code="),
        ("0.0.0.0", "https://news.example", "https://news.example/start?code="),  # noqa: S104 -- as above
    ],
)
def test_the_link_of_the_first_owner_can_be_opened(
    installation: Settings, host: str, base_url: str, begins: str
) -> None:
    http = installation.http.model_copy(update={"host": host, "api_port": 8000})
    assert first_owner_link(
        with_web(installation, base_url=base_url).model_copy(update={"http": http})
    ).startswith(begins)


async def test_people_of_other_tenants_log_in_where_the_operator_has_nobody(
    migrated_database: dict[str, str],
) -> None:
    async with assemble(read_settings(migrated_database)) as app, open_browser(app) as browser:
        tenant = await app.system.tenants.ensure("acme")
        name = await person_with_password(app, tenant.tenant_id)
        await browser.open("/login")
        assert (await browser.submit("/login", name=name, password=PASSWORD, next="/")).status_code == 303
        assert (await browser.open("/start")).status_code == 200


async def test_the_page_of_the_first_owner_closes_for_an_owner_without_a_password(
    migrated_database: dict[str, str],
) -> None:
    async with assemble(read_settings(migrated_database)) as app, open_browser(app) as browser:
        operator = await app.system.tenants.ensure("default")
        await browser.open("/start")
        await app.system.users.join(operator.tenant_id, "anna")
        answer = await browser.submit(
            "/start", name="Ева", password=PASSWORD, code=first_owner_code(app.settings)
        )
        assert "This installation already has an owner" in answer.text
        assert (await browser.open("/start")).headers["location"] == "/login"


async def test_the_first_owner_cannot_take_the_name_of_somebody_who_is_there(
    migrated_database: dict[str, str],
) -> None:
    async with assemble(read_settings(migrated_database)) as app, open_browser(app) as browser:
        await app.system.users.join((await app.system.tenants.ensure("acme")).tenant_id, "Alice")
        await browser.open("/start")
        for name in ("Alice", "alice"):
            answer = await browser.submit(
                "/start", name=name, password=PASSWORD, code=first_owner_code(app.settings)
            )
            assert "This name is taken" in answer.text
        assert SESSION not in browser.client.cookies
