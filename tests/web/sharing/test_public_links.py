"""Public links: they show what their maker sees, and nothing else, until they end."""

import re
from uuid import UUID

import pytest

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import PostId, TenantId
from telegram_assistant.domain.people.person import new_token
from telegram_assistant.settings import Settings
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.telemetry.scrubbing import scrub_text
from telegram_assistant.web.limits import LINK_AT_ONCE, LINK_PER_MINUTE
from testkit.web_clients import Browser, open_browser
from tests.conftest import Admin
from tests.web.stories.test_stories import ALONE, BRIDGE, RETOLD, bridge

ADDRESS = re.compile(r"/s/(share_[\w-]{43})")
ENDS = {
    "revoked": "DELETE FROM public_links WHERE tenant_id = $1",
    "expired": "UPDATE public_links SET expires_at = now() WHERE tenant_id = $1",
    "member removed": "DELETE FROM memberships WHERE tenant_id = $1",
    "role lowered": "UPDATE memberships SET role = 'viewer' WHERE tenant_id = $1",
    "tenant suspended": "UPDATE tenants SET suspended_at = now() WHERE tenant_id = $1",
    "channels no longer followed": "UPDATE subscriptions SET active = false WHERE tenant_id = $1",
    "story muted": (
        "INSERT INTO feedback (tenant_id, user_id, channel_id, message_id, feedback, headline) "
        "SELECT l.tenant_id, l.user_id, split_part(l.subject, '/', 1)::bigint, "
        "split_part(l.subject, '/', 2)::bigint, 'muted', '' FROM public_links l WHERE l.tenant_id = $1"
    ),
}


async def make_link(owner: Browser, story: PostId, *, days: str = "7") -> str:
    """The path of a new link."""
    await owner.open(f"./links?kind=story&subject={story}")
    page = await owner.submit("./links", {"kind": "story", "subject": str(story), "days": days})
    assert page.status_code == 200
    found_address = ADDRESS.search(page.text)
    assert found_address is not None
    return found_address[0]


