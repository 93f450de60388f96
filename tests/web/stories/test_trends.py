"""Trends as their reader meets them."""

import re
from datetime import UTC, datetime, timedelta

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.posts.posts import derived_of
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.due_work import run_periodic
from testkit.factories import make_page, make_post
from testkit.web_clients import member_browser
from tests.conftest import Admin
from tests.web.story_posts import BRIDGE, BRIDGE_TOO, make_channels, tell

OTHERS_HAVE_THEIR_DAYS = """
INSERT INTO trend_days (tenant_id, day, trends)
SELECT t.tenant_id, $2::date - d.ago, '[]' FROM tenants t CROSS JOIN generate_series(1, 7) AS d(ago)
WHERE t.tenant_id <> $1
ON CONFLICT DO NOTHING
"""
"""The database is shared: the job would find the trends of every test's tenant."""


async def test_a_story_that_five_channels_tell_within_half_an_hour_is_a_trend(
    app: App, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channels = await make_channels(tenant_id, 5, system=system, admin=admin)
    async with member_browser(app, tenant_id) as reader:
        first = await tell(dict.fromkeys(channels[:4], BRIDGE), 1, system=system, admin=admin, minutes_ago=10)
        assert "No trends in this period" in (await reader.open("./trends")).text
        await tell({channels[4]: BRIDGE_TOO}, 1, system=system, admin=admin, minutes_ago=2, like=first)
        assert "5 channels within 30 minutes" in (await reader.open("./trends")).text
        assert f"/story/{first}" in reader.page


async def mention(
    channels: list[ChannelId], text: str, at: datetime, message_id: int, *, system: SystemStores
) -> None:
    for channel_id in channels:
        post = make_post(channel_id=channel_id, message_id=message_id, text=text, posted_at=at)
        await system.landing.land(make_page(post), Claim(channel_id, 0))
        await system.posts.save_derived([derived_of(loaded) for loaded in await system.posts.load([post.id])])


async def test_a_name_that_is_mentioned_more_than_usual_is_a_trend_and_its_day_is_kept(
    app: App, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channels, now = await make_channels(tenant_id, 5, system=system, admin=admin), datetime.now(UTC)
    yesterday = now.replace(hour=12, minute=0) - timedelta(days=1)
    for week in range(5):
        await mention(
            channels,
            "Сегодня солнечно.",
            now - timedelta(weeks=week, minutes=5),
            10 * week + 101,
            system=system,
        )
        await mention(
            channels,
            "Вчера было солнечно.",
            yesterday - timedelta(weeks=week),
            10 * week + 102,
            system=system,
        )
    await mention(
        channels, "Сейчас в Порошино горит <склад>.", now - timedelta(minutes=3), 201, system=system
    )
    await mention(channels, "Вчера в Краснолесье выпал снег.", yesterday, 202, system=system)
    await admin.execute(OTHERS_HAVE_THEIR_DAYS, tenant_id, now.date())
    await run_periodic(app, "trends", now)
    async with member_browser(app, tenant_id) as reader:
        page = (await reader.open("./trends")).text
    assert "Names and tags in the last hour" in page
    assert re.search(r"search\?q=%D0%9F%D0%BE%D1%80%D0%BE%D1%88%D0%B8%D0%BD%D0%BE\">Порошино</a>", page)
    assert "горит &lt;склад&gt;" in page
    assert "channels per hour, at most 5; usually at most 0" in page
    assert "Краснолесье</a>" in page.split("Names and tags on", 1)[1]
