"""Adding channels: fates of lines, trying again, roles, and what a large import costs."""

import html
import re
from datetime import UTC, datetime
from uuid import UUID

import asyncpg
import pytest

from telegram_assistant.assembly import App
from telegram_assistant.domain.channels.channel_requests import RequestFate, RequestKind, RequestState
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.errors import Conflicting
from telegram_assistant.features.channels.channel_lists import ListedChannel
from telegram_assistant.features.channels.channel_requests import list_requests, try_again
from telegram_assistant.features.channels.imports import import_channels
from telegram_assistant.reasons import quote
from telegram_assistant.settings import Settings
from telegram_assistant.stores.postgres.channels.channel_requests import NewRequest
from telegram_assistant.stores.postgres.channels.channels import NOT_KNOWN_YET, Subscription
from telegram_assistant.stores.postgres.stores import SystemStores, TenantStores, tenant_stores
from testkit.factories import make_channel
from testkit.web_clients import Browser, member_browser
from tests.conftest import Admin
from tests.web.cases import NOBODY

WANTED = Subscription(channel_id=NOT_KNOWN_YET)
LINE = re.compile(r'<li id="r-')


@pytest.fixture
def stores(app: App, tenant_id: TenantId) -> TenantStores:
    return app.tenant(tenant_id)


async def fail(system: SystemStores, stores: TenantStores, reference: str) -> UUID:
    (request_id,) = await stores.requests.add([NewRequest(RequestKind.USERNAME, reference, WANTED)])
    assert request_id is not None
    await system.request_queue.answer(request_id, RequestState.FAILED, quote(f"there is no @{reference}"))
    return request_id


async def test_every_line_of_a_list_keeps_its_fate(
    owner: Browser, system: SystemStores, stores: TenantStores, tenant_id: TenantId
) -> None:
    known = await make_channel(system, username=f"known_{tenant_id}", title="Known already")
    await system.channels.subscribe(tenant_id, Subscription(channel_id=known))
    await owner.open("./channels/add")
    answer = await owner.submit(
        "./channels/add", text=f"@known_{tenant_id}\n@new_one\nhttps://example.com/x\n@new_one", folder="City"
    )
    assert (answer.status_code, answer.headers["location"]) == (303, f"{owner.base}/channels/requests")
    page = (await owner.open("./channels/requests")).text
    assert all(
        words in page
        for words in ("waiting 1", "followed 0", "already followed 1", "failed 1", "all 3", "Known already")
    )
    assert "example.com/x&#39; is not a channel" in page
    assert "Correct the line and add it again." in page
    assert "/retry" in page  # all failed ones; the line itself cannot be tried again
    assert (await stores.followed.channels())[0].folder == "City"
    only = (await owner.open("./channels/requests?fate=already_followed")).text
    assert (len(LINE.findall(only)), "Known already" in only) == (1, True)
    assert (await owner.open("./channels/requests?fate=lost")).status_code == 404
    await owner.open("./channels/add")
    await owner.submit("./channels/add", text=f"@Known_{tenant_id}\nhttps://example.com/x")
    assert (
        "all 3" in (await owner.open("./channels/requests")).text
    )  # the same lines again are the same lines


async def test_a_waiting_request_is_expected_in_the_future(
    owner: Browser, stores: TenantStores, tenant_id: TenantId, admin: Admin
) -> None:
    """An account of the tenant works, so the first name is looked up at once,
    and the thousandth days later.
    """
    running = (
        "INSERT INTO telegram_accounts (tenant_id, state, lease_owner, lease_until) "
        "VALUES ($1, 'active', 'x#1', now() + interval '1 minute')"
    )
    await admin.execute(running, tenant_id)
    await stores.requests.add([NewRequest(RequestKind.USERNAME, "first_name", WANTED)])
    page = html.unescape((await owner.open("./channels/requests")).text)
    assert "The last one is expected any moment." in page
    line = page.partition('<li id="r-')[2]
    assert "expected any moment" in line
    assert "ago" not in re.split(r"</span>\s*</span>", line)[0]
    await stores.requests.add(
        [NewRequest(RequestKind.USERNAME, f"name_{number}", WANTED) for number in range(999)]
    )
    page = html.unescape((await owner.open("./channels/requests")).text)
    last = re.search(r"The last one is expected <time[^>]*>([^<]*)</time>", page)
    assert last is not None
    assert re.fullmatch(r"\d+ \w+( \d+)?, \d\d:\d\d", last[1])


