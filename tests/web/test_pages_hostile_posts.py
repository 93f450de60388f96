"""Hostile posts stay text in a real browser: nothing runs, no request goes to another host, no page looks
like another.
"""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.async_api import Page, Request

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.posts.post import PostKind, TextEntity
from telegram_assistant.domain.posts.text import storable
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.chromium import RUSSIAN_PHONE, layout_troubles, open_chromium, open_tab
from testkit.factories import follow_long_ago, fresh_number, make_channel, make_page, make_post
from testkit.web_clients import member_browser, serve_web
from tests.conftest import Admin
from tests.web import hostile

TEXTS = [text for text in dict.fromkeys(map(storable, hostile.texts())) if text]
TITLES, NAMES, FILE_NAMES = (
    [storable(text) for text in some()] for some in (hostile.titles, hostile.names, hostile.file_names)
)
POSTS_PER_CHANNEL = 20
FILE = (
    "INSERT INTO post_media (channel_id, message_id, media_id, kind, state, file_name, mime) "
    "VALUES ($1, $2, $3, 'document', 'skipped', $4, $4)"
)


@pytest.fixture
async def hostile_tenant(system: SystemStores, admin: Admin, tenant_id: TenantId) -> TenantId:
    """Channels whose titles, folders, authors, file names, links and texts are all meant to break out."""
    now = datetime.now(UTC).replace(microsecond=0)
    for channel, first in enumerate(range(0, len(TEXTS), POSTS_PER_CHANNEL)):
        channel_id = await make_channel(system, title=TITLES[channel % len(TITLES)], username=None)
        await follow_long_ago(
            system, admin, tenant_id, channel_id, folder=(NAMES[channel % len(NAMES)].strip() or "empty")[:60]
        )
        posts = [
            make_post(
                channel_id=channel_id,
                message_id=number,
                text=text,
                author=NAMES[number % len(NAMES)],
                kind=PostKind.DOCUMENT if number % 2 else PostKind.TEXT,
                entities=tuple(TextEntity(kind, 0, 2 * len(text), text, text) for kind in hostile.KINDS),
                posted_at=now - timedelta(seconds=first + number),
            )
            for number, text in enumerate(TEXTS[first : first + POSTS_PER_CHANNEL], start=1)
        ]
        await system.landing.land(make_page(*posts), Claim(channel_id, 0))
        for number in range(1, len(posts) + 1, 2):
            await admin.execute(
                FILE, channel_id, number, fresh_number(), FILE_NAMES[(first + number) % len(FILE_NAMES)]
            )
    return tenant_id


async def test_two_hundred_hostile_posts_are_read_and_nothing_happens(
    app: App, hostile_tenant: TenantId
) -> None:
    assert len(TEXTS) >= 200
    troubles: list[str] = []
    async with (
        serve_web(app) as address,
        open_chromium() as chromium,
        member_browser(app, hostile_tenant) as member,
        open_tab(chromium, RUSSIAN_PHONE, address) as page,
    ):
        watch(page, address, troubles)
        await page.context.add_cookies(
            [
                {"name": cookie.name, "value": cookie.value or "", "url": address}
                for cookie in member.client.cookies.jar
            ]
        )
        read, following = 0, f"{member.base}/feed"
        while following:
            await page.goto(following)
            read += await page.locator("article[data-post]").count()
            troubles += await layout_troubles(page)
            more = page.locator("a[rel=next]")
            following = await more.get_attribute("href") or "" if await more.count() else ""
        for path in ("search?q=alert", "changes", "tags", "mutes", "saved"):
            await page.goto(f"{member.base}/{path}")
            troubles += await layout_troubles(page)
    assert troubles == []
    assert read >= 150, "equal texts are folded, the others are all shown"


def watch(page: Page, address: str, troubles: list[str]) -> None:
    """Notes every dialog and every request to another host."""

    def note_request(request: Request) -> None:
        if not request.url.startswith((address, "data:")):
            troubles.append(f"asked for {request.url}")

    page.on("dialog", lambda dialog: troubles.append(f"a dialog: {dialog.message}"))
    page.on("request", note_request)
