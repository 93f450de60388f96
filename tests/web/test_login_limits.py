"""How often a password is tried, from where, and what that means for those who know it."""

import asyncio
import secrets
from collections.abc import Sequence

import httpx
import pytest
from pydantic import SecretStr

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.features.operations.process_secret import secret_of
from telegram_assistant.features.people.people import hash_name
from telegram_assistant.settings import Settings
from telegram_assistant.stores.postgres.tenants.audit import AuditEntry
from telegram_assistant.stores.redis.limiter import Limiter
from telegram_assistant.stores.redis.rate_limits import RateLimits
from telegram_assistant.web.access.login_limits import (
    ATTEMPTS_AT_ONCE,
    NAME_AT_ONCE,
    TENANT_NAMES_AT_ONCE,
    TRIED_NAMES_AT_ONCE,
    bucket_of_name,
    bucket_of_tried_names,
)
from telegram_assistant.web.cookies import SESSION
from testkit.engines import free_port
from testkit.web_clients import ADDRESS, Browser, member_browser, open_browser
from tests.web.people.test_people import PASSWORD, person_with_password

TOO_MANY = "Too many attempts"


async def log_in(browser: Browser, name: str, password: str = PASSWORD) -> httpx.Response:
    await browser.open("/login")
    return await browser.submit("/login", name=name, password=password, next="/")


async def guess_until_limited(browser: Browser, name: str) -> list[httpx.Response]:
    """Wrong passwords until one is refused unread.

    On a slow machine some more are read: the limit refills meanwhile.
    """
    answers = [await log_in(browser, name, "x")]
    while answers[-1].status_code == 200:
        assert len(answers) < 3 * ATTEMPTS_AT_ONCE
        answers.append(await log_in(browser, name, "x"))
    return answers


async def use_up(app: App, name: str) -> None:
    """As if the whole web had tried the name."""
    limiter = Limiter(RateLimits(app.redis))
    for _ in range(NAME_AT_ONCE):
        await limiter.take(bucket_of_name(hash_name(name, secret_of(app.settings))))


async def entries(app: App, tenant_id: TenantId) -> Sequence[AuditEntry]:
    return await app.tenant(tenant_id).audit.newest(limit=100)


def without_redis(settings: Settings) -> Settings:
    url = SecretStr(f"redis://127.0.0.1:{free_port()}/0")
    return settings.model_copy(update={"redis": settings.redis.model_copy(update={"url": url})})


async def test_logins_are_limited_while_redis_is_away(installation: Settings, tenant_id: TenantId) -> None:
    async with assemble(without_redis(installation), needs_redis=False) as app, open_browser(app) as stranger:
        answers = await guess_until_limited(stranger, await person_with_password(app, tenant_id))
    assert TOO_MANY in answers[-1].text


async def test_a_name_is_tried_only_so_often_from_one_network(
    app: App, browser: Browser, tenant_id: TenantId
) -> None:
    answers = await guess_until_limited(browser, await person_with_password(app, tenant_id))
    assert len(answers) > ATTEMPTS_AT_ONCE
    assert answers[-1].status_code == 429
    assert TOO_MANY in answers[-1].text
    assert 0 < int(answers[-1].headers["retry-after"]) <= 60


async def test_strangers_do_not_lock_a_name_out(app: App, browser: Browser, tenant_id: TenantId) -> None:
    name = await person_with_password(app, tenant_id)
    async with open_browser(app) as stranger, open_browser(app) as another:
        await guess_until_limited(stranger, name)
        await guess_until_limited(another, name)
    assert (await log_in(browser, name)).status_code == 303


async def test_a_browser_that_was_here_before_logs_in_while_the_whole_web_tries_the_name(
    app: App, tenant_id: TenantId
) -> None:
    name = await person_with_password(app, tenant_id)
    async with open_browser(app) as known, open_browser(app) as new:
        await log_in(known, name)
        await known.open("/me")
        await known.submit("/logout")
        await use_up(app, name)
        refused = await log_in(new, name)
        assert (refused.status_code, TOO_MANY in refused.text) == (429, True)
        assert (await log_in(known, name)).status_code == 303


async def test_a_name_that_the_whole_web_tries_is_an_entry_in_the_audit_log(
    app: App, browser: Browser, tenant_id: TenantId
) -> None:
    name = await person_with_password(app, tenant_id)
    await use_up(app, name)
    for _ in range(3):
        assert (await log_in(browser, name)).status_code == 429
    alarms = [
        entry for entry in await entries(app, tenant_id) if entry.change.action == "logins_of_name_limited"
    ]
    assert [entry.change.actor for entry in alarms] == [name]