async def test_two_thousand_names_show_all_their_fates_page_by_page(
    owner: Browser, system: SystemStores, tenant_id: TenantId, admin: Admin
) -> None:
    for number in range(5):
        channel_id = await make_channel(system, username=f"followed_{tenant_id}_{number}")
        await system.channels.subscribe(tenant_id, Subscription(channel_id=channel_id))
    lines = [
        *(f"@name_{tenant_id}_{number}" for number in range(1985)),
        *(f"@followed_{tenant_id}_{number}" for number in range(5)),
    ]
    lines += [f"not a channel {number}" for number in range(10)]
    await owner.open("./channels/add")
    answer = await owner.submit("./channels/add", text="\n".join(lines), priority="low")
    assert answer.status_code == 303
    page = await owner.open("./channels/requests")
    assert all(
        words in page.text for words in ("all 2,000", "waiting 1,985", "already followed 5", "failed 10")
    )
    assert 'hx-trigger="every 5s"' in page.text
    seen, pages = len(LINE.findall(page.text)), 1
    while (more := re.search(r'rel="next" href="([^"]+)"', page.text)) is not None:
        page = await owner.open(more[1].replace("&amp;", "&"))
        seen, pages = seen + len(LINE.findall(page.text)), pages + 1
    assert (seen, pages) == (2000, 20)
    assert (
        await admin.fetchval(
            "SELECT count(*) FROM subscriptions WHERE tenant_id = $1 AND priority = 'low'", tenant_id
        )
        == 5
    )


async def test_a_large_import_and_its_page_cost_a_bounded_number_of_transactions(
    installation: Settings, system: SystemStores, tenant_id: TenantId
) -> None:
    channel_id = await make_channel(system, username=f"followed_{tenant_id}")
    await system.channels.subscribe(tenant_id, Subscription(channel_id=channel_id))
    lines = [f"@name_{tenant_id}_{number}" for number in range(1998)] + [
        f"@followed_{tenant_id}",
        "no channel",
    ]
    statements: list[str] = []

    async def count(connection: asyncpg.Connection) -> None:
        connection.add_query_logger(lambda record: statements.append(record.query))

    async with asyncpg.create_pool(
        installation.database.url.get_secret_value(), min_size=1, max_size=1, init=count
    ) as pool:
        stores = tenant_stores(pool, tenant_id)
        await import_channels([ListedChannel(line) for line in lines], WANTED, stores=stores)
        assert sum(statement.startswith("BEGIN") for statement in statements) <= 8, statements
        statements.clear()
        await list_requests(None, requests=stores.requests, now=datetime.now(UTC), limit=100)
        await stores.request_fates.counts()
    assert sum(statement.startswith("BEGIN") for statement in statements) == 3, statements


async def test_one_failed_request_or_all_of_them_are_tried_again(
    owner: Browser, system: SystemStores, stores: TenantStores
) -> None:
    first, second = await fail(system, stores, "first_one"), await fail(system, stores, "second_one")
    await fail(system, stores, "second_one")
    page = (await owner.open("./channels/requests")).text
    assert page.count("try again</button>") == 3
    assert (await owner.submit(f"./channels/requests/{first}/retry")).status_code == 303
    assert await fates(stores) == {"waiting": 1, "followed": 0, "already_followed": 0, "failed": 2}
    await owner.open("./channels/requests")
    await owner.submit("./channels/requests/retry")
    assert await fates(stores) == {"waiting": 2, "followed": 0, "already_followed": 0, "failed": 0}
    for request_id, status in ((first, 409), (second, 404), (NOBODY, 404)):
        await owner.open("./channels/add")
        assert (await owner.submit(f"./channels/requests/{request_id}/retry")).status_code == status


