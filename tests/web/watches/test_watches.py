"""Watches, alerts, receivers and feeds, as people use them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.posts.posts import Derived
from telegram_assistant.web.charts.watches import HEIGHT, draw_days
from testkit.factories import make_channel, make_page, make_post, make_subscription
from testkit.web_clients import Browser
from tests.conftest import Admin


async def follow(app: App, tenant_id: TenantId) -> ChannelId:
    channel_id = await make_channel(app.system, title="Город & <мир>")
    await app.system.channels.subscribe(tenant_id, make_subscription(channel_id, folder="City"))
    return channel_id


async def post(app: App, channel_id: ChannelId, number: int, text: str, at: datetime) -> None:
    made = make_post(channel_id=channel_id, message_id=number, text=text, posted_at=at)
    await app.system.landing.land(make_page(made), Claim(channel_id, 0))
    await app.system.posts.save_derived([Derived(made, 1, "ru", ())])
    await app.system.watch_matching.raise_alerts([Derived(made, 1, "ru", ())])


async def test_a_watch_is_previewed_created_and_its_alert_opened(
    app: App, owner: Browser, tenant_id: TenantId
) -> None:
    channel_id, now = await follow(app, tenant_id), datetime.now(UTC)
    await post(app, channel_id, 1, "Снег & <b>лёд</b> на мосту", now - timedelta(days=2))
    assert "No watches yet" in (await owner.open("./watches")).text
    preview = (await owner.open("./watches/preview?query=снег")).text
    assert "fired 1 time in 30 days" in preview
    assert "Снег &amp; &lt;b&gt;лёд&lt;/b&gt; на мосту" in preview
    assert "almost every post" in (await owner.open("./watches/new?query=-снег")).text
    await owner.open("./watches/new")
    answer = await owner.submit(
        "./watches", name="Snow", query="снег", quiet_from="22:00", quiet_until="07:00"
    )
    assert "from now on" in (await owner.open(answer.headers["location"])).text
    await post(app, channel_id, 2, "Снова снег", now + timedelta(minutes=1))
    inbox = (await owner.open("./alerts")).text
    assert "Снова <mark>снег</mark>" in inbox
    assert "Your watch “Snow” looks for “снег”. The post has: снег." in inbox
    opened = await owner.submit(f"./alerts/{inbox.partition('/alerts/')[2].partition('/open')[0][-36:]}/open")
    assert opened.headers["location"].endswith(f"/post/{channel_id}/2")
    assert "Nothing unread" in (await owner.open("./alerts")).text
    assert "read by" in (await owner.open("./alerts?show=all")).text
    watch = (await app.tenant(tenant_id).watches.all())[0]
    page = (await owner.open(f"./watches/{watch.watch_id}")).text
    assert 'value="22:00"' in page
    await owner.submit(f"./watches/{watch.watch_id}/pause", do="pause")
    assert "paused" in (await owner.open("./watches")).text


async def test_alerts_stand_by_the_day_of_the_event_with_their_words_marked_and_nothing_unescaped(
    app: App, owner: Browser, tenant_id: TenantId
) -> None:
    channel_id, now = await follow(app, tenant_id), datetime.now(UTC)
    await owner.open("./watches/new")
    await owner.submit("./watches", name="Bridge", query="мост")
    late, early = now + timedelta(minutes=9), now + timedelta(minutes=2)
    await post(app, channel_id, 3, "О мостах & <b>льде</b>. Второй мост закрыт.", late)
    await post(app, channel_id, 2, "Мост открыт", early)
    inbox = (await owner.open("./alerts")).text
    assert inbox.index("О <mark>мостах</mark> &amp; &lt;b&gt;льде&lt;/b&gt;.") < inbox.index(
        "<mark>Мост</mark> открыт"
    )
    assert "Второй <mark>мост</mark> закрыт." in inbox
    assert "The post has: мостах, мост." in inbox
    assert "2 alerts" in inbox


async def test_each_watch_shows_its_alerts_of_the_last_seven_days_day_by_day(
    app: App, owner: Browser, tenant_id: TenantId, admin: Admin
) -> None:
    channel_id, now = await follow(app, tenant_id), datetime.now(UTC)
    for name, query in (("Bridge", "мост"), ("Snow", "снег")):
        await owner.open("./watches/new")
        await owner.submit("./watches", name=name, query=query)
    for number, days in enumerate((0, 0, 6, 9), start=1):
        await post(app, channel_id, number, "Мост закрыт", now + timedelta(seconds=number))
        await admin.execute(
            "UPDATE alerts SET happened_at = now() - $1::interval WHERE tenant_id = $2 AND message = $3",
            timedelta(days=days, minutes=1),
            tenant_id,
            number,
        )
    (bridge, snow) = await app.tenant(tenant_id).watches.all()
    assert (bridge.recent_days, bridge.recent) == ((1, 0, 0, 0, 0, 0, 2), 3)
    assert snow.recent_days == (0,) * 7
    beside = (await owner.open("./alerts")).text.partition("<aside")[2]
    assert 'aria-label="3 alerts in seven days, day by day: 1, 0, 0, 0, 0, 0, 2"' in beside
    assert 'aria-label="0 alerts in seven days, day by day: 0, 0, 0, 0, 0, 0, 0"' in beside
    assert beside.count('<rect class="newest"') == 2


def test_bars_of_all_watches_have_one_scale_and_a_single_alert_is_seen() -> None:
    assert [bar.height for bar in draw_days((0, 1, 50, 100), highest=100)] == [1, 4, HEIGHT // 2, HEIGHT]
    assert [bar.height for bar in draw_days((0, 0), highest=0)] == [1, 1]


async def test_posts_of_one_story_are_one_line_of_the_inbox(
    app: App, owner: Browser, tenant_id: TenantId
) -> None:
    text = (
        "Вантовый мост через Белую закрыли: на опоре нашли трещину длиной 40 сантиметров, объезд через порт."
    )
    channels = [await follow(app, tenant_id) for _ in range(3)]
    await owner.open("./watches/new")
    await owner.submit("./watches", name="Bridge", query="мост")
    now = datetime.now(UTC)
    for number, channel_id in enumerate(channels, start=1):
        await post(app, channel_id, 2, text, now + timedelta(milliseconds=number))
    posts = [PostId(channel_id, MessageId(2)) for channel_id in channels]
    await app.story_builder.group(posts, now=now + timedelta(minutes=5))
    inbox = (await owner.open("./alerts")).text
    assert inbox.count('class="alert post"') == 1
    assert "+2" in inbox
    assert "2 more channels tell this story." in inbox


async def test_without_scripts_a_preview_stays_in_the_form_of_its_watch(
    app: App, owner: Browser, tenant_id: TenantId
) -> None:
    channel_id = await follow(app, tenant_id)
    await post(app, channel_id, 1, "Лёд на мосту", datetime.now(UTC) - timedelta(days=2))
    await owner.open("./watches/new")
    assert 'formaction="' + owner.base + '/watches/new"' in owner.page
    await owner.submit("./watches", name="Snow", query="снег")
    watch = (await app.tenant(tenant_id).watches.all())[0]
    page = (await owner.open(f"./watches/{watch.watch_id}")).text
    assert f'formaction="{owner.base}/watches/{watch.watch_id}"' in page
    typed = "name=Ice&kind=words&query=лёд&severity=critical&quiet_from=22:00&quiet_until=07:00"
    page = (await owner.open(f"./watches/{watch.watch_id}?{typed}")).text
    assert "Edit the watch" in page
    assert f'action="{owner.base}/watches/{watch.watch_id}"' in page
    assert "fired 1 time in 30 days" in page
    for markup in ('value="Ice"', 'value="лёд"', 'value="critical" selected', 'value="22:00"'):
        assert markup in page
        assert markup in (await owner.open(f"./watches/new?{typed}")).text
    await owner.submit(f"./watches/{watch.watch_id}", name="Ice", query="лёд")
    assert [watch.name for watch in await app.tenant(tenant_id).watches.all()] == ["Ice"]


async def test_a_feed_shows_what_the_tenant_sees_now_until_its_address_is_revoked(
    app: App, owner: Browser, browser: Browser, tenant_id: TenantId
) -> None:
    channel_id = await follow(app, tenant_id)
    await post(app, channel_id, 1, "Снег\x0b & <b>лёд</b>", datetime.now(UTC) - timedelta(hours=1))
    await owner.open("./receivers")
    page = (await owner.submit("./feeds", feed="folder:City")).text
    address = page.partition('class="copy">')[2].partition(".atom")[0].partition("/feeds/")[2]
    assert [f"{address}.{kind}" in page for kind in ("atom", "rss", "json")] == [True] * 3
    atom, rss = [await browser.client.get(f"/feeds/{address}.{kind}") for kind in ("atom", "rss")]
    assert atom.headers["content-type"].startswith("application/atom+xml")
    assert "Снег  &amp;amp; &amp;lt;b&amp;gt;лёд&amp;lt;/b&amp;gt;" in atom.text
    assert "Снег &amp;amp; &amp;lt;b&amp;gt;лёд" in rss.text
    assert (await browser.client.get(f"/feeds/{address}.atom")).content == atom.content
    assert (await browser.client.get("/feeds/feed_guessed.atom")).status_code == 404
    await app.tenant(tenant_id).followed.leave(channel_id)
    assert "лёд" not in (await browser.client.get(f"/feeds/{address}.atom")).text
    (feed_address,) = await app.tenant(tenant_id).feed_addresses.all()
    await owner.open("./receivers")
    await owner.submit(f"./feeds/{feed_address.address_id}/revoke")
    assert (await browser.client.get(f"/feeds/{address}.atom")).status_code == 404


async def test_the_secret_of_a_webhook_is_shown_once(app: App, owner: Browser, tenant_id: TenantId) -> None:
    await owner.open("./receivers")
    page = (
        await owner.submit("./receivers", kind="webhook", name="Desk", address="https://desk.example/alerts")
    ).text
    secret = page.partition('class="copy">')[2].partition("<")[0]
    assert secret.startswith("whsec_")
    page = (await owner.open("./receivers")).text
    assert "https://desk.example/alerts" in page
    assert secret not in page
    refused: Any = await owner.submit(
        "./receivers", kind="webhook", name="Inside", address="http://127.0.0.1/"
    )
    assert refused.status_code == 422
    assert len(await app.tenant(tenant_id).receivers.all()) == 1
