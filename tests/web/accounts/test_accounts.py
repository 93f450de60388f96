"""The page of accounts: what it says about each, and what its owner can do."""

from telegram_assistant.assembly import App
from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.domain.accounts.budget import SavedMeter
from telegram_assistant.domain.ids import AccountId, TenantId
from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.reasons import quote
from telegram_assistant.stores.postgres.stores import IngestStores
from testkit.web_clients import Browser, member_browser
from tests.web.test_pages_languages import english_in


async def make_account(
    app: App, ingest: IngestStores, tenant_id: TenantId, state: AccountState = AccountState.ACTIVE
) -> AccountId:
    account_id = await app.system.accounts.add(tenant_id)
    await ingest.accounts.save_session(account_id, key_id="the key", session=b"a sealed session")
    await app.system.accounts.set_state(
        account_id, state, None if state is AccountState.ACTIVE else quote("сеанс не открывается")
    )
    return account_id


async def find_action(browser: Browser, name: str) -> str:
    """The address of the form that does it, on the page of the only account."""
    page = (await browser.open("./accounts")).text
    account = page.partition("/accounts/")[2][:36]
    assert f"/accounts/{account}/{name}" in page
    return f"./accounts/{account}/{name}"


async def test_without_an_account_the_page_says_how_to_add_one(owner: Browser) -> None:
    page = (await owner.open("./accounts")).text
    assert "No account yet" in page
    assert f'{owner.base}/setup"' in page


async def test_what_is_left_who_uses_it_and_what_telegram_blocks_is_said_in_plain_words(
    app: App, ingest: IngestStores, tenant_id: TenantId, owner: Browser
) -> None:
    account_id = await make_account(app, ingest, tenant_id)
    await ingest.accounts.take("reader-7#ab")
    await app.system.limits.keep(account_id, "contacts.resolveUsername", SavedMeter(tokens=(1.0, 15.0, 90.0)))
    await app.system.limits.keep(
        account_id, "messages.getHistory", SavedMeter(blocked_seconds=3600, pace=0.49)
    )
    page = " ".join((await owner.open("./accounts")).text.split())
    assert "Telegram blocked reading posts (messages.getHistory) for 60 min" in page
    assert "reading posts <code>messages.getHistory</code>: until <time" in page
    assert "reader-7#ab" in page
    assert "Looking up channels by name <code>contacts.resolveUsername</code>" in page
    assert "1 of 4 left" in page
    assert "sealed" not in page
    assert "the key" not in page
    await ingest.accounts.release("reader-7#ab", account_id)


async def test_an_owner_pauses_resumes_and_logs_out(
    app: App, ingest: IngestStores, tenant_id: TenantId, owner: Browser
) -> None:
    await make_account(app, ingest, tenant_id)
    for action, words in (
        ("pause", "Paused."),
        ("resume", "Resumed."),
        ("logout", "Telegram is ending the session."),
    ):
        answer = await owner.submit(await find_action(owner, action))
        assert words in (await owner.open(answer.headers["location"])).text
    changes = [entry.change.action for entry in await app.tenant(tenant_id).audit.newest(limit=3)]
    assert changes == ["log_out_own_account", "resume_own_account", "pause_own_account"]


async def test_the_login_of_a_quarantined_account_is_deleted_and_a_new_one_offered(
    app: App, ingest: IngestStores, tenant_id: TenantId, owner: Browser
) -> None:
    await make_account(app, ingest, tenant_id, AccountState.QUARANTINED)
    reset = await find_action(owner, "reset")
    assert "сеанс не открывается" in owner.page
    await owner.submit(reset)
    page = (await owner.open("./accounts")).text
    assert "Nobody is logged in yet" in page
    assert "Use a QR code or a phone number" in page


async def test_a_viewer_sees_the_account_and_may_change_nothing(
    app: App, ingest: IngestStores, tenant_id: TenantId, owner: Browser
) -> None:
    await make_account(app, ingest, tenant_id)
    pause = await find_action(owner, "pause")
    async with member_browser(app, tenant_id, role=MemberRole.VIEWER) as viewer:
        assert "/pause" not in (await viewer.open("./accounts")).text
        assert (await viewer.submit(pause.replace("./", f"{viewer.base}/"))).status_code == 403


async def test_in_russian_every_state_is_said_in_russian(
    app: App, ingest: IngestStores, tenant_id: TenantId
) -> None:
    for state in AccountState:
        account_id = await make_account(app, ingest, tenant_id, state)
        await app.system.limits.keep(account_id, "upload.getFile", SavedMeter(blocked_seconds=30))
    async with member_browser(app, tenant_id, language="ru") as browser:
        await browser.open("./accounts?done=logout")
        assert english_in(browser.page) == []