async def test_a_link_shows_the_story_to_a_stranger_and_asks_for_nothing(
    owner: Browser, browser: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    first, _ = await bridge(system, admin, tenant_id)
    assert f"/links?kind=story&amp;subject={first}" in (await owner.open(f"./story/{first}")).text
    path = await make_link(owner, first)
    answer = await browser.client.get(path, headers={"Accept-Language": "ru"})
    assert answer.status_code == 200
    assert BRIDGE in answer.text
    assert RETOLD in answer.text
    assert 'lang="ru"' in answer.text
    assert "noindex" in answer.headers["x-robots-tag"]
    assert 'name="robots" content="noindex' in answer.text
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"
    assert "set-cookie" not in answer.headers
    assert "<script" not in answer.text
    assert "<form" not in answer.text


async def test_a_link_reveals_no_id_no_name_and_no_way_into_the_installation(
    owner: Browser, browser: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    first, _ = await bridge(system, admin, tenant_id)
    path = await make_link(owner, first)
    text = (await browser.client.get(path)).text
    links = re.findall(r'href="([^"]*)"', text)
    assert {
        link.partition("/")[0] for link in links if not link.startswith(("#", "https://t.me/", "data:,"))
    } == {""}
    assert [link for link in links if link.startswith("/")] == [link for link in links if "/static/" in link]
    tenant = await admin.fetchval("SELECT public_id FROM tenants WHERE tenant_id = $1", tenant_id)
    people = await admin.fetch(
        "SELECT u.name, u.public_id FROM memberships JOIN users u USING (user_id) WHERE tenant_id = $1",
        tenant_id,
    )
    for secret in (tenant, path.removeprefix("/s/"), *(value for person in people for value in person)):
        assert str(secret) not in text
    assert ALONE not in text, "no other story"
    assert "Библиотек" not in text


@pytest.mark.parametrize("ending", ENDS.values(), ids=ENDS.keys())
async def test_a_link_that_has_ended_looks_like_one_that_never_was(
    owner: Browser, browser: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId, ending: str
) -> None:
    first, _ = await bridge(system, admin, tenant_id)
    path = await make_link(owner, first)
    assert (await browser.client.get(path)).status_code == 200
    await admin.execute(ending, tenant_id)
    ended, unknown = [await browser.client.get(address) for address in (path, f"/s/share_{new_token()}")]
    assert ended.status_code == unknown.status_code == 404
    assert ended.text == unknown.text
    assert "set-cookie" not in ended.headers
    assert "noindex" in ended.headers["x-robots-tag"]


async def test_a_role_that_comes_back_brings_no_link_back(
    owner: Browser, browser: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    first, _ = await bridge(system, admin, tenant_id)
    path = await make_link(owner, first)
    for role in ("viewer", "owner"):
        await admin.execute("UPDATE memberships SET role = $2 WHERE tenant_id = $1", tenant_id, role)
    assert (await browser.client.get(path)).status_code == 404


async def test_an_erased_post_is_gone_from_the_link_at_once(
    owner: Browser, browser: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    first, second = await bridge(system, admin, tenant_id)
    path = await make_link(owner, first)
    await admin.execute("DELETE FROM posts WHERE channel_id = $1 AND message_id = $2", *second)
    text = (await browser.client.get(path)).text
    assert "Осмотр опор" in text
    assert "Каменку" not in text


async def test_a_muted_channel_is_left_out(
    owner: Browser, browser: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    first, second = await bridge(system, admin, tenant_id)
    path = await make_link(owner, first)
    await owner.submit("./mutes", {"channel": str(second.channel_id)})
    text = (await browser.client.get(path)).text
    assert "Осмотр опор" in text
    assert "Каменку" not in text
    assert "Дороги края" not in text


@pytest.mark.parametrize("muting", [{"word": "мост"}, {"word": "Каменк"}])
async def test_a_muted_story_says_why_it_has_no_link(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId, muting: dict[str, str]
) -> None:
    first, _ = await bridge(system, admin, tenant_id)
    await owner.open("./mutes")
    await owner.submit("./mutes", muting)
    page = await owner.open(f"./links?kind=story&subject={first}")
    assert page.status_code == 200
    assert "unmute it to share it" in page.text
    assert 'name="days"' not in page.text
    await owner.open("./mutes")
    made = await owner.submit("./links", {"kind": "story", "subject": str(first), "days": "7"})
    assert made.status_code == 409
    assert not ADDRESS.search(made.text)


@pytest.mark.parametrize(
    "guess", ["share_", "share_x", "feed_x", "..%2Fs", "%00", "%F0%9F%98%80", "a" * 2000]
)
async def test_a_guess_is_not_found(browser: Browser, guess: str) -> None:
    answer = await browser.client.get(f"/s/{guess}")
    assert answer.status_code in {404, 422}
    assert "Traceback" not in answer.text


async def test_a_link_is_listed_audited_and_revoked_by_its_maker_alone(
    app: App, owner: Browser, browser: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    first, _ = await bridge(system, admin, tenant_id)
    path = await make_link(owner, first)
    link_id = await admin.fetchval("SELECT link_id FROM public_links WHERE tenant_id = $1", tenant_id)
    page = (await owner.open("./links")).text
    assert f"/links/{link_id}/revoke" in page
    assert path not in page, "the address is shown only once"
    colleague = await system.users.join(tenant_id, f"colleague {new_token()[:6]}")
    assert not await app.person(tenant_id, colleague.user_id).public_links.revoke(UUID(str(link_id)))
    assert (await owner.submit(f"./links/{link_id}/revoke", {})).status_code == 303
    assert (await browser.client.get(path)).status_code == 404
    rows = await admin.fetch(
        "SELECT action, facts::text FROM audit_log WHERE tenant_id = $1 AND action LIKE '%public_link'",
        tenant_id,
    )
    assert {row["action"] for row in rows} == {"create_public_link", "revoke_public_link"}
    assert not any("share_" in row["facts"] for row in rows)


@pytest.mark.parametrize(("days", "status"), [("0", 422), ("91", 422), ("x", 422), ("-1", 422), ("90", 200)])
async def test_a_link_works_for_one_to_ninety_days(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId, days: str, status: int
) -> None:
    first, _ = await bridge(system, admin, tenant_id)
    await owner.open(f"./links?kind=story&subject={first}")
    form = {"kind": "story", "subject": str(first), "days": days}
    assert (await owner.submit("./links", form)).status_code == status


async def test_one_network_does_not_open_links_without_end(installation: Settings) -> None:
    web = installation.web.model_copy(update={"per_minute": 10})
    async with (
        assemble(installation.model_copy(update={"web": web})) as app,
        open_browser(app, address="203.0.113.77") as browser,
    ):
        statuses = [(await browser.client.get("/s/share_x")).status_code for _ in range(4)]
    assert statuses[0] == 404
    assert statuses[-1] == 429


async def test_one_link_is_not_opened_without_end(
    owner: Browser, browser: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    first, _ = await bridge(system, admin, tenant_id)
    path = await make_link(owner, first)
    for _ in range(LINK_AT_ONCE + LINK_PER_MINUTE):
        answer = await browser.client.get(path)
        if answer.status_code == 429:
            break
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) >= 1
    assert "set-cookie" not in answer.headers
    assert "this link is opened too often" in answer.text.lower()


def test_a_token_is_hidden_in_logs() -> None:
    token = f"share_{new_token()}"
    assert token not in scrub_text(f"GET /s/{token} failed")


@pytest.mark.parametrize("language", ["en", "ru"])
async def test_the_form_names_private_channels_before_the_link_is_made(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId, language: str
) -> None:
    first, second = await bridge(system, admin, tenant_id)
    form = f"./links?kind=story&subject={first}"
    owner.client.headers["Accept-Language"] = language
    assert "Дороги края" not in (await owner.open(form)).text
    await admin.execute("UPDATE channels SET is_private = true WHERE channel_id = $1", second.channel_id)
    page = " ".join((await owner.open(form)).text.split())
    warnings = {
        "en": "Everybody who has the link reads posts of 1 private channel, too: Дороги края.",
        "ru": "По ссылке все увидят и посты 1 закрытого канала: Дороги края.",
    }
    assert warnings[language] in page
    assert (await make_link(owner, first)).startswith("/s/")


async def test_a_form_for_a_story_that_nobody_here_sees_is_not_shown(owner: Browser) -> None:
    assert (await owner.open("./links?kind=story&subject=1/1")).status_code == 404
    assert (await owner.open("./links?kind=digest&subject=x")).status_code == 404
