"""Getting started: from an empty installation to an account that is used, on pages alone,
against a simulator.
"""

import html
import re
from collections.abc import AsyncIterator

import pytest

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.channels.channel_requests import RequestKind
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.settings import Settings
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.telegram.vault import make_key
from telegram_simulator.control.operations import Control
from telegram_simulator.control.other_apps import OtherApps
from telegram_simulator.simulator import Simulator
from testkit.checkouts import CHECKOUT
from testkit.factories import make_tenant
from testkit.web_clients import Browser, member_browser
from tests.conftest import Admin
from tests.ingest.running import running_ingest
from tests.streams.conftest import until
from tests.telegram.conftest import control, fresh_config, rsa_key, sim, telethons_config

__all__ = ["control", "fresh_config", "rsa_key", "sim", "telethons_config"]

DIGITS, CODE, PASSWORD = "79995550401", "12345", "сезам"
API_HASH = "0123456789abcdef0123456789abcdef"
QUESTION = re.compile(r'/setup/login/([0-9a-f-]+)/answer".*?name="question" value="(\d+)"', re.DOTALL)


@pytest.fixture(autouse=True)
async def nothing_entered(admin: Admin) -> None:
    for table in ("telegram_accounts", "login_attempts", "telegram_secrets", "ingest_keys"):
        await admin.execute(f"DELETE FROM {table}")


@pytest.fixture
async def operator(app: App, system: SystemStores) -> AsyncIterator[Browser]:
    """The owner of the operator's tenant."""
    tenant = await system.tenants.ensure("default", is_operator=True)
    async with member_browser(app, tenant.tenant_id) as made:
        yield made


@pytest.fixture
async def ingest_beside(database: dict[str, str], sim: Simulator) -> AsyncIterator[None]:
    async with running_ingest(database, sim, TELEGRAM_API_ID="1", TELEGRAM_API_HASH="any"):
        yield


async def shows(browser: Browser, *words: str) -> None:
    """Waits until the page says all of this."""

    async def is_shown() -> bool:
        page = html.unescape((await browser.open("./setup")).text)
        return all(word in page for word in words)

    await until(is_shown)


async def answer(browser: Browser, text: str) -> None:
    match = QUESTION.search(browser.page)
    assert match
    sent = await browser.submit(f"./setup/login/{match[1]}/answer", question=match[2], answer=text)
    assert sent.status_code == 303


def states(page: str) -> list[str]:
    return re.findall(r'<h2 class="step".*?<span class="chip \w*">(\w+)</span>', page, re.DOTALL)


async def test_an_empty_installation_says_what_comes_first(operator: Browser) -> None:
    page = html.unescape((await operator.open("./setup")).text)
    assert states(page) == ["now", "later", "later", "later"]
    assert "First start the ingest role with SESSION_ENCRYPTION_KEY" in page
    assert "PREVIEWS_ENABLED=true" in page
    await operator.open("./mutes")  # for the token of a form
    refused = await operator.submit("./setup/application", api_id="12345", api_hash=API_HASH)
    assert "No key can seal this secret yet" in refused.text


async def test_an_owner_of_another_tenant_reads_no_server_variables(app: App, system: SystemStores) -> None:
    await system.tenants.ensure("default", is_operator=True)
    tenant = await make_tenant(system)
    async with member_browser(app, tenant) as owner:
        page = html.unescape((await owner.open("./setup")).text)
    assert "This installation cannot store logins yet" in page
    for operators_word in ("SESSION_ENCRYPTION_KEY", "SECRET_KEY", "PREVIEWS_ENABLED", "tga "):
        assert operators_word not in page


