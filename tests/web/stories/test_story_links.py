"""Every post leads to its story, and pages lead back to where the reader came from."""

from datetime import UTC, datetime

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.watches.watch import WatchKind, WatchOptions, WatchTarget
from telegram_assistant.features.watches.alerts import newest_alerts
from telegram_assistant.features.watches.watches import create_watch
from telegram_assistant.stores.postgres.posts.posts import Derived
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import make_post
from testkit.web_clients import Browser
from tests.conftest import Admin
from tests.web.story_posts import BRIDGE, BRIDGE_TOO, make_channels, tell


async def test_a_post_and_its_card_say_who_else_tells_it(
    owner: Browser, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channel_id, other, third = await make_channels(tenant_id, 3, system=system, admin=admin)
    story = await tell({channel_id: BRIDGE, other: BRIDGE_TOO}, 1, system=system, admin=admin, minutes_ago=20)
    await tell({third: "Библиотека открыла зал."}, 1, system=system, admin=admin, minutes_ago=9)
    page = " ".join((await owner.open(f"./post/{other}/1")).text.split())
    assert (
        f'href="{owner.base}/story/{story}">2 channels tell this · Канал 0 had it first, 6 seconds earlier'
        in page
    )
    assert "2 channels tell this · this post was first among your channels" in " ".join(
        (await owner.open(f"./post/{story}")).text.split()
    )
    feed = (await owner.open("./feed")).text
    assert feed.count("2 channels tell this") == 2
    card = await owner.submit("./read", post=f"{other}/1", do="read", headers={"HX-Request": "true"})
    assert "2 channels tell this" in card.text, "a card that is drawn again keeps its line"
    assert "tell this" not in (await owner.open(f"./post/{third}/1")).text


async def test_a_post_leads_back_to_the_page_of_this_tenant_that_led_to_it(
    owner: Browser, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channel_id, other = await make_channels(tenant_id, 2, system=system, admin=admin)
    story = await tell({channel_id: BRIDGE, other: BRIDGE_TOO}, 1, system=system, admin=admin, minutes_ago=20)
    here = f"{owner.client.base_url.scheme}://{owner.client.base_url.netloc.decode()}"
    path = f"{owner.base}/search?q=%D0%BC%D0%BE%D1%81%D1%82"
    for page in (f"./post/{story}", f"./story/{story}"):
        html = (await owner.open(page, referer=here + path)).text
        assert f'<a class="plain" href="{path}">← Search</a>' in html
    assert (
        "← Story</a>"
        in (await owner.open(f"./post/{story}", referer=f"{here}{owner.base}/story/{story}")).text
    )
    strangers = (
        f"https://example.org{path}",
        f"{here}/t/other/search",
        f"{here}//example.org{owner.base}/feed",
        f"{here}{owner.base}/post/{story}",
        "javascript:alert(1)",
        "",
    )
    for referer in strangers:
        html = (await owner.open(f"./post/{story}", referer=referer)).text
        assert f'<a class="plain" href="{owner.base}/feed">← Feed</a>' in html, referer


async def test_an_alert_names_the_story_of_its_post(
    app: App, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channel_id, other = await make_channels(tenant_id, 2, system=system, admin=admin)
    stores = app.tenant(tenant_id)
    target, now = WatchTarget(kind=WatchKind.WORDS, query="мост"), datetime.now(UTC)
    await create_watch("Мосты", target, WatchOptions(), stores=stores, created_by="anna", now=now, zone=UTC)
    await admin.execute(
        "UPDATE watches SET begins_at = begins_at - interval '1 hour' WHERE tenant_id = $1", tenant_id
    )
    story = await tell({channel_id: BRIDGE, other: BRIDGE_TOO}, 1, system=system, admin=admin, minutes_ago=20)
    post = make_post(channel_id=other, message_id=1, text=BRIDGE_TOO)
    assert await system.watch_matching.raise_alerts([Derived(post, 1, "ru", ())]) == 1
    page = await newest_alerts(stores=stores, limit=5)
    assert [page.stories[post.id].story_id] == [story]
