"""Logging in, sessions, one-time links, invitations and roles."""

import asyncio
import secrets

import pytest

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.features.people.passwords import Passwords
from telegram_assistant.features.people.people import make_login_link
from telegram_assistant.settings import Settings
from telegram_assistant.stores.postgres.people.members import MAX_OPEN_INVITATIONS
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.web.cookies import SESSION
from testkit.web_clients import ADDRESS, Browser, begin_session, member_browser, open_browser
from tests.conftest import Admin

PASSWORD = "correct horse battery"


async def person_with_password(app: App, tenant_id: TenantId, role: MemberRole = MemberRole.VIEWER) -> str:
    name = f"person {secrets.token_hex(6)}"
    member = await app.system.users.join(tenant_id, name, role=role)
    begun = await begin_session(app, member.user_id)
    await app.api.people.set_password(
        begun.token, old_proof=None, verifier=await Passwords().create_verifier(PASSWORD)
    )
    return name


async def test_a_person_logs_in_with_name_and_password_and_out_again(
    app: App, browser: Browser, tenant_id: TenantId
) -> None:
    name = await person_with_password(app, tenant_id)
    await browser.open("/login")
    answer = await browser.submit("/login", name=name, password=PASSWORD, next="/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    home = await browser.open("/")
    assert home.status_code == 200
    assert '/feed" aria-current="page"' in home.text
    await browser.open("/me")
    await browser.submit("/logout")
    assert (await browser.open("/me")).headers["location"] == "/login?next=/me"


async def test_a_wrong_password_says_so_and_lets_nobody_in(
    app: App, browser: Browser, tenant_id: TenantId
) -> None:
    name = await person_with_password(app, tenant_id)
    await browser.open("/login")
    answer = await browser.submit("/login", name=name, password="wrong horse battery", next="/")
    assert "The name or the password is wrong." in answer.text
    assert SESSION not in browser.client.cookies


async def test_a_login_link_shows_a_button_and_works_once(
    app: App, browser: Browser, system: SystemStores, tenant_id: TenantId
) -> None:
    member = await system.users.join(tenant_id, f"person {secrets.token_hex(6)}")
    token = await make_login_link(member.user_id, users=system.users, created_by="test")
    for _ in range(3):
        response = await browser.open(f"/link/{token}")
        assert f"Hello, {member.name}" in response.text
    assert (await browser.submit(f"/link/{token}")).status_code == 303
    assert (await browser.open("/me")).status_code == 200
    async with open_browser(app) as other:
        assert (await other.open(f"/link/{token}")).status_code == 404


async def test_a_login_begins_a_new_session_whatever_the_browser_had(
    browser: Browser, system: SystemStores, tenant_id: TenantId
) -> None:
    member = await system.users.join(tenant_id, f"person {secrets.token_hex(6)}")
    token = await make_login_link(member.user_id, users=system.users, created_by="test")
    browser.client.cookies.set(SESSION, "chosen-by-somebody-else")
    await browser.open(f"/link/{token}")
    answer = await browser.submit(f"/link/{token}")
    assert "chosen-by-somebody-else" not in answer.headers["set-cookie"]


async def test_an_invited_person_joins_with_the_role_of_the_invitation(
    browser: Browser, owner: Browser
) -> None:
    await owner.open("./members")
    made = await owner.submit("./members/invite", role="viewer")
    link = made.text.partition('class="copy">')[2].partition("<")[0].removeprefix(ADDRESS)
    await browser.open(link)
    joined = await browser.submit(link, name=f"guest {secrets.token_hex(4)}", password=PASSWORD)
    assert joined.status_code == 303
    browser.base = owner.base
    assert (await browser.open("./feed")).status_code == 200
    refused = await browser.open("./members")
    assert refused.status_code == 403
    assert "ask one of its owners" in refused.text


async def test_somebody_who_is_not_a_member_sees_nothing_of_a_tenant(
    app: App, owner: Browser, system: SystemStores
) -> None:
    other_tenant = (await system.tenants.ensure(f"tenant {secrets.token_hex(6)}")).tenant_id
    async with member_browser(app, other_tenant) as stranger:
        stranger.base = owner.base
        foreign = await stranger.open("./feed")
        stranger.base = "/t/00000000-0000-4000-8000-000000000000"
        missing = await stranger.open("./feed")
    assert foreign.status_code == missing.status_code == 404
    assert _without_tokens(foreign.text) == _without_tokens(missing.text)


async def test_the_last_owner_stays_owner(owner: Browser) -> None:
    await owner.open("./members")
    member = owner.page.partition("/members/")[2].partition('"')[0]
    await owner.open(f"./members/{member}")
    answer = await owner.submit(f"./members/{member}/remove")
    assert answer.status_code == 409
    assert "first make somebody else an owner" in answer.text


async def test_a_form_that_is_sent_twice_changes_once(owner: Browser) -> None:
    await owner.open("./members")
    page = owner.page
    await owner.submit("./members/invite", role="viewer")
    owner.page = page
    again = await owner.submit("./members/invite", role="viewer")
    assert again.status_code == 303
    await owner.open("./members")
    assert owner.page.count("/withdraw") == 1


async def test_changes_of_members_are_audited(owner: Browser) -> None:
    await owner.open("./members")
    await owner.submit("./members/invite", role="editor")
    await owner.open("./members")
    assert "<code>invite_member</code>" in owner.page


async def test_an_ended_session_is_over_at_once(app: App, tenant_id: TenantId) -> None:
    async with member_browser(app, tenant_id) as browser:
        await browser.open("/me")
        assert browser.page.count("this browser") == 1
        await app.api.people.end_other_sessions((await begin_session(app, browser.user_id)).token)
        assert (await browser.open("/me")).status_code == 303


async def test_changing_the_password_ends_the_other_sessions(
    app: App, browser: Browser, tenant_id: TenantId
) -> None:
    name = await person_with_password(app, tenant_id)
    async with open_browser(app) as elsewhere:
        for client in (browser, elsewhere):
            await client.open("/login")
            await client.submit("/login", name=name, password=PASSWORD, next="/")
        await browser.open("/me")
        await browser.submit("/me/password", old=PASSWORD, new="another horse battery")
        assert (await browser.open("/me")).status_code == 200
        assert (await elsewhere.open("/me")).status_code == 303


async def test_preferences_decide_language_theme_and_zone(owner: Browser) -> None:
    await owner.open("/me")
    await owner.submit("/me/preferences", language="ru", zone="Asia/Tokyo", theme="dark", feed_order="newest")
    page = (await owner.open("/me")).text
    assert '<html lang="ru" data-theme="dark">' in page
    assert "Asia/Tokyo" in page


@pytest.mark.parametrize(
    "target",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "/a\r\nSet-Cookie: x=1",
    ],
)
async def test_logging_in_never_leads_to_another_site(
    app: App, browser: Browser, tenant_id: TenantId, target: str
) -> None:
    name = await person_with_password(app, tenant_id)
    await browser.open("/login")
    answer = await browser.submit("/login", name=name, password=PASSWORD, next=target)
    assert answer.headers["location"] == "/"


