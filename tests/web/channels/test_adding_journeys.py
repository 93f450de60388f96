"""Adding channels in a real browser: every state fits and is accessible,
and fates change on the open page.
"""

import os
import re
from collections import Counter
from pathlib import Path

import pytest
from playwright.async_api import expect

from telegram_assistant.assembly import App
from telegram_assistant.domain.channels.channel_requests import RequestKind, RequestState
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.features.channels.channel_lists import ListedChannel
from telegram_assistant.features.channels.imports import import_channels
from telegram_assistant.reasons import Reason, quote
from telegram_assistant.stores.postgres.channels.channel_requests import NewRequest
from telegram_assistant.stores.postgres.channels.channels import NOT_KNOWN_YET, Subscription
from testkit.chromium import (
    ALL_DEVICES,
    DEVICES,
    ENGLISH_DESKTOP,
    Device,
    accessibility_violations,
    layout_troubles,
    open_chromium,
    open_tab,
    save_screenshot,
)
from testkit.factories import make_channel
from testkit.web_clients import serve_web
from tests.conftest import Admin
from tests.web.browsing import log_in

SCREENSHOTS = os.environ.get("SCREENSHOTS", "")
WANTED = ALL_DEVICES if os.environ.get("ALL_DEVICES") else DEVICES
LONG = (
    "Очень длинное название канала о новостях города, мостах, паромах и погоде, которое никуда не помещается"
)


@pytest.fixture
async def account_id(admin: Admin, tenant_id: TenantId) -> int:
    """An account with a list of what it has joined, one of them followed, and requests with every fate."""
    query = (
        "INSERT INTO telegram_accounts (tenant_id, state, phone_masked) VALUES ($1, 'active', '+7999…01') "
        "RETURNING account_id"
    )
    account_id: int = await admin.fetchval(query, tenant_id)
    await admin.execute(
        """
        INSERT INTO joined_channels (tenant_id, channel_id, account_id, title, username, is_private,
            protected, access_hash, request_id, listed_at)
        SELECT $1, 5000000000 + $2::bigint * 100 + n, $2, CASE WHEN n % 7 = 3 THEN $3 ELSE 'Канал ' || n END,
               CASE WHEN n % 2 = 0 THEN 'channel_' || n END, n % 2 = 1, false, 1, gen_random_uuid(),
                   now() - interval '5 minutes'
        FROM generate_series(1, 40) n
        """,
        tenant_id,
        account_id,
        LONG,
    )
    return account_id


@pytest.fixture
async def filled_tenant(app: App, tenant_id: TenantId, account_id: int) -> None:
    known = await make_channel(
        app.system,
        channel_id=5_000_000_000 + account_id * 100 + 5,
        username=f"known_{tenant_id}",
        title="Городские новости",
    )
    await app.system.channels.subscribe(tenant_id, Subscription(channel_id=known, folder="Город"))
    lines = [
        f"@known_{tenant_id}",
        "https://example.com/news",
        *(f"@name_{tenant_id}_{number}" for number in range(120)),
    ]
    stores = app.tenant(tenant_id)
    await import_channels(
        [ListedChannel(line) for line in lines], Subscription(channel_id=NOT_KNOWN_YET), stores=stores
    )
    requests = await stores.requests.page(RequestState.OPEN, limit=6)
    queue = app.system.request_queue
    unknown = Reason("name_unknown", "there is no @{username} on Telegram", username="name")
    await queue.answer(requests[0].request_id, RequestState.FAILED, unknown)
    await queue.answer(
        requests[1].request_id,
        RequestState.FAILED,
        Reason("invitation_invalid", "the invitation is no longer valid"),
    )
    await queue.answer(requests[2].request_id, RequestState.DONE, quote(LONG), channel_id=known)
    await stores.requests.add(
        [NewRequest(RequestKind.FOLDER, "Новости", Subscription(channel_id=NOT_KNOWN_YET))]
    )


