"""An open page of one api process learns of events in another one."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from datetime import UTC, datetime
from urllib.parse import quote

import httpx
import pytest

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.settings import Settings
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.web.cookies import SESSION
from telegram_assistant.web.live import (
    MAX_STREAMS,
    MAX_STREAMS_PER_PERSON,
    MAX_STREAMS_PER_TENANT,
    LiveHub,
    LiveStream,
)
from testkit.factories import make_page, make_post
from testkit.relaying import announce_all
from testkit.web_clients import Browser, begin_session, member_browser, open_browser, serve_web
from tests.conftest import Admin
from tests.web.feed.test_feed import make_followed, read_post_ids_in

SOON_SECONDS = 30
"""5 s are promised; a busy machine gets more."""


@pytest.fixture
async def other_app(installation: Settings) -> AsyncIterator[App]:
    """Another api process."""
    async with assemble(installation) as made:
        yield made


@asynccontextmanager
async def listening(address: str, browser: Browser) -> AsyncIterator[AsyncIterator[str]]:
    """The lines of the stream that an open feed listens to."""
    cookies = {SESSION: browser.client.cookies[SESSION]}
    path = f"{browser.base}/live?since={quote(datetime.now(UTC).isoformat())}&folder="
    headers = {"Accept": "text/event-stream"}
    async with (
        httpx.AsyncClient(base_url=address, cookies=cookies, headers=headers, timeout=SOON_SECONDS) as client,
        client.stream("GET", path) as stream,
    ):
        assert stream.status_code == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
        yield stream.aiter_lines()


async def wait_for_line(lines: AsyncIterator[str], wanted: str) -> str:
    async with asyncio.timeout(SOON_SECONDS):
        async for line in lines:
            if line.startswith(wanted):
                return line
    return ""


async def test_a_post_that_is_landed_elsewhere_is_counted(
    other_app: App, owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_followed(system, admin, tenant_id, "the first")
    async with serve_web(other_app) as address, listening(address, owner) as lines:
        await wait_for_line(lines, ": hello")
        arrived = make_post(
            channel_id=channel_id,
            message_id=9,
            text="new",
            posted_at=datetime.now(UTC).replace(microsecond=0),
        )
        await system.landing.land(make_page(arrived), Claim(channel_id, 0))
        await announce_all(system.outbox)
        assert await wait_for_line(lines, "data: 1") == "data: 1 new post"


async def test_a_session_that_is_ended_elsewhere_closes_its_stream(
    app: App, other_app: App, owner: Browser
) -> None:
    async with serve_web(other_app) as address, listening(address, owner) as lines:
        await wait_for_line(lines, ": hello")
        await app.api.people.end_other_sessions((await begin_session(app, owner.user_id)).token)
        assert await wait_for_line(lines, "event:") == "event: over"


async def test_a_page_whose_session_ended_before_it_listened_is_told_so(app: App, owner: Browser) -> None:
    await app.api.people.end_other_sessions((await begin_session(app, owner.user_id)).token)
    async with serve_web(app) as address, listening(address, owner) as lines:
        assert await wait_for_line(lines, "event:") == "event: over"


async def test_streams_end_when_the_process_stops(app: App, owner: Browser) -> None:
    async with asyncio.timeout(SOON_SECONDS):
        async with serve_web(app) as address, listening(address, owner) as lines:
            await wait_for_line(lines, ": hello")


async def test_what_is_read_in_one_process_is_read_in_the_other(
    other_app: App, owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_followed(system, admin, tenant_id, "the first")
    await owner.open("./feed")
    await owner.submit("./read", post=f"{channel_id}/1")
    async with open_browser(other_app) as elsewhere:
        elsewhere.client.cookies.set(SESSION, owner.client.cookies[SESSION])
        elsewhere.base = owner.base
        await elsewhere.open("./feed")
    assert read_post_ids_in(elsewhere.page) == [f"{channel_id}-1"]


async def test_a_member_who_was_removed_hears_nothing_more(
    other_app: App, app: App, owner: Browser, tenant_id: TenantId
) -> None:
    async with (
        member_browser(app, tenant_id) as guest,
        serve_web(other_app) as address,
        listening(address, guest) as lines,
    ):
        await wait_for_line(lines, ": hello")
        members = await app.tenant(tenant_id).members.all()
        mine = await app.api.people.session(guest.client.cookies[SESSION])
        assert mine is not None
        target = next(member.public_id for member in members if member.public_id == mine.person.public_id)
        assert await app.tenant(tenant_id).members.remove(target, session=owner.client.cookies[SESSION])
        assert await wait_for_line(lines, "event:") == "event: over"
    assert (await owner.open("./feed")).status_code == 200


async def test_the_newest_stream_of_a_person_takes_the_place_of_their_oldest(
    app: App, owner: Browser, tenant_id: TenantId
) -> None:
    async with (
        serve_web(app) as address,
        AsyncExitStack() as stack,
        member_browser(app, tenant_id) as colleague,
    ):
        lines = [
            await stack.enter_async_context(listening(address, owner)) for _ in range(MAX_STREAMS_PER_PERSON)
        ]
        for stream in lines:
            await wait_for_line(stream, ": hello")
        await wait_for_line(await stack.enter_async_context(listening(address, colleague)), ": hello")
        await wait_for_line(await stack.enter_async_context(listening(address, owner)), ": hello")
        # Its page connects again by itself, and only after a minute; nothing is said to its reader.
        assert [line async for line in lines[0] if line] == ["retry: 60000"]


class Pages:
    """Open pages, each with its stream, on one process."""

    def __init__(self, stack: ExitStack) -> None:
        self._hub, self._stack, self._streams = LiveHub(), stack, list[LiveStream]()

    def open(self, tenant: int, people: Iterable[int]) -> None:
        for user in people:
            self._streams.append(
                self._stack.enter_context(self._hub.open_stream(TenantId(tenant), UserId(user)))
            )

    def listening(self) -> Counter[tuple[int, int]]:
        return Counter(
            (stream.tenant_id, stream.user_id) for stream in self._streams if not stream.ended.is_set()
        )

    def of_tenant(self, tenant: int) -> int:
        return sum(count for (owner, _), count in self.listening().items() if owner == tenant)


def test_one_person_cannot_hold_the_streams_of_a_tenant() -> None:
    with ExitStack() as stack:
        pages = Pages(stack)
        pages.open(1, [7] * MAX_STREAMS)
        assert pages.listening() == {(1, 7): MAX_STREAMS_PER_PERSON}


def test_one_tenant_cannot_hold_the_streams_of_a_process() -> None:
    with ExitStack() as stack:
        pages = Pages(stack)
        pages.open(1, range(MAX_STREAMS))
        assert pages.of_tenant(1) == MAX_STREAMS_PER_TENANT
        pages.open(2, [5001])
        assert (pages.of_tenant(1), pages.of_tenant(2)) == (MAX_STREAMS_PER_TENANT, 1)


def test_a_tenant_always_gets_a_stream_however_many_others_have() -> None:
    with ExitStack() as stack:
        pages = Pages(stack)
        for tenant in range(MAX_STREAMS // MAX_STREAMS_PER_TENANT):
            pages.open(tenant, range(tenant * 1000, tenant * 1000 + MAX_STREAMS_PER_TENANT))
        assert sum(pages.listening().values()) == MAX_STREAMS
        pages.open(99, [99_000, 99_001])
        assert (pages.of_tenant(99), sum(pages.listening().values())) == (2, MAX_STREAMS)


def test_in_a_full_tenant_the_one_with_most_streams_gives_one_up() -> None:
    with ExitStack() as stack:
        pages = Pages(stack)
        pages.open(1, [7] * 5)
        pages.open(1, range(100, 100 + MAX_STREAMS_PER_TENANT - 5))
        pages.open(1, [8])
        assert (pages.listening()[1, 7], pages.listening()[1, 8], pages.of_tenant(1)) == (
            4,
            1,
            MAX_STREAMS_PER_TENANT,
        )


def test_a_stream_that_ends_makes_room() -> None:
    hub = LiveHub()
    with hub.open_stream(TenantId(1), UserId(7)) as first:
        for _ in range(MAX_STREAMS_PER_PERSON):
            with hub.open_stream(TenantId(1), UserId(7)):
                pass
        assert not first.ended.is_set()