async def test_an_owner_enters_the_application_and_logs_in_with_a_qr_code_and_a_password(
    operator: Browser, database: dict[str, str], sim: Simulator, control: Control, admin: Admin
) -> None:
    control.account(DIGITS, password=PASSWORD)
    async with running_ingest(database, sim):
        await shows(operator, "Seal and save")
        assert "An api_hash has 32 characters: digits and letters a to f." in operator.page
        assert "minlength" not in operator.page
        for wrong in ("any", "not a hash"):
            refused = await operator.submit("./setup/application", api_id="12345", api_hash=wrong)
            assert "Api_hash has 32 characters" in refused.text
        for wrong in ("", "x"):
            refused = await operator.submit("./setup/application", api_id=wrong, api_hash=API_HASH)
            assert "Api_id is a number" in refused.text
        assert (
            await operator.submit("./setup/application", api_id=" 12345 ", api_hash=API_HASH)
        ).status_code == 303
        await shows(operator, "Application 12345", "Log in with a QR code")
        assert states(operator.page) == ["done", "now", "later", "later"]
        await operator.submit("./setup/login", way="qr")
        await shows(operator, "Point the camera at this code")
        (link,) = re.findall(r'href="(tg://login\?token=[^"]+)"', operator.page)
        OtherApps(sim).accept_login(DIGITS, html.unescape(link))
        await shows(operator, "Two-step password of the account")
        await answer(operator, "тополь")
        await shows(operator, "This password is wrong. Try again.")
        await answer(operator, PASSWORD)
        await shows(operator, "The account +7999*****01 is logged in")
    assert states(operator.page) == ["done", "done", "now", "later"]
    rows = str(
        [
            list(row)
            for table in ("telegram_secrets", "login_attempts")
            for row in await admin.fetch(f"SELECT t::text FROM {table} t")
        ]
    )
    assert not [
        secret
        for secret in (API_HASH, PASSWORD, link.partition("=")[2])
        if secret in rows or secret.encode().hex() in rows
    ]


@pytest.mark.turns("TELEGRAM_DC_ADDR")
async def test_the_page_takes_what_the_documentation_of_the_simulator_enters(
    installation: Settings, database: dict[str, str], sim: Simulator
) -> None:
    """With a simulator the page accepts any api_id and hash, as docs/simulator.md says.

    With Telegram itself the page refuses them with a reason, instead of the browser without one.
    """
    telegram = installation.telegram.model_copy(update={"dc_addr": "127.0.0.1", "dc_port": 8443})
    async with (
        running_ingest(database, sim),
        assemble(installation.model_copy(update={"telegram": telegram})) as app,
    ):
        tenant = await app.system.tenants.ensure("default", is_operator=True)
        async with member_browser(app, tenant.tenant_id) as browser:
            await shows(browser, "which accepts any number and any api_hash")
            assert "minlength" not in browser.page
            assert (
                await browser.submit("./setup/application", api_id="1", api_hash="any")
            ).status_code == 303
            await shows(browser, "Application 1")


@pytest.mark.usefixtures("ingest_beside")
async def test_phone_and_code_log_in_and_wrong_answers_are_asked_for_again(
    owner: Browser, control: Control
) -> None:
    control.account(DIGITS)
    await shows(owner, "Log in by phone number")
    await owner.submit("./setup/login", way="phone")
    await shows(owner, "Phone number of the account")
    await answer(owner, "+7 99")
    await shows(owner, "This is not a phone number")
    await answer(owner, f"+{DIGITS}")
    await shows(owner, "Telegram sent the code to your app", "not by SMS")
    page = owner.page
    await answer(owner, "11111")
    owner.page = page
    await answer(owner, "22222")  # pressed twice: the second changes nothing
    await shows(owner, "This code is wrong. Try again.")
    await answer(owner, CODE)
    await shows(owner, "The account +7999*****01 is logged in")
    log = (await owner.open("./audit")).text
    assert log.count("<code>answer_login</code>") == 4
    assert not [secret for secret in (DIGITS, CODE, "11111") if secret in log]


