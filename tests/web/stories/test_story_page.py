"""The page of a story: the newest state above, the newest post first, and the way to share it."""

import re

from telegram_assistant.domain.ids import PostId, TenantId
from telegram_assistant.domain.stories.story import LinkKind
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.stories import store_story
from testkit.web_clients import Browser
from tests.conftest import Admin
from tests.web.stories.test_stories import BRIDGE, bridge, land_story_post
from tests.web.story_posts import make_channels, tell

CLOSED = "Мост в Ольхове закрыли до апреля.\n\nГрузовики едут в объезд через Туманск."
CLOSED_ENGLISH = "The bridge in Olkhov is closed until April. Lorries go through Tumansk."
REPEATED = "В Ольхове до апреля закрыт мост, объезд идёт через Туманск."
REOPENED = "Мост в Ольхове снова открыт: машины пошли утром."


async def reopen(system: SystemStores, admin: Admin, tenant_id: TenantId) -> list[PostId]:
    """A story whose state has changed, of three posts, the oldest first."""
    posts = [
        await land_story_post(system, admin, tenant_id, text, title=title, minutes=minutes)
        for text, title, minutes in (
            (CLOSED, "Дороги края", 200),
            (REPEATED, "Городские новости", 150),
            (REOPENED, "Эхо", 2),
        )
    ]
    await store_story(admin, posts, [(post, posts[0], LinkKind.REWRITE, 9.0, False) for post in posts[1:]])
    return posts


def places_in_timeline(page: str) -> list[int]:
    timeline = page.partition('<ol class="timeline">')[2].partition("</ol>")[0]
    return [int(number) for number in re.findall(r'<li id="s(\d+)"', timeline)]


async def test_a_story_begins_with_its_newest_state_who_says_it_and_the_one_before(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    first, _, last = await reopen(system, admin, tenant_id)
    page = " ".join((await owner.open(f"./story/{first}")).text.split())
    now = page.partition('<section class="now"')[2].partition("</section>")[0]
    assert re.search(r"Now, (\d+ \w+, )?\d\d:\d\d</h2>", now)
    assert f'<a href="{owner.base}/channels/{last.channel_id}">Эхо</a>' in now
    assert "<b>Before:</b> Мост в Ольхове закрыли до апреля." in now
    assert REOPENED not in now, "the headline says it"


async def test_a_story_that_is_only_told_again_has_no_newest_state(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id, other = await make_channels(tenant_id, 2, system=system, admin=admin)
    story = await tell({channel_id: BRIDGE, other: BRIDGE}, 1, system=system, admin=admin, minutes_ago=9)
    assert 'class="now"' not in (await owner.open(f"./story/{story}")).text


async def test_nothing_is_said_of_posts_in_a_language_that_was_not_compared(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    first = await land_story_post(system, admin, tenant_id, CLOSED, title="Дороги края", minutes=9)
    story = await store_story(admin, [first], [])
    assert "one channel so far" in (await owner.open(f"./story/{first}")).text

    other = await land_story_post(
        system, admin, tenant_id, CLOSED_ENGLISH, title="City Post", minutes=5, lang="en"
    )
    await store_story(admin, [other], [(other, first, LinkKind.TRANSLATION, 9.0, False)], story_id=story)
    page = (await owner.open(f"./story/{first}")).text
    assert "one channel in its language so far" in page
    assert "one channel so far" not in page


async def test_a_timeline_begins_with_the_newest_post_unless_its_reader_wants_the_oldest(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    first, *_ = await reopen(system, admin, tenant_id)
    newest_first = (await owner.open(f"./story/{first}")).text
    oldest_first = (await owner.open(f"./story/{first}?order=oldest")).text
    assert places_in_timeline(newest_first) == [3, 2, 1]
    assert places_in_timeline(oldest_first) == [1, 2, 3]
    assert re.search(r'id="order-oldest" href="[^"]+" aria-current="true"', oldest_first)


async def test_the_timeline_shows_where_the_last_visit_was(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    first, *_ = await reopen(system, admin, tenant_id)
    assert 'class="visited"' not in (await owner.open(f"./story/{first}")).text
    await admin.execute(
        "UPDATE visits SET seen_at = now() - interval '1 hour' WHERE tenant_id = $1", tenant_id
    )
    page = (await owner.open(f"./story/{first}")).text
    newer, _, older = page.partition('<li class="visited">')
    assert 'id="s3"' in newer
    assert 'id="s2"' in older


async def test_share_stands_before_the_other_actions_of_a_story(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    first, _ = await bridge(system, admin, tenant_id)
    for path in ("./today", f"./story/{first}"):
        page = (await owner.open(path)).text
        follow, share, more = (
            page.index(mark) for mark in ('data-act="follow"', 'class="drop"', 'class="more"')
        )
        assert follow < share < more, path
