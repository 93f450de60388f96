"""The audit log records logins, failed attempts, and events of passwords and sessions, by the person's id."""

import secrets
from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.people.person import new_token
from telegram_assistant.features.operations.process_secret import secret_of
from telegram_assistant.features.people.people import hash_name
from telegram_assistant.stores.postgres.people.people import SessionStart
from telegram_assistant.stores.postgres.tenants.audit import AuditedAction
from testkit.web_clients import ADDRESS, Browser, begin_session, member_browser
from tests.conftest import Admin
from tests.web.people.test_people import PASSWORD, person_with_password

MAX_SESSIONS = 20


async def load_audit(app: App, tenant_id: TenantId) -> Mapping[str, AuditedAction]:
    """The newest entry of each kind."""
    entries = await app.tenant(tenant_id).audit.newest(limit=200)
    return {entry.change.action: entry.change for entry in reversed(entries)}


async def load_id(admin: Admin, name: str) -> UUID:
    public_id: UUID = await admin.fetchval("SELECT public_id FROM users WHERE name = $1", name)
    return public_id


async def test_logins_good_and_bad_are_noted_with_the_id_of_the_person(
    app: App, admin: Admin, browser: Browser, tenant_id: TenantId
) -> None:
    name = await person_with_password(app, tenant_id)
    await browser.open("/login")
    await browser.submit("/login", name=name, password="wrong horse battery", next="/")
    await browser.submit("/login", name=name, password=PASSWORD, next="/")
    await browser.open("/me")
    await browser.submit("/me/password", old="wrong horse battery", new="another horse battery")
    await browser.submit("/me/password", old=PASSWORD, new="another horse battery")
    await browser.open("/me")
    await browser.submit("/logout")
    entries = await load_audit(app, tenant_id)
    expected = {
        "log_in_by_link",
        "log_in",
        "log_in_failed",
        "change_password_failed",
        "change_password",
        "end_sessions",
    }
    assert expected <= entries.keys()
    assert {(entries[action].actor, entries[action].actor_id) for action in expected} == {
        (name, await load_id(admin, name))
    }
    assert entries["log_in_failed"].facts["from"]
    assert "horse" not in str(entries)


async def test_a_name_that_nobody_has_is_noted_for_the_operator_without_the_name(
    app: App, browser: Browser, tenant_id: TenantId
) -> None:
    """People type their password into the wrong field."""
    await person_with_password(app, tenant_id)
    mistyped = f"my secret {secrets.token_hex(6)}"
    await browser.open("/login")
    await browser.submit("/login", name=mistyped, password="x", next="/")
    operator = (await app.api.key_directory.operator()).tenant_id
    entry = (await load_audit(app, operator))["log_in_failed"]
    assert (entry.actor, entry.actor_id, entry.facts["name_hash"]) == (
        "unknown",
        None,
        hash_name(mistyped, secret_of(app.settings)),
    )
    assert mistyped not in str(await app.tenant(operator).audit.newest(limit=200))
    assert "log_in_failed" not in await load_audit(app, tenant_id)


async def test_joining_is_noted_in_the_tenant(
    app: App, admin: Admin, browser: Browser, owner: Browser, tenant_id: TenantId
) -> None:
    await owner.open("./members")
    link = (
        (await owner.submit("./members/invite", role="viewer"))
        .text.partition('class="copy">')[2]
        .partition("<")[0]
        .removeprefix(ADDRESS)
    )
    await browser.open(link)
    name = f"guest {secrets.token_hex(4)}"
    await browser.submit(link, name=name, password=PASSWORD)
    entry = (await load_audit(app, tenant_id))["join_tenant"]
    assert (entry.actor, entry.actor_id, entry.facts["role"]) == (name, await load_id(admin, name), "viewer")


