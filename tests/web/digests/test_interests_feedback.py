"""Feedback of a reader about stories: more, less, never again; and how they take it back."""

import re
from datetime import UTC, datetime, timedelta

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.due_work import run_periodic
from testkit.web_clients import Browser, member_browser
from tests.conftest import Admin
from tests.web.digests.test_digests import headlines, make_now
from tests.web.story_posts import BRIDGE, BRIDGE_TOO, make_channels, tell

MUSEUM = "В Казани открыли новый музей. В нём 30 залов."
WEIGHTS = re.compile(r'<b dir="auto">([^<]+)</b>.*?chip \w+">([^<]+)<', re.DOTALL)


async def load_weights(owner: Browser) -> dict[str, str]:
    """The topics of the page of interests, with their weights."""
    return dict(WEIGHTS.findall((await owner.open("./interests")).text))


async def test_more_like_a_story_shows_its_reason_counts_once_and_can_be_taken_back(
    owner: Browser, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channel_id, other = await make_channels(tenant_id, 2, system=system, admin=admin)
    story = str(
        await tell({channel_id: MUSEUM, other: MUSEUM}, 1, system=system, admin=admin, minutes_ago=20)
    )
    for _ in range(2):
        assert 'value="say" data-act="more" aria-pressed="false"' in (await owner.open("./today")).text
        await owner.submit("./interests/say", story=f"{other}/1", feedback="more", do="say", back="/")
        assert 'value="undo" data-act="more" aria-pressed="true"' in (await owner.open("./today")).text
        await owner.submit("./interests/say", story=story, feedback="more", do="say", back="/")
        assert await load_weights(owner) == {"Казань": "+0.5"}
        assert "you asked for more like" in owner.page
        assert f"/story/{story}" in owner.page
        assert "added topics: Казань" in owner.page
        await owner.submit("./interests/say", story=story, feedback="more", do="undo")
        assert await load_weights(owner) == {}
        assert "Nothing yet" in owner.page
    assert (await owner.submit("./interests/say", story=story, feedback="more", do="undo")).status_code == 404


async def test_a_story_in_brief_keeps_its_actions_in_a_menu_that_opens_when_something_was_said(
    owner: Browser, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channel_id, other = await make_channels(tenant_id, 2, system=system, admin=admin)
    towns = ("Казани", "Перми", "Туле", "Омске", "Твери", "Пскове", "Орле", "Уфе", "Чите")
    for number, town in enumerate(towns, start=1):
        text = f"В {town} открыли новый музей. В нём {number * 10} залов."
        await tell(
            {channel_id: text, other: text}, number, system=system, admin=admin, minutes_ago=20 * number
        )
    last = (await owner.open("./today")).text.partition("In brief</h2>")[2]
    menu = re.search(r'<details class="menu">\s*<summary aria-label="Actions".*?</details>', last, re.DOTALL)
    assert menu is not None
    assert last.count("data-act=") == menu[0].count("data-act=") + 1, (
        "outside of the menu there is only the headline to open"
    )
    assert menu[0].count('aria-pressed="false"') == 6
    story = re.search(r'name="story" value="([^"]+)"', menu[0])
    assert story is not None
    await owner.submit("./interests/say", story=story[1], feedback="more")
    assert '<details class="menu" open>' in (await owner.open("./today")).text


async def test_less_replaces_more_and_what_a_person_wrote_down_keeps_its_weight(
    owner: Browser, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channel_id, other = await make_channels(tenant_id, 2, system=system, admin=admin)
    story = await tell({channel_id: MUSEUM, other: MUSEUM}, 1, system=system, admin=admin, minutes_ago=20)
    await owner.open("./today")
    await owner.submit("./interests/say", story=str(story), feedback="more")
    await owner.open(f"./story/{story}")
    await owner.submit("./interests/say", story=str(story), feedback="less")
    assert await load_weights(owner) == {"Казань": "-0.5"}
    assert "more like" not in owner.page.split("Your feedback on stories", 1)[0]
    await owner.submit("./interests", topic="Казань", weight="2.0")
    await owner.open("./interests")
    await owner.submit("./interests/say", story=str(story), feedback="less", do="undo")
    assert await load_weights(owner) == {"Казань": "+2.0"}


async def test_a_muted_story_leaves_today_digests_and_trends_of_that_person_alone_until_it_is_shown_again(
    app: App, owner: Browser, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channels = await make_channels(tenant_id, 5, system=system, admin=admin)
    story = await tell(dict.fromkeys(channels, MUSEUM), 1, system=system, admin=admin, minutes_ago=20)
    await admin.execute("UPDATE story_posts SET is_bursting = true WHERE channel_id = $1", channels[4])
    await tell({channels[0]: BRIDGE, channels[1]: BRIDGE_TOO}, 2, system=system, admin=admin, minutes_ago=30)

    await owner.open("./today")
    await owner.submit("./interests/say", story=f"{channels[3]}/1", feedback="muted")
    assert ["музей" in line for line in headlines((await owner.open("./today")).text)] == [False]
    assert "Story hidden" in owner.page
    assert headlines((await owner.open("./trends")).text) == []
    await make_now(owner)
    assert ["музей" in line for line in headlines(owner.page)] == [False]
    assert 'data-act="mute" aria-pressed="true"' in (await owner.open(f"./story/{story}")).text
    async with member_browser(app, tenant_id) as colleague:
        assert len(headlines((await colleague.open("./today")).text)) == 2
        assert len(headlines((await colleague.open("./trends")).text)) == 1

    await tell(
        {channels[2]: "Музей в Казани открыл мэр."}, 3, system=system, admin=admin, minutes_ago=1, like=story
    )
    assert len(headlines((await owner.open("./today")).text)) == 1
    assert "Hidden stories" in (await owner.open("./interests")).text
    await owner.submit("./interests/say", story=f"{channels[0]}/1", feedback="muted", do="undo")
    assert len(headlines((await owner.open("./today")).text)) == 2
    assert "Hidden stories" not in (await owner.open("./interests")).text


async def test_forgetting_everything_brings_muted_stories_back(
    owner: Browser, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channel_id, other = await make_channels(tenant_id, 2, system=system, admin=admin)
    story = await tell({channel_id: MUSEUM, other: MUSEUM}, 1, system=system, admin=admin, minutes_ago=20)
    for feedback in ("muted", "less"):
        await owner.open(f"./story/{story}")
        await owner.submit("./interests/say", story=str(story), feedback=feedback)
    await owner.open("./interests")
    await owner.submit("./interests/reset")
    assert await load_weights(owner) == {}
    assert len(headlines((await owner.open("./today")).text)) == 1


async def test_what_has_faded_is_not_taken_back_twice(
    app: App, owner: Browser, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channel_id, other = await make_channels(tenant_id, 2, system=system, admin=admin)
    story = await tell({channel_id: MUSEUM, other: MUSEUM}, 1, system=system, admin=admin, minutes_ago=20)
    await owner.open("./today")
    await owner.submit("./interests/say", story=str(story), feedback="more")
    await owner.submit("./save", post=f"{channel_id}/1")
    await run_periodic(app, "interests")
    assert await load_weights(owner) == {"Казань": "+0.7"}
    long_ago = datetime.now(UTC) - timedelta(days=60)
    await admin.execute(
        "UPDATE feedback SET said_at = $1 WHERE feedback = 'more' AND user_id = $2", long_ago, owner.user_id
    )
    await admin.execute("UPDATE interests SET weight = 0.53 WHERE user_id = $1", owner.user_id)
    await owner.open("./interests")
    await owner.submit("./interests/say", story=str(story), feedback="more", do="undo")
    assert await load_weights(owner) == {"Казань": "+0.3"}
    assert "you saved" in owner.page


async def test_a_form_that_names_no_story_or_says_something_else_is_refused(owner: Browser) -> None:
    for story, feedback in (("mine", "more"), ("1/1", "loud"), ("1/1", "saved")):
        await owner.open("./interests")
        assert (await owner.submit("./interests/say", story=story, feedback=feedback)).status_code == 422
    await owner.open("./interests")
    assert (await owner.submit("./interests/say", story="1/1", feedback="more")).status_code == 404
