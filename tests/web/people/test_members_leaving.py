"""A removed or demoted member of a tenant keeps nothing that lets them or others in."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

import httpx
import pytest

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.tenants.access import KeyScope, MemberRole
from testkit.api_clients import make_client
from testkit.web_clients import ADDRESS, Browser, begin_session, member_browser, open_browser
from tests.conftest import Admin

PASSWORD = "correct horse battery"
HOOK = "https://desk.example/hook"


@dataclass(frozen=True)
class Eve:
    """An owner who has made one of everything, and her browser."""

    browser: Browser
    member: UUID
    invitation: str
    key: str
    feed: str


@asynccontextmanager
async def eve_in(app: App, admin: Admin, tenant_id: TenantId) -> AsyncIterator[Eve]:
    async with member_browser(app, tenant_id) as browser:
        await browser.open("./members")
        invitation = copied_link(await browser.submit("./members/invite", role="owner"))
        await browser.open("./keys")
        key = copied_link(
            await browser.submit("./keys", name="robot", scope=["read", "write", "admin"], days="90")
        )
        await browser.open("./receivers")
        feed = copied_link(await browser.submit("./feeds", feed="story:all"))
        await browser.open("./receivers")
        assert "hook" in (await browser.submit("./receivers", kind="webhook", name="hook", address=HOOK)).text
        member = await admin.fetchval("SELECT public_id FROM users WHERE user_id = $1", browser.user_id)
        yield Eve(browser, member, invitation, key, feed)


def copied_link(answer: httpx.Response) -> str:
    return answer.text.partition('class="copy">')[2].partition("<")[0].removeprefix(ADDRESS)


async def remove(owner: Browser, member: UUID, **fields: str) -> httpx.Response:
    await owner.open(f"./members/{member}")
    return await owner.submit(f"./members/{member}/remove", fields)


async def set_role(owner: Browser, member: UUID, role: str) -> httpx.Response:
    await owner.open(f"./members/{member}")
    return await owner.submit(f"./members/{member}/role", role=role)


async def test_a_removed_owner_does_not_come_back_by_her_own_invitation(
    app: App, admin: Admin, owner: Browser, tenant_id: TenantId
) -> None:
    async with eve_in(app, admin, tenant_id) as eve:
        token = eve.invitation.rpartition("/")[2]
        await eve.browser.open(eve.invitation)
        assert (await remove(owner, eve.member)).status_code == 303
        assert (await eve.browser.submit(f"/join/{token}")).status_code == 404
        assert (await eve.browser.open("./members")).status_code == 404
        async with open_browser(app) as guest:
            assert (await guest.open(eve.invitation)).status_code == 404
    await owner.open("./members")
    assert "/withdraw" not in owner.page


async def test_the_page_says_what_stops_before_somebody_is_removed(
    app: App, admin: Admin, owner: Browser, tenant_id: TenantId
) -> None:
    async with eve_in(app, admin, tenant_id) as eve:
        page = (await owner.open(f"./members/{eve.member}")).text
    assert (
        "These will stop working immediately: 1 open invitation, 1 API key, 1 feed address, 1 receiver."
        in page
    )
    for thing in ("invitation as owner", "robot", "read, write, admin", "hook"):
        assert thing in page


@pytest.mark.parametrize("is_cached", [True, False])
async def test_the_key_of_a_removed_member_stops_at_once_in_every_process(
    app: App, admin: Admin, owner: Browser, tenant_id: TenantId, is_cached: bool
) -> None:
    async with eve_in(app, admin, tenant_id) as eve, make_client(app) as another_process:
        headers = {"Authorization": f"Bearer {eve.key}"}
        if is_cached:
            assert (await another_process.get("/api/v1/me", headers=headers)).status_code == 200
        await remove(owner, eve.member)
        assert (await another_process.get("/api/v1/me", headers=headers)).status_code == 401
        assert (
            await another_process.post(
                "/api/v1/keys", headers=headers, json={"name": "more", "scopes": ["read"]}
            )
        ).status_code == 401
        await app.system.users.join(
            tenant_id, await admin.fetchval("SELECT name FROM users WHERE public_id = $1", eve.member)
        )
        assert (await another_process.get("/api/v1/me", headers=headers)).status_code == 401, (
            "the key came back with its person"
        )


async def test_feeds_end_and_receivers_are_paused_with_a_reason(
    app: App, admin: Admin, owner: Browser, tenant_id: TenantId
) -> None:
    async with eve_in(app, admin, tenant_id) as eve, open_browser(app) as reader:
        assert (await reader.open(f"{eve.feed}")).status_code == 200
        await remove(owner, eve.member)
        assert (await reader.open(f"{eve.feed}")).status_code == 404
    page = " ".join((await owner.open("./receivers")).text.split())
    assert "The person who made this receiver is no longer a member. Sending is paused." in page
    (receiver,) = await app.tenant(tenant_id).receivers.all()
    assert receiver.paused_at is not None
    await owner.submit(f"./receivers/{receiver.receiver_id}/resume")
    (receiver,) = await app.tenant(tenant_id).receivers.all()
    assert (receiver.paused_at, receiver.trouble) == (None, None)


async def test_what_is_kept_changes_hands_and_goes_on(
    app: App, admin: Admin, owner: Browser, tenant_id: TenantId
) -> None:
    async with eve_in(app, admin, tenant_id) as eve, open_browser(app) as reader:
        assert (await remove(owner, eve.member, keep_feeds="yes", keep_receivers="yes")).status_code == 303
        assert (await reader.open(f"{eve.feed}")).status_code == 200
    (receiver,) = await app.tenant(tenant_id).receivers.all()
    assert receiver.paused_at is None
    makers = await admin.fetch(
        "SELECT created_by_user FROM receivers WHERE tenant_id = $1 UNION ALL SELECT created_by_user "
        "FROM feed_addresses WHERE tenant_id = $1",
        tenant_id,
    )
    assert {row[0] for row in makers} == {owner.user_id}


async def test_a_demoted_owner_invites_nobody_and_her_keys_do_no_more_than_she_may(
    app: App, admin: Admin, owner: Browser, tenant_id: TenantId
) -> None:
    async with eve_in(app, admin, tenant_id) as eve, make_client(app) as another_process:
        headers = {"Authorization": f"Bearer {eve.key}"}
        assert (await another_process.get("/api/v1/keys", headers=headers)).status_code == 200
        assert (await set_role(owner, eve.member, "viewer")).status_code == 303
        assert (await another_process.get("/api/v1/keys", headers=headers)).status_code == 403
        assert (await another_process.get("/api/v1/me", headers=headers)).status_code == 200
        async with open_browser(app) as guest:
            assert (await guest.open(eve.invitation)).status_code == 404
        assert (await eve.browser.open("./members")).status_code == 403
        await set_role(owner, eve.member, "owner")
        assert (await another_process.get("/api/v1/keys", headers=headers)).status_code == 403, (
            "the scopes came back with the role"
        )
    (key,) = await app.tenant(tenant_id).keys.newest()
    assert key.scopes == (KeyScope.READ,)


async def test_the_command_line_lowers_a_role_with_the_same_effect(
    app: App, admin: Admin, owner: Browser, tenant_id: TenantId
) -> None:
    assert owner.user_id
    async with eve_in(app, admin, tenant_id) as eve, open_browser(app) as guest:
        name = await admin.fetchval("SELECT name FROM users WHERE public_id = $1", eve.member)
        await app.system.users.join(tenant_id, name, role=MemberRole.EDITOR)
        assert (await guest.open(eve.invitation)).status_code == 404


async def test_an_invitation_cannot_slip_past_the_removal_of_its_author(
    app: App, admin: Admin, owner: Browser, tenant_id: TenantId
) -> None:
    for _ in range(5):
        async with eve_in(app, admin, tenant_id) as eve:
            await eve.browser.open("./members")
            await owner.open(f"./members/{eve.member}")
            answers = await asyncio.gather(
                eve.browser.submit("./members/invite", role="owner"),
                owner.submit(f"./members/{eve.member}/remove"),
                return_exceptions=False,
            )
            link = copied_link(answers[0])
            async with open_browser(app) as guest:
                assert not link or (await guest.open(link)).status_code == 404
        await admin.execute("DELETE FROM receivers WHERE tenant_id = $1", tenant_id)


async def test_two_owners_who_remove_each_other_leave_one(
    app: App, tenant_id: TenantId, admin: Admin
) -> None:
    async with member_browser(app, tenant_id) as anna, member_browser(app, tenant_id) as boris:
        ids = [
            await admin.fetchval("SELECT public_id FROM users WHERE user_id = $1", owner.user_id)
            for owner in (anna, boris)
        ]
        await anna.open(f"./members/{ids[1]}")
        await boris.open(f"./members/{ids[0]}")
        answers = await asyncio.gather(
            anna.submit(f"./members/{ids[1]}/remove"), boris.submit(f"./members/{ids[0]}/remove")
        )
    assert 303 in [answer.status_code for answer in answers]
    assert len(await app.tenant(tenant_id).members.all()) == 1


async def test_a_session_of_somebody_else_removes_nobody(
    app: App, owner: Browser, tenant_id: TenantId
) -> None:
    """Not of an editor here, nor of an owner of another tenant."""
    members = app.tenant(tenant_id).members
    editor = await app.system.users.join(tenant_id, f"person {secrets.token_hex(6)}", role=MemberRole.EDITOR)
    stranger = await app.system.users.join(
        (await app.system.tenants.ensure(secrets.token_hex(6))).tenant_id, f"person {secrets.token_hex(6)}"
    )
    (target,) = [listed for listed in await members.all() if listed.role is MemberRole.OWNER]
    assert owner.user_id
    for person in (editor, stranger):
        session = (await begin_session(app, person.user_id)).token
        assert await members.remove(target.public_id, session=session) is None
        assert await members.set_role(target.public_id, MemberRole.VIEWER, session=session) is None