async def test_two_people_cannot_use_one_invitation(app: App, owner: Browser) -> None:
    await owner.open("./members")
    made = await owner.submit("./members/invite", role="viewer")
    link = made.text.partition('class="copy">')[2].partition("<")[0].removeprefix(ADDRESS)

    async def join() -> int:
        async with open_browser(app) as guest:
            await guest.open(link)
            return (
                await guest.submit(link, name=f"guest {secrets.token_hex(4)}", password=PASSWORD)
            ).status_code

    assert sorted(await asyncio.gather(join(), join())).count(303) == 1


def _without_tokens(page: str) -> str:
    return "\n".join(line for line in page.splitlines() if "csrf" not in line and "/static/" not in line)


@pytest.mark.turns("BASE_URL")
async def test_invitations_lead_to_the_address_that_people_type(
    installation: Settings, tenant_id: TenantId
) -> None:
    async with (
        assemble(with_web(installation, base_url="https://news.example")) as app,
        member_browser(app, tenant_id) as owner,
    ):
        await owner.open("./members")
        assert (
            'class="copy">https://news.example/link/'
            in (await owner.submit("./members/invite", role="viewer")).text
        )


@pytest.mark.turns("TRUSTED_PROXIES")
async def test_only_a_trusted_proxy_is_believed_that_the_page_came_over_https(
    installation: Settings, tenant_id: TenantId
) -> None:
    async with assemble(with_web(installation, trusted_proxies=("10.0.0.0/8",))) as app:
        await person_with_password(app, tenant_id)
        cookies = []
        for address in ("10.0.0.7", "192.168.0.7"):
            async with open_browser(app, address=address) as browser:
                cookies.append(
                    (
                        await browser.open("/login", X_Forwarded_Proto="https", X_Forwarded_For="203.0.113.5")
                    ).headers["set-cookie"]
                )
    assert ["Secure" in cooky for cooky in cookies] == [True, False]


