"""A person of tenant A learns nothing of tenant B, on any page there is, and changes nothing of B's."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import httpx
import pytest

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.accounts.login import LoginWay
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.sharing.links import PublicLinkKind
from telegram_assistant.domain.tenants.access import KeyScope, MemberRole, hash_of
from telegram_assistant.settings import FilesSettings
from telegram_assistant.stores.postgres.receivers.feed_addresses import FeedKind
from telegram_assistant.stores.postgres.receivers.feed_posts import FeedPicture
from telegram_assistant.web.feeds import FORMATS
from telegram_assistant.web.page import Page
from telegram_assistant.web.pages.receivers.feed_file import picture_path
from telegram_assistant.web.site import OF_TENANT, name_of
from testkit.web_clients import Browser, begin_session, member_browser, open_browser, without_page_limits
from tests.api.test_tenancy import everything_of_b, marks_in
from tests.api.worlds import DEEPEST, FIRST, MARK, ONLY_B, Worlds, make_worlds
from tests.conftest import Admin, new_database
from tests.features.shelf import draw_picture
from tests.web.cases import CASES, ON_PAGES, PageCase

NAMES = {name_of(route): route for route in OF_TENANT}
CHANGING = re.compile(
    r'<time [^>]*>[^<]*</time>|name="(?:csrf|once|snapshot)" value="[^"]*"|data-csrf="[^"]*"|since=[^&"]*|'
    r"/link/[\w-]+|"
    r'<code class="id"[^>]*>[0-9a-f]{8}</code>|'
    r"(?:tga|feed)_[A-Za-z0-9_-]{6,43}|whsec_[A-Za-z0-9+/=]+|"
    r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}|person [0-9a-f]{12}|"
    r"<td>[^<]*[0-9]{1,2}:[0-9]{2}[^<]*</td>"
)


@pytest.fixture(scope="module")
async def worlds(
    environ: dict[str, str], database: dict[str, str], worker: str, template: str
) -> AsyncIterator[Worlds]:
    async with make_worlds(
        {**environ, "REDIS_URL": database["REDIS_URL"]}, f"{worker}_web", template
    ) as made:
        async with assemble(made.settings_of(made.both)) as app:
            owner = await app.system.users.join(made.b, f"{MARK}, too", role=MemberRole.OWNER)
            session = (await begin_session(app, owner.user_id)).token
            await app.tenant(made.b).members.invite(
                MARK, MemberRole.EDITOR, session=session, lifetime=timedelta(days=1)
            )
            await app.person(made.b, owner.user_id).public_links.create(
                MARK, PublicLinkKind.STORY, f"{ONLY_B[0]}/102", lifetime=timedelta(days=1)
            )
            await app.tenant(made.b).logins.begin(uuid4(), way=LoginWay.PHONE, door_key=b"")
        admin = await asyncpg.connect(made.environ_of(made.both)["DATABASE_ADMIN_URL"])
        ids_of_b = {name: await admin.fetchval(query, made.b) for name, query in ON_PAGES.items()}
        await admin.close()
        assert None not in ids_of_b.values()
        yield replace(made, ids_of_b=ids_of_b)


@asynccontextmanager
async def open_copy(worlds: Worlds, database: str) -> AsyncIterator[tuple[App, Browser, Admin]]:
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
    """Pages of the operator answer 404 to A, whatever the id; a tag and a day belong to nobody."""
    of_tenants = [
        route
        for route in OF_TENANT
        if "{" in route.path
        and route.needs is not KeyScope.OPERATE
        and not {"{tag}", "{day}"} & set(route.path.split("/"))
    ]
    assert [name_of(of_tenant) for of_tenant in of_tenants if CASES[name_of(of_tenant)].foreign is None] == []


async def test_a_person_of_a_learns_and_changes_nothing_of_b(worlds: Worlds) -> None:
    async with open_copy(worlds, worlds.alone) as (_, browser, _):
        without = {
            name: [await ask(browser, worlds, name, path) for path in paths(case, worlds)]
            for name, case in CASES.items()
        }
    async with open_copy(worlds, worlds.both) as (_, browser, admin):
        before = await everything_of_b(admin, worlds)
        marks = marks_in(before)
        beside = {
            name: [await ask(browser, worlds, name, path) for path in paths(case, worlds)]
            for name, case in CASES.items()
        }
        assert await everything_of_b(admin, worlds) == before
    for name, case in CASES.items():
        for answers, status in zip(
            zip(without[name], beside[name], strict=True), (case.status, case.foreign_status), strict=False
        ):
            assert [answer.status_code for answer in answers] == [status, status], (
                name,
                answers[1].text[-600:],
            )
            assert comparable_answer(answers[0]) == comparable_answer(answers[1]), name
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


def comparable_answer(answer: httpx.Response) -> tuple[str, str]:
    """A page without parts that are new each time: ages, tokens and random ids."""
    return CHANGING.sub("…", answer.headers.get("location", "")), CHANGING.sub("…", answer.text)


FEEDS = {FeedKind.FOLDER: "City", FeedKind.STORY: "all"}
PICTURED = MessageId(FIRST + 2)


async def answers_of_feeds(
    worlds: Worlds, database: str, folder: Path, picture: bytes
) -> dict[str, tuple[int, str, bytes]]:
    """The answers to feed readers at A's addresses: feeds, their pictures, and pictures that A does not see,
    with A's own signature.
    """
    files = {"files": FilesSettings(folder=folder)}
    async with (
        new_database(worlds.environ, f"{database}_feeds", template=database) as copy,
        assemble(worlds.settings_of(copy).model_copy(update=files)) as app,
    ):
        admin = await asyncpg.connect(worlds.environ_of(copy)["DATABASE_ADMIN_URL"])
        try:
            await picture_every_post(app, admin, folder, picture)
            for number, (kind, subject) in enumerate(FEEDS.items()):
                await admin.execute(
                    ADDRESS, worlds.a, UUID(int=number), hash_of(f"feed_of_a_{number}"), kind.value, subject
                )
            async with open_browser(app) as browser:
                return await read_everything(app, browser.client, worlds)
        finally:
            await admin.close()


async def picture_every_post(app: App, admin: Admin, folder: Path, data: bytes) -> None:
    """Gives every stored post of all tenants a picture."""
    await app.system.media.reserve(sha256(data).digest(), len(data), None)
    (folder / "upload").write_bytes(data)
    assert app.files is not None
    await app.files.put(sha256(data).digest(), folder / "upload")
    await admin.execute("DELETE FROM post_media")
    await admin.execute(
        """
        INSERT INTO post_media (channel_id, message_id, media_id, kind, state, size_bytes, sha256)
        SELECT channel_id, message_id, channel_id * 1000 + message_id, 'photo', 'stored', $1, $2 FROM posts
        """,
        len(data),
        sha256(data).digest(),
    )


async def read_everything(
    app: App, reader: httpx.AsyncClient, worlds: Worlds
) -> dict[str, tuple[int, str, bytes]]:
    paths = [f"/feeds/feed_of_a_{number}.{kind}" for number in range(len(FEEDS)) for kind in FORMATS]
    bodies = {path: await reader.get(path) for path in paths}
    pictures = sorted(
        {match for body in bodies.values() for match in re.findall(r"/feeds/pictures/[\w/-]+", body.text)}
    )
    assert len(pictures) > 4
    unseen = [PostId(channel_id, PICTURED) for channel_id in ONLY_B] + [
        PostId(worlds.shared[0], DEEPEST),
        PostId(ChannelId(1), PICTURED),
    ]
    feed = await app.api.feed_directory.find("feed_of_a_0")
    assert feed is not None
    pictures += [picture_path(feed, app.settings, FeedPicture(post_id, 0)) for post_id in unseen]
    answers = bodies | {path: await reader.get(path) for path in pictures}
    return {
        path: (answer.status_code, answer.headers["content-type"], body_of(answer))
        for path, answer in answers.items()
    }


def body_of(answer: httpx.Response) -> bytes:
    return answer.content if answer.status_code == 200 else CHANGING.sub("…", answer.text).encode()


ADDRESS = """
INSERT INTO feed_addresses (tenant_id, address_id, hash, kind, subject, name, created_by)
    VALUES ($1, $2, $3, $4, $5, 'A feed', 'anna')
"""


async def test_feeds_of_a_and_their_pictures_are_the_same_beside_b(worlds: Worlds, tmp_path: Path) -> None:
    picture = draw_picture(size=(60, 40))
    without, beside = [
        await answers_of_feeds(worlds, database, tmp_path, picture)
        for database in (worlds.alone, worlds.both)
    ]
    assert without == beside
    statuses = {path: status for path, (status, _, _) in beside.items()}
    unseen = list(statuses)[-4:]
    assert {statuses[path] for path in unseen} == {404}
    assert {status for path, status in statuses.items() if path not in unseen} == {200}
    assert not [path for path, (_, _, body) in beside.items() if MARK.encode() in body]
