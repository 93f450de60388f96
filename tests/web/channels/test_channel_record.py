"""The record on the page of a channel: where it was first, and by how much."""

from datetime import UTC, datetime, timedelta

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.features.channels.records import count_records
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.web_clients import Browser
from tests.conftest import Admin
from tests.web.story_posts import BRIDGE, BRIDGE_TOO, make_channels, tell


async def test_a_channel_shows_the_stories_it_told_first_and_how_much_earlier(
    app: App, owner: Browser, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channel_id, other = await make_channels(tenant_id, 2, system=system, admin=admin)
    stories = [
        await tell(
            {channel_id: BRIDGE, other: BRIDGE_TOO},
            number,
            system=system,
            admin=admin,
            minutes_ago=number * 9,
        )
        for number in range(1, 6)
    ]
    path = f"./channels/{channel_id}"
    assert "Where it was first" not in (await owner.open(path)).text, "not counted yet"
    await count_records(stores=app.tenant(tenant_id), now=datetime.now(UTC) + timedelta(seconds=1))
    page = " ".join((await owner.open(path)).text.split())
    table = page.partition("Where it was first</h2>")[2].partition("</section>")[0]
    assert table.count(f'href="{owner.base}/story/') == 3
    newest = table.partition("<tbody>")[2].partition("</tr>")[0]
    assert f'href="{owner.base}/story/{stories[0]}"' in newest
    assert "В Северограде закрыли Литейный мост." in newest
    assert '<td class="next" dir="auto">Канал 1</td>' in newest
    assert "6 seconds</td>" in newest
    assert f'href="{owner.base}/channels/{channel_id}/record/first">and 2 more stories</a>' in table
    assert "Where it was first" not in (await owner.open(f"./channels/{other}")).text