async def test_cookies_are_for_https_and_this_host_alone_where_people_open_the_pages_on_https(
    installation: Settings, tenant_id: TenantId
) -> None:
    """Also where the proxy is not trusted, so that everything seems to come over plain HTTP."""
    async with (
        assemble(with_web(installation, base_url="https://news.example")) as app,
        open_browser(app) as browser,
    ):
        name = await person_with_password(app, tenant_id)
        await browser.open("/login")
        visitor = next(cookie for cookie in browser.client.cookies.jar)
        browser.client.cookies.set(
            visitor.name, visitor.value or ""
        )  # httpx would not send it over plain HTTP
        answer = await browser.submit("/login", name=name, password=PASSWORD, next="/")
        cookies = [
            visitor.name,
            *(header.partition("=")[0] for header in answer.headers.get_list("set-cookie")),
        ]
        assert [cookie.startswith("__Host-tga_") for cookie in cookies] == [True] * 3
        for header in answer.headers.get_list("set-cookie"):
            assert {"Secure", "HttpOnly", "Path=/", "SameSite=lax"} <= {
                part.strip() for part in header.split(";")
            }
            assert "Domain" not in header
        token = (
            next(header for header in answer.headers.get_list("set-cookie") if SESSION in header)
            .partition("=")[2]
            .partition(";")[0]
        )
        browser.client.cookies.clear()
        for cookie, status in ((SESSION, 303), (f"__Host-{SESSION}", 200)):
            browser.client.cookies.set(cookie, token)
            assert (await browser.open("/me")).status_code == status


def with_web(settings: Settings, **changed: object) -> Settings:
    return settings.model_copy(update={"web": settings.web.model_copy(update=changed)})


async def test_a_tenant_has_a_bounded_number_of_open_invitations(
    app: App, admin: Admin, owner: Browser, tenant_id: TenantId
) -> None:
    await admin.execute(
        """
        INSERT INTO one_time_links (hash, kind, tenant_id, role, created_by, created_by_user, expires_at)
        SELECT sha256(concat($1::bigint, ' ', n)::bytea), 'invitation', $1, 'viewer', 'test', $2, now()
            + interval '1 day'
        FROM generate_series(1, $3::integer) n
        """,
        tenant_id,
        owner.user_id,
        MAX_OPEN_INVITATIONS - 1,
    )
    await owner.open("./members")
    assert (await owner.submit("./members/invite", role="viewer")).status_code == 200
    await owner.open("./members")
    refused = await owner.submit("./members/invite", role="viewer")
    assert (refused.status_code, "50 invitations are open; withdraw one first" in refused.text) == (409, True)
    (first, *_) = await app.tenant(tenant_id).members.invitations()
    await app.tenant(tenant_id).members.withdraw(first.public_id)
    await owner.open("./members")
    assert (await owner.submit("./members/invite", role="viewer")).status_code == 200