async def test_changes_on_pages_and_by_keys_carry_the_id(
    app: App, admin: Admin, owner: Browser, tenant_id: TenantId
) -> None:
    await owner.open("./keys")
    page = (await owner.submit("./keys", name="robot", scope=["read", "admin"], days="90")).text
    key = page.partition('class="copy">')[2].partition("<")[0]
    headers = {"Authorization": f"Bearer {key}"}
    await owner.client.post("/api/v1/keys", headers=headers, json={"name": "child", "scopes": ["read"]})
    public_id = await admin.fetchval("SELECT public_id FROM users WHERE user_id = $1", owner.user_id)
    entries = [
        entry.change
        for entry in await app.tenant(tenant_id).audit.newest()
        if entry.change.action == "create_api_key"
    ]
    assert [entry.actor_id for entry in entries] == [public_id, public_id]
    assert entries[0].key_id is not None
    newest_entry = (await owner.client.get("/api/v1/audit-log", headers=headers)).json()["items"][0]
    assert newest_entry["actor_id"] == str(public_id)


async def test_the_pages_show_the_beginning_of_the_id_so_that_names_that_look_alike_differ(
    app: App, admin: Admin, owner: Browser, tenant_id: TenantId
) -> None:
    latin, cyrillic = [f"{letter}nna {secrets.token_hex(3)}" for letter in ("A", "А")]
    for name in (latin, cyrillic):
        await begin_session(app, (await app.system.users.join(tenant_id, name)).user_id)
    for path in ("./audit", "./members"):
        page = (await owner.open(path)).text
        for name in (latin, cyrillic):
            assert f">{str(await load_id(admin, name))[:8]}</code>" in page


async def test_a_session_ends_after_a_year_however_often_it_is_used(
    app: App, admin: Admin, tenant_id: TenantId
) -> None:
    async with member_browser(app, tenant_id) as browser:
        await age(admin, browser, created="364 days 23 hours", seen="1 day")
        assert (await browser.open("/me")).status_code == 200
        left = await admin.fetchval(
            "SELECT expires_at - now() FROM sessions WHERE user_id = $1", browser.user_id
        )
        assert timedelta() < left <= timedelta(hours=1)
        await admin.execute("UPDATE sessions SET expires_at = now() WHERE user_id = $1", browser.user_id)
        assert (await browser.open("/me")).status_code == 303


async def test_a_session_ends_a_month_after_the_last_visit(
    app: App, admin: Admin, tenant_id: TenantId
) -> None:
    async with member_browser(app, tenant_id) as browser:
        await age(admin, browser, created="60 days", seen="29 days")
        assert (await browser.open("/me")).status_code == 200
        await age(admin, browser, created="60 days", seen="31 days")
        assert (await browser.open("/me")).status_code == 303


async def age(admin: Admin, browser: Browser, *, created: str, seen: str) -> None:
    query = """
    UPDATE sessions SET created_at = now() - $2::text::interval, seen_at = now() - $3::text::interval,
        expires_at = least(now() - $3::text::interval + interval '30 days', now() - $2::text::interval
            + interval '1 year')
    WHERE user_id = $1
    """
    await admin.execute(query, browser.user_id, created, seen)


async def test_a_person_has_twenty_sessions_and_the_one_not_seen_for_longest_ends(
    app: App, admin: Admin, tenant_id: TenantId
) -> None:
    async with member_browser(app, tenant_id) as browser:
        await age(admin, browser, created="3 days", seen="2 days")
        newest = [await begin_session(app, browser.user_id) for _ in range(MAX_SESSIONS)][-1]
        assert (await browser.open("/me")).status_code == 303
    assert len(await app.api.people.sessions(newest.token)) == MAX_SESSIONS
    assert (await load_audit(app, tenant_id))["log_in_by_link"].facts["ended_sessions"] == 1


async def test_no_session_begins_with_more_than_a_year(app: App, admin: Admin, tenant_id: TenantId) -> None:
    async with member_browser(app, tenant_id) as browser:
        link, start = new_token(), SessionStart(new_token(), "test", timedelta(days=1000))
        await app.system.users.make_login_link(
            browser.user_id, link, created_by="test", lifetime=timedelta(hours=1)
        )
        assert await app.api.people.begin_session_by_link(link, start) == browser.user_id
    assert await admin.fetchval(
        "SELECT max(expires_at) <= now() + interval '1 year' FROM sessions WHERE user_id = $1",
        browser.user_id,
    )
