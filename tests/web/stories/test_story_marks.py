"""A reader saves a story, is done with it, follows it, and takes that back."""

import re

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import MessageId, PostId, TenantId
from telegram_assistant.features.stories.marks import raise_followed
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.web_clients import Browser, member_browser
from tests.conftest import Admin
from tests.web.story_posts import BRIDGE, BRIDGE_TOO, MORE, make_channels, tell

ROW = r'<div class="marks" id="marks-{channel}-{message}">.*?</div>'


def read_pressed(page: str, story: PostId) -> list[str]:
    """The words on the pressed buttons of a story."""
    row = re.search(ROW.format(channel=story.channel_id, message=story.message_id), page, re.DOTALL)
    assert row is not None
    return re.findall(r'aria-pressed="true">([^<]+)<', row[0])


async def test_a_reader_saves_follows_and_ends_a_story_for_themselves(
    app: App, owner: Browser, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channel_id, other, third = await make_channels(tenant_id, 3, system=system, admin=admin)
    story = await tell({channel_id: BRIDGE, other: BRIDGE_TOO}, 1, system=system, admin=admin, minutes_ago=20)
    assert read_pressed((await owner.open("./today")).text, story) == []
    for mark in ("saved", "done", "followed"):
        answer = await owner.submit(
            f"./story/{other}/1/mark", mark=mark, do="mark", back=f"{owner.base}/today"
        )
        assert answer.headers["location"] == f"{owner.base}/today"
    for path in ("./today", f"./story/{story}", "./saved"):
        assert read_pressed((await owner.open(path)).text, story) == ["saved", "done", "following"], path
    assert "В Северограде закрыли Литейный мост" in owner.page, "Saved shows the story"
    async with member_browser(app, tenant_id) as colleague:
        assert read_pressed((await colleague.open("./today")).text, story) == []
        assert "Nothing saved yet" in (await colleague.open("./saved")).text
    await tell({third: MORE}, 1, system=system, admin=admin, minutes_ago=1, like=story)
    await admin.execute("UPDATE stories SET changed_at = now()")
    assert read_pressed((await owner.open("./today")).text, story) == ["saved", "following"]
    await raise_followed(followers=system.story_followers, tenant=app.tenant)
    assert "New in a story you follow, from Канал 2" in (await owner.open("./alerts")).text
    assert owner.page.count('<details class="alert') == 1
    alert = re.search(r'action="[^"]+/alerts/([^/"]+)/open"', owner.page)
    assert alert is not None
    opened = await owner.submit(f"./alerts/{alert[1]}/open")
    assert opened.headers["location"] == f"{owner.base}/story/{PostId(third, MessageId(1))}"


async def test_a_script_gets_the_actions_again_and_a_note_that_takes_the_mark_back(
    owner: Browser, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channel_id, other = await make_channels(tenant_id, 2, system=system, admin=admin)
    story = await tell({channel_id: BRIDGE, other: BRIDGE_TOO}, 1, system=system, admin=admin, minutes_ago=20)
    await owner.open("./today")
    marked = await owner.submit(
        f"./story/{story}/mark", mark="done", do="mark", headers={"HX-Request": "true"}
    )
    assert read_pressed(marked.text, story) == ["done"]
    assert '<div id="notes" hx-swap-oob="innerHTML">' in marked.text
    assert "Done until something new comes: “В Северограде закрыли Литейный мост”." in marked.text
    assert 'value="undo" data-act="undo"' in marked.text
    undone = await owner.submit(
        f"./story/{story}/mark", mark="done", do="undo", headers={"HX-Request": "true"}
    )
    assert read_pressed(undone.text, story) == []
    assert "Taken back." in undone.text


async def test_a_mark_leads_back_to_pages_of_this_site_only(
    owner: Browser, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channel_id, other = await make_channels(tenant_id, 2, system=system, admin=admin)
    story = await tell({channel_id: BRIDGE, other: BRIDGE_TOO}, 1, system=system, admin=admin, minutes_ago=20)
    await owner.open("./today")
    for back in ("https://example.org/", "//example.org", "/\\example.org", ""):
        answer = await owner.submit(f"./story/{story}/mark", mark="saved", do="mark", back=back)
        assert answer.headers["location"] == f"{owner.base}/story/{story}"
    assert (await owner.submit(f"./story/{story}/mark", mark="gold", do="mark")).status_code == 422
