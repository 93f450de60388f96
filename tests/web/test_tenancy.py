"""A person of tenant A learns nothing of tenant B, on any page there is, and changes nothing of B's."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import asyncpg
import httpx
import pytest

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.accounts.login import LoginWay
from telegram_assistant.domain.tenants.access import KeyScope, MemberRole
from telegram_assistant.web.page import Page
from telegram_assistant.web.site import OF_TENANT, name_of
from testkit.web_clients import Browser, member_browser, without_page_limits
from tests.api.test_tenancy import everything_of_b, marks_of_b
from tests.api.worlds import MARK, Worlds, made_worlds
from tests.conftest import Admin, new_database
from tests.web.cases import CASES, ON_PAGES, PageCase

NAMES = {name_of(one): one for one in OF_TENANT}
CHANGING = re.compile(
    r'<time [^>]*>[^<]*</time>|name="(?:csrf|once|snapshot)" value="[^"]*"|data-csrf="[^"]*"|since=[^&"]*|/link/[\w-]+|'
    r"(?:tga|feed)_[A-Za-z0-9_-]{6,43}|whsec_[A-Za-z0-9+/=]+|"
    r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}|person [0-9a-f]{12}|<td>[^<]*[0-9]{1,2}:[0-9]{2}[^<]*</td>"
)


@pytest.fixture(scope="module")
async def worlds(environ: dict[str, str], database: dict[str, str], worker: str, template: str) -> AsyncIterator[Worlds]:
    async with made_worlds({**environ, "REDIS_URL": database["REDIS_URL"]}, f"{worker}_web", template) as made:
        async with assemble(made.settings_of(made.both)) as app:
            await app.system.users.join(made.b, f"{MARK}, too", role=MemberRole.OWNER)
            await app.tenant(made.b).members.invite(MARK, MemberRole.EDITOR, created_by=MARK, lasts=timedelta(days=1))
            await app.tenant(made.b).logins.begin(uuid4(), way=LoginWay.PHONE, door_key=b"")
        admin = await asyncpg.connect(made.environ_of(made.both)["DATABASE_ADMIN_URL"])
        ids_of_b = {name: await admin.fetchval(query, made.b) for name, query in ON_PAGES.items()}
        await admin.close()
        assert None not in ids_of_b.values()
        yield replace(made, ids_of_b=ids_of_b)


@asynccontextmanager
async def opened(worlds: Worlds, database: str) -> AsyncIterator[tuple[App, Browser, Admin]]:
    """A copy of a world, in the browser of an owner of A."""
    async with (
        new_database(worlds.environ, f"{database}_pages", template=database) as copy,
        assemble(without_page_limits(worlds.settings_of(copy))) as app,
    ):
        admin = await asyncpg.connect(worlds.environ_of(copy)["DATABASE_ADMIN_URL"])
        try:
            async with member_browser(app, worlds.a) as browser:
                yield app, browser, admin
        finally:
            await admin.close()


def test_every_page_has_its_case() -> None:
    """A new page needs a line in tests/web/cases.py."""
    assert set(CASES) == set(NAMES) | {"live.listen"}


def test_every_page_with_an_id_in_its_path_is_asked_with_a_foreign_one() -> None:
    """Pages of the operator answer 404 to A, whatever the id; a tag is a word and belongs to nobody."""
    of_tenants = [one for one in OF_TENANT if "{" in one.path and one.needs is not KeyScope.OPERATE and "{tag}" not in one.path]
    assert [name_of(one) for one in of_tenants if CASES[name_of(one)].foreign is None] == []


async def test_a_person_of_a_learns_and_changes_nothing_of_b(worlds: Worlds) -> None:
    async with opened(worlds, worlds.alone) as (_, browser, _):
        without = {name: [await ask(browser, worlds, name, path) for path in paths(case, worlds)] for name, case in CASES.items()}
    async with opened(worlds, worlds.both) as (_, browser, admin):
        marks, before = await marks_of_b(admin, worlds), await everything_of_b(admin, worlds)
        beside = {name: [await ask(browser, worlds, name, path) for path in paths(case, worlds)] for name, case in CASES.items()}
        assert await everything_of_b(admin, worlds) == before
    for name, case in CASES.items():
        for answers, status in zip(zip(without[name], beside[name], strict=True), (case.status, case.foreign_status), strict=False):
            assert [one.status_code for one in answers] == [status, status], (name, answers[1].text[-600:])
            assert shown(answers[0]) == shown(answers[1]), name
            sent = f"{answers[1].request.url}{answers[1].request.content.decode()}"
            assert not [mark for mark in marks if mark in answers[1].text and mark not in sent], name


def paths(case: PageCase, worlds: Worlds) -> list[str]:
    return [case.own(worlds), *([case.foreign(worlds)] if case.foreign else [])]


async def ask(browser: Browser, worlds: Worlds, name: str, path: str) -> httpx.Response:
    route = NAMES.get(name)
    if route is None or isinstance(route, Page):
        return await browser.open(f".{path}")
    await browser.open("./mutes")
    return await browser.submit(f".{path}", CASES[name].form(worlds))


def shown(answer: httpx.Response) -> tuple[str, str]:
    """All that a person sees, but for what is new each time: ages, tokens and random ids."""
    return CHANGING.sub("…", answer.headers.get("location", "")), CHANGING.sub("…", answer.text)