async def test_a_failed_request_whose_name_is_open_again_joins_the_open_one(
    system: SystemStores, stores: TenantStores
) -> None:
    failed = await fail(system, stores, "twice")
    (opened,) = await stores.requests.add([NewRequest(RequestKind.USERNAME, "Twice", WANTED)])
    status = await try_again(
        failed, requests=stores.requests, fates=stores.request_fates, now=datetime.now(UTC)
    )
    assert status.request.request_id == opened
    assert await stores.requests.some([failed]) == ()


async def test_a_line_without_a_channel_cannot_be_tried_again(stores: TenantStores) -> None:
    await import_channels([ListedChannel("no channel at all")], WANTED, stores=stores)
    (line,) = await stores.requests.page(RequestState.FAILED, limit=10)
    with pytest.raises(Conflicting, match="correct it"):
        await try_again(
            line.request_id, requests=stores.requests, fates=stores.request_fates, now=datetime.now(UTC)
        )
    assert await stores.request_fates.try_again() == 0


async def test_no_more_is_tried_again_than_may_be_open(system: SystemStores, stores: TenantStores) -> None:
    for number in range(3):
        await fail(system, stores, f"name_{number}")
    assert await stores.request_fates.try_again(max_open=2) == 2
    assert (await fates(stores))["failed"] == 1


async def test_a_viewer_sees_the_fates_and_may_neither_add_nor_try_again(
    app: App, system: SystemStores, stores: TenantStores, tenant_id: TenantId
) -> None:
    request_id = await fail(system, stores, "failing_one")
    async with member_browser(app, tenant_id, role=MemberRole.VIEWER) as viewer:
        page = (await viewer.open("./channels/requests")).text
        assert "@failing_one" in page
        assert "try again" not in page
        assert "/channels/add" not in page
        assert (await viewer.open("./channels/add")).status_code == 403
        await viewer.open("./mutes")
        for path in (
            "add",
            "add/folder",
            "joined",
            "joined/follow",
            "requests/retry",
            f"requests/{request_id}/retry",
        ):
            assert (await viewer.submit(f"./channels/{path}", text="@one")).status_code == 403, path
    async with member_browser(app, tenant_id, role=MemberRole.EDITOR) as editor:
        assert (await editor.open("./channels/add")).status_code == 200


async def test_what_cannot_be_read_is_refused_with_what_to_do(owner: Browser) -> None:
    await owner.open("./channels/add")
    assert "has no channels" in (await owner.submit("./channels/add", text="  ")).text
    await owner.open("./channels/add")
    assert "not UTF-8 text" in (await owner.upload("./channels/add", "list.txt", b"\xff\x00\xe0")).text
    await owner.open("./channels/add")
    assert "too large" in (await owner.upload("./channels/add", "list.txt", b"@name\n" * 1_200_000)).text
    await owner.open("./channels/add")
    assert "choose at least one" in (await owner.submit("./channels/joined/follow")).text.lower()
    await owner.open("./channels/add")
    assert "log one in" in (await owner.submit("./channels/joined")).text


async def test_hostile_titles_and_lines_are_only_words(owner: Browser) -> None:
    await owner.open("./channels/add")
    assert (await owner.submit("./channels/add", text="x <script>alert(1)</script>\0y")).status_code == 422
    await owner.open("./channels/add")
    await owner.upload("./channels/add", "mine.txt", b"x <script>alert(1)</script>\0y")
    page = (await owner.open("./channels/requests")).text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


async def fates(stores: TenantStores) -> dict[str, int]:
    return {RequestFate(name).value: count for name, count in (await stores.request_fates.counts()).items()}