async def test_a_login_that_ingest_did_not_survive_is_offered_again(
    owner: Browser, database: dict[str, str], sim: Simulator, control: Control, admin: Admin
) -> None:
    control.account(DIGITS)
    environ = {"TELEGRAM_API_ID": "1", "TELEGRAM_API_HASH": "any", "SESSION_ENCRYPTION_KEY": make_key()}
    async with running_ingest(database, sim, **environ):
        await shows(owner, "Log in by phone number")
        await owner.submit("./setup/login", way="phone")
        await shows(owner, "Phone number of the account")
    await shows(owner, "The ingest role stopped and interrupted your login", "start again")
    async with running_ingest(database, sim, **environ):
        await owner.submit("./setup/login", way="phone")
        await shows(owner, "Phone number of the account")
        await answer(owner, f"+{DIGITS}")
        await shows(owner, "Code from Telegram")
        await admin.execute(
            "UPDATE login_attempts SET taken_by = 'killed#1', served_until = now() - interval '1 second' "
            "WHERE state = 'code_sent'"
        )
        await shows(owner, "The ingest role stopped and interrupted your login")


@pytest.mark.usefixtures("ingest_beside")
async def test_the_code_is_watched_given_up_and_nobody_else_sees_it(
    app: App, owner: Browser, system: SystemStores
) -> None:
    await shows(owner, "Log in with a QR code")
    await owner.submit("./setup/login", way="qr")
    await shows(owner, "Point the camera at this code")
    (watched,) = re.findall(r'hx-get="[^"]*(/setup/login\?seen=[^"]+)"', owner.page)
    assert (await owner.open(f".{html.unescape(watched)}", HX_Request="true")).status_code == 204
    assert "<svg" in (await owner.open("./setup/login?seen=older", HX_Request="true")).text
    (login,) = set(re.findall(r"/setup/login/([0-9a-f-]+)/give-up", owner.page))
    async with member_browser(app, await make_tenant(system)) as stranger:
        page = (await stranger.open("./setup")).text
        assert login not in page
        assert "Point the camera" not in page
        assert (
            await stranger.submit(f"./setup/login/{login}/answer", question="1", answer="12345")
        ).status_code == 404
        await stranger.submit(f"./setup/login/{login}/give-up")
    await owner.open("./setup")
    assert "Point the camera at this code" in owner.page
    await owner.submit(f"./setup/login/{login}/give-up")
    over = await owner.open(f".{html.unescape(watched)}", HX_Request="true")
    assert (over.status_code, over.headers["hx-refresh"]) == (204, "true")
    await shows(owner, "Log in with a QR code")


@pytest.mark.usefixtures("ingest_beside")
async def test_only_the_operator_connects_the_installation(
    app: App, operator: Browser, tenant_id: TenantId
) -> None:
    await shows(operator, "Is Telegram blocked where this server runs?")
    wrong = await operator.submit("./setup/proxy", kind="socks5", address="proxy.example", port="70000")
    assert "A port is a number from 1 to 65535" in wrong.text
    await operator.submit(
        "./setup/proxy",
        kind="socks5",
        address="proxy.example",
        port="1080",
        username="eva",
        password=PASSWORD,
    )
    await shows(operator, "Proxy: socks5 proxy.example:1080")
    async with member_browser(app, tenant_id) as owner:
        page = (await owner.open("./setup")).text
        assert "proxy.example" not in page
        refused = await owner.submit("./setup/proxy", kind="http", address="evil.example", port="1080")
        assert "Only an owner of the operator" in refused.text
        assert (await owner.submit("./setup/proxy/forget")).status_code == 303
    await shows(operator, "Proxy: socks5 proxy.example:1080")
    await operator.submit("./setup/proxy/forget")
    await shows(operator, "Is Telegram blocked where this server runs?")


def test_every_kind_of_request_has_words() -> None:
    page = (CHECKOUT / "src/telegram_assistant/web/templates/setup.html").read_text(encoding="utf-8")
    assert [kind for kind in RequestKind if f'"{kind.value}": _(' not in page] == []
