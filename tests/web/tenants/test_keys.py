"""API keys and the audit log, as owners see them."""

import pytest

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.stores.postgres.tenants.audit import AuditedAction
from telegram_assistant.stores.postgres.tenants.keys import MAX_KEYS_OF_PERSON
from testkit.web_clients import Browser, member_browser
from tests.conftest import Admin
from tests.web.test_pages_languages import english_in


async def test_the_secret_of_a_key_is_shown_once_and_works_until_it_is_revoked(owner: Browser) -> None:
    await owner.open("./keys")
    page = (await owner.submit("./keys", name="dashboard", scope="read", days="90")).text
    secret = page.partition('class="copy">')[2].partition("<")[0]
    assert secret.startswith("tga_")
    headers = {"Authorization": f"Bearer {secret}"}
    assert (await owner.client.get("/api/v1/me", headers=headers)).status_code == 200
    page = (await owner.open("./keys")).text
    assert secret not in page
    assert secret[:10] in page
    assert ">dashboard</b>" in page
    revoke = f"./keys/{page.partition('/keys/')[2][:36]}/revoke"
    answer = await owner.submit(revoke)
    assert "no longer work" in (await owner.open(answer.headers["location"])).text
    assert (await owner.client.get("/api/v1/me", headers=headers)).status_code == 401


async def test_pressing_twice_makes_one_key_and_shows_its_secret_once(
    app: App, owner: Browser, tenant_id: TenantId
) -> None:
    page = (await owner.open("./keys")).text
    await owner.submit("./keys", name="dashboard", scope="read", days="90")
    owner.page = page
    again = await owner.submit("./keys", name="dashboard", scope="read", days="90")
    assert again.status_code == 303
    assert len(await app.tenant(tenant_id).keys.newest()) == 1


async def test_the_audit_log_names_the_key_and_never_its_secret(owner: Browser) -> None:
    await owner.open("./keys")
    secret = (
        (await owner.submit("./keys", name="dashboard", scope=["read", "write"], days=""))
        .text.partition('class="copy">')[2]
        .partition("<")[0]
    )
    page = (await owner.open("./audit")).text
    assert "create_api_key" in page
    assert "name: dashboard" in page
    assert secret not in page


@pytest.mark.parametrize(
    "fields",
    [
        {"name": " ", "scope": "read"},
        {"name": "x"},
        {"name": "x", "scope": "king"},
        {"name": "x", "scope": "read", "days": "7"},
    ],
)
async def test_a_key_that_makes_no_sense_is_refused_in_russian(
    app: App, tenant_id: TenantId, fields: dict[str, str]
) -> None:
    async with member_browser(app, tenant_id, language="ru") as browser:
        await browser.open("./keys")
        assert (await browser.submit("./keys", fields)).status_code == 422
        assert english_in(browser.page) == []


async def test_nobody_but_an_owner_of_the_operator_makes_a_key_that_operates(owner: Browser) -> None:
    assert 'value="operate"' not in (await owner.open("./keys")).text
    assert (await owner.submit("./keys", name="x", scope="operate", days="")).status_code == 403


@pytest.mark.parametrize("path", ["./keys", "./audit"])
async def test_an_editor_sees_neither_keys_nor_the_log(app: App, tenant_id: TenantId, path: str) -> None:
    async with member_browser(app, tenant_id, role=MemberRole.EDITOR) as editor:
        assert (await editor.open(path)).status_code == 403
        assert "/keys" not in (await editor.open("./feed")).text


async def test_the_log_goes_back_page_by_page(app: App, owner: Browser, tenant_id: TenantId) -> None:
    for number in range(105):
        await app.tenant(tenant_id).audit.note(AuditedAction("anna", f"change_{number:03}", "/channels"))
    page = (await owner.open("./audit")).text
    assert "change_104" in page
    assert "change_000" not in page
    older = page.partition("/audit?before=")[2].partition('"')[0]
    assert "change_000" in (await owner.open(f"./audit?before={older}")).text
    assert (await owner.open("./audit?before=wrong")).status_code == 404


@pytest.mark.parametrize("path", ["./keys?done=revoked", "./audit"])
async def test_both_pages_are_in_russian(app: App, tenant_id: TenantId, path: str) -> None:
    async with member_browser(app, tenant_id, language="ru") as browser:
        await browser.open("./keys")
        await browser.submit("./keys", name="dashboard", scope="read", days="30")
        assert english_in(browser.page) == []
        await browser.open(path)
        assert english_in(browser.page) == []


@pytest.mark.parametrize("number_of_owners", [1, 4])
async def test_a_person_and_a_tenant_have_a_bounded_number_of_keys(
    app: App, admin: Admin, owner: Browser, tenant_id: TenantId, number_of_owners: int
) -> None:
    people = [
        owner.user_id,
        *[
            (await app.system.users.join(tenant_id, f"{tenant_id} {number}")).user_id
            for number in range(1, number_of_owners)
        ],
    ]
    for user_id in people:
        await admin.execute(
            """
            INSERT INTO api_keys (tenant_id, hash, user_id, name, prefix, scopes, created_by)
            SELECT $1, sha256(concat($1::bigint, ' ', $2::bigint, ' ', n)::bytea), $2, 'many', 'tga_',
                '{read}', 'test'
            FROM generate_series(1, $3::integer) n
            """,
            tenant_id,
            user_id,
            MAX_KEYS_OF_PERSON - (1 if user_id == owner.user_id and number_of_owners == 1 else 0),
        )
    await owner.open("./keys")
    if number_of_owners == 1:
        assert (await owner.submit("./keys", name="the last", scope="read", days="90")).status_code == 200
        await owner.open("./keys")
    refused = await owner.submit("./keys", name="one more", scope="read", days="90")
    assert refused.status_code == 409
    assert "revoke one first" in refused.text
    await admin.execute("UPDATE api_keys SET revoked_at = now() WHERE tenant_id = $1", tenant_id)
    await owner.open("./keys")
    assert (await owner.submit("./keys", name="again", scope="read", days="90")).status_code == 200