@pytest.mark.usefixtures("filled_tenant")
@pytest.mark.parametrize("device", WANTED, ids=lambda device: device.name)
async def test_adding_and_requests_fit_and_are_accessible(
    app: App, tenant_id: TenantId, device: Device
) -> None:
    async with (
        open_chromium() as chromium,
        serve_web(app) as address,
        open_tab(chromium, device, address) as page,
    ):
        base = await log_in(page, app, tenant_id)
        troubles = []
        for name, path in {
            "adding": "/channels/add",
            "fates": "/channels/requests",
            "failed": "/channels/requests?fate=failed",
        }.items():
            await page.goto(base + path)
            for fold in await page.locator("details.fold > summary").all():
                await fold.click()
            troubles += [
                f"{name}: {trouble}"
                for trouble in [*await layout_troubles(page), *await accessibility_violations(page)]
            ]
            if SCREENSHOTS:
                await save_screenshot(page, Path(SCREENSHOTS), f"{device.name}-{name}")
            await page.set_viewport_size({"width": 320, "height": 700})
            troubles += [f"{name} at 320: {trouble}" for trouble in await layout_troubles(page)]
            await page.set_viewport_size(
                {"width": device.viewport["width"], "height": device.viewport["height"]}
            )
        assert not troubles, "\n".join(troubles)


@pytest.mark.usefixtures("account_id")
async def test_a_person_picks_from_the_list_and_sees_the_fate_change_without_a_reload(
    app: App, tenant_id: TenantId
) -> None:
    async with (
        open_chromium() as chromium,
        serve_web(app) as address,
        open_tab(chromium, ENGLISH_DESKTOP, address) as page,
    ):
        base = await log_in(page, app, tenant_id)
        await page.goto(f"{base}/channels/add")
        await page.get_by_label("Канал 2 @channel_2", exact=True).check()
        await page.get_by_role("button", name="Follow the selected channels").click()
        await page.wait_for_url("**/channels/requests")
        await expect(page.locator("#fates li")).to_have_count(1)
        await expect(page.locator("#fates li .chip")).to_have_text("waiting")
        await page.evaluate("window.isTheSamePage = true")
        stores = app.tenant(tenant_id)
        (request,) = await stores.requests.page(None, limit=10)
        assert (request.kind, request.title) == (RequestKind.PICK, "Канал 2")
        await app.system.request_queue.answer(request.request_id, RequestState.DONE, quote("Канал 2"))
        await expect(page.locator("#fates li .chip")).to_have_text("followed")
        await expect(page.locator("#reload")).to_have_count(0)
        assert await page.evaluate("window.isTheSamePage")


@pytest.mark.skipif(
    WANTED is DEVICES,
    reason="tests/web/channels/test_adding.py does the same without a browser; `make journeys` does this",
)
@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.name)
async def test_two_thousand_pasted_names_show_every_fate_page_by_page(
    app: App, tenant_id: TenantId, device: Device
) -> None:
    known = await make_channel(app.system, username=f"known_{tenant_id}", title="Known")
    await app.system.channels.subscribe(tenant_id, Subscription(channel_id=known))
    lines = [
        f"@known_{tenant_id}",
        *(f"not a channel {number}" for number in range(9)),
        *(f"@name_{tenant_id}_{number}" for number in range(1990)),
    ]
    async with (
        open_chromium() as chromium,
        serve_web(app) as address,
        open_tab(chromium, device, address) as page,
    ):
        base = await log_in(page, app, tenant_id)
        await page.goto(f"{base}/channels/add")
        await page.locator("textarea[name=text]").fill("\n".join(lines))
        await page.locator("form[action$='/channels/add'] button.main").click()
        await page.wait_for_url("**/channels/requests")
        counts = [
            re.sub(r"\D", "", inner_text)
            for inner_text in await page.locator("#fates nav .chip").all_inner_texts()
        ]
        assert counts == ["2000", "1990", "0", "1", "9"]
        seen = await page.locator("#fates li .chip").all_inner_texts()
        while await page.locator("a[rel=next]").count():
            await page.locator("a[rel=next]").click()
            await page.wait_for_load_state()
            seen += await page.locator("#fates li .chip").all_inner_texts()
    assert sorted(Counter(seen).values()) == [1, 9, 1990]