@pytest.mark.parametrize("change", ["another name", "forged", "cut", "nobody's"])
async def test_the_mark_of_a_browser_is_of_use_to_its_person_only(
    app: App, tenant_id: TenantId, change: str
) -> None:
    name, other = [await person_with_password(app, tenant_id) for _ in range(2)]
    async with open_browser(app) as browser:
        await log_in(browser, name if change != "another name" else other)
        marks = {
            cookie.name: cookie.value or ""
            for cookie in browser.client.cookies.jar
            if cookie.name.startswith("tga_device")
        }
        browser.client.cookies.delete(SESSION)
        ((mark, value),) = marks.items()
        if change == "another name":
            mark = f"tga_device_{hash_name(name, secret_of(app.settings))[:8]}"
        changed = {
            "another name": value,
            "forged": value[:-1] + ("0" if value[-1] != "0" else "1"),
            "cut": value[:10],
            "nobody's": "x.y.z",
        }[change]
        browser.client.cookies.set(mark, changed, domain="localhost.local")
        await use_up(app, name)
        assert (await log_in(browser, name)).status_code == 429


async def test_a_known_browser_is_limited_by_itself(app: App, tenant_id: TenantId) -> None:
    name = await person_with_password(app, tenant_id)
    async with open_browser(app) as known:
        await log_in(known, name)
        answers = await guess_until_limited(known, name)
    assert answers[-1].status_code == 429


async def test_guesses_of_the_old_password_are_limited_for_each_person(app: App, tenant_id: TenantId) -> None:
    async with member_browser(app, tenant_id) as thief, member_browser(app, tenant_id) as other:
        for browser in (thief, other):
            await browser.open("/me")
            await browser.submit("/me/password", new=PASSWORD)
        await thief.open("/me")
        answer = await thief.submit("/me/password", old="a wrong password", new=PASSWORD)
        assert "The old password is wrong" in answer.text
        tries = 1
        while answer.status_code == 200:
            answer, tries = (
                await thief.submit("/me/password", old="a wrong password", new=PASSWORD),
                tries + 1,
            )
            assert tries < 3 * ATTEMPTS_AT_ONCE
        assert (answer.status_code, TOO_MANY in answer.text) == (429, True)
        assert 0 < int(answer.headers["retry-after"]) <= 60
        await other.open("/me")
        assert (
            await other.submit("/me/password", old=PASSWORD, new="another horse battery")
        ).status_code == 303


async def test_logins_beyond_what_can_be_computed_are_refused_at_once(app: App, tenant_id: TenantId) -> None:
    """All from different networks, in one process."""
    name = await person_with_password(app, tenant_id)
    async with open_browser(app) as first:
        await first.open("/login")
        together = await asyncio.gather(
            *(first.submit("/login", name=f"{name} {number}", password="x", next="/") for number in range(12))
        )
    refused = [answer for answer in together if answer.status_code == 503]
    assert refused
    assert all(
        "Many people are logging in right now" in answer.text and answer.headers["retry-after"] == "5"
        for answer in refused
    )


async def test_an_invitation_tries_few_names_wherever_they_come_from(
    app: App, owner: Browser, tenant_id: TenantId
) -> None:
    """Each answer tells whether somebody in the installation has the name."""
    taken = await person_with_password(app, tenant_id)
    link = await invite(owner)
    statuses = []
    for _ in range(TRIED_NAMES_AT_ONCE + 1):
        async with open_browser(app) as guest:
            await guest.open(link)
            answer = await guest.submit(link, name=taken, password=PASSWORD)
            statuses.append(answer.status_code)
    assert statuses == [200] * TRIED_NAMES_AT_ONCE + [429]
    assert "This name is taken" not in answer.text


async def test_all_invitations_of_a_tenant_try_a_bounded_number_of_names(app: App, owner: Browser) -> None:
    link = await invite(owner)
    limiter = Limiter(RateLimits(app.redis))
    for _ in range(TENANT_NAMES_AT_ONCE):
        await limiter.take(bucket_of_tried_names(owner.base.removeprefix("/t/")))
    async with open_browser(app) as guest:
        await guest.open(link)
        assert (await guest.submit(link, name=secrets.token_hex(6), password=PASSWORD)).status_code == 429


async def invite(owner: Browser) -> str:
    await owner.open("./members")
    return (
        (await owner.submit("./members/invite", role="viewer"))
        .text.partition('class="copy">')[2]
        .partition("<")[0]
        .removeprefix(ADDRESS)
    )
