"""Today: the figures of the opening line, what stands beside the stories, the end, and an absence."""

import re
from datetime import UTC, datetime, time

from telegram_assistant.assembly import App
from telegram_assistant.domain.digests.plan import make_plan
from telegram_assistant.domain.ids import MessageId, PostId, TenantId
from telegram_assistant.domain.stories.story import LinkKind
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import follow_long_ago, make_channel
from testkit.stories import store_story
from testkit.web_clients import Browser
from tests.conftest import Admin
from tests.web.stories.test_stories import ADVERTISING, BRIDGE, bridge, land_story_post, post

NEARBY = "Дорогу к мосту через Охту починят к 5 мая, сообщил комитет. Движение пустят по двум полосам."


async def come_back(admin: Admin, tenant_id: TenantId, *, hours: float) -> None:
    await admin.execute(
        "UPDATE visits SET seen_at = now() - make_interval(hours => $2) WHERE tenant_id = $1",
        tenant_id,
        hours,
    )


async def store_earlier(admin: Admin, *posts: PostId, hours: float = 48) -> None:
    for post_id in posts:
        await admin.execute(
            "UPDATE posts SET stored_at = now() - make_interval(hours => $3) WHERE channel_id = $1 "
            "AND message_id = $2",
            *post_id,
            hours,
        )


async def copy_bridge(system: SystemStores, admin: Admin, tenant_id: TenantId, first: PostId) -> PostId:
    copy = await land_story_post(system, admin, tenant_id, BRIDGE, title="Пересказы", minutes=5)
    story_id = await admin.fetchval(
        "SELECT story_id FROM story_posts WHERE channel_id = $1", first.channel_id
    )
    await store_story(admin, [copy], [(copy, first, LinkKind.COPY, 9.0, False)], story_id=story_id)
    return copy


async def test_the_opening_line_counts_posts_copies_and_advertising(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    first, second = await bridge(system, admin, tenant_id)
    await copy_bridge(system, admin, tenant_id, first)
    await admin.execute("UPDATE channels SET newest_posted_at = now()")
    page = (await owner.open("./today")).text
    assert "<h1>1 story, 1 minute</h1>" in page
    assert "4 posts read for you: 1 copy folded." in " ".join(page.split())
    await admin.execute(ADVERTISING, *second)
    assert "1 copy folded, 1 ad left out." in " ".join((await owner.open("./today")).text.split())
    await owner.submit("./mutes", channel=str(first.channel_id))
    page = " ".join((await owner.open("./today")).text.split())
    assert "3 posts read for you" in page, "a muted channel is not counted"
    owner.client.headers["Accept-Language"] = "ru"
    page = " ".join((await owner.open("./today")).text.split())
    assert "За вас прочитано 3 поста: 1 копия свёрнута, пропущен 1 рекламный пост." in page


async def test_times_have_short_units_without_points(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    await bridge(system, admin, tenant_id)
    assert ">20 min ago</time>" in (await owner.open("./today")).text
    owner.client.headers["Accept-Language"] = "ru"
    assert ">20 мин назад</time>" in (await owner.open("./today")).text


async def test_a_copy_of_a_known_post_is_no_news(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    first, second = await bridge(system, admin, tenant_id)
    await owner.open("./today")
    await come_back(admin, tenant_id, hours=1)
    await store_earlier(admin, first, second)
    await copy_bridge(system, admin, tenant_id, first)
    page = (await owner.open("./today")).text
    assert "Nothing new since your last visit" in page
    assert 'class="state new"' not in page
    assert "2 in their own words, 1 repeats" in " ".join(page.split())


async def test_the_page_ends_and_names_the_next_digest_of_the_plan(
    owner: Browser, app: App, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    await bridge(system, admin, tenant_id)
    page = " ".join((await owner.open("./today")).text.split())
    assert '<p class="the-end"> <b>That is all.</b> </p>' in page
    user_id = await admin.fetchval("SELECT user_id FROM visits WHERE tenant_id = $1", tenant_id)
    plan = make_plan([time(8, 0)], zone="UTC")
    await app.person(tenant_id, user_id).digests.set_plan(plan)
    assert "Next digest: 08:00." in (await owner.open("./today")).text.replace("\u202f", " ")


async def test_after_an_absence_ended_stories_are_told_by_their_end_alone(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    old = [
        await land_story_post(system, admin, tenant_id, text, title=title, minutes=minutes)
        for text, title, minutes in (
            (BRIDGE, "Городские новости", 5 * 1440),
            (NEARBY, "Дороги края", 4 * 1440),
        )
    ]
    await store_story(admin, old, [(old[1], old[0], LinkKind.REWRITE, 3.0, False)])
    await owner.open("./today?window=week")
    await come_back(admin, tenant_id, hours=24)
    page = (await owner.open("./today")).text
    assert "You were away" not in page
    await admin.execute("UPDATE visits SET before_at = NULL WHERE tenant_id = $1", tenant_id)
    await come_back(admin, tenant_id, hours=9 * 24 + 1)
    page = " ".join((await owner.open("./today")).text.split())
    assert "You were away for 9 days. <b>Catch up: 1 story, 1 minute</b>" in page
    ends = page.partition('<dl class="ends">')[2].partition("</dl>")[0]
    assert f"/story/{old[0]}" in ends
    assert "Движение пустят" not in page, "only the end"
    assert '<article class="card post story' not in page


async def test_unread_alerts_are_counted_on_every_page_and_named_on_today(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_channel(system, title="Порт")
    await follow_long_ago(system, admin, tenant_id, channel_id)
    made = await post(
        system, channel_id, "Главное к этому часу. «Нордика» вышла из порта без лоцмана.", minutes=3
    )
    await admin.execute(
        """
        WITH watch AS (INSERT INTO watches (tenant_id, name, kind, query, created_by)
            VALUES ($1, 'Port', 'words', 'порт', 'test') RETURNING watch_id)
        INSERT INTO alerts (tenant_id, watch_id, kind, severity, channel_id, message, subject, happened_at)
        SELECT $1, watch_id, 'posted', 'normal', $2, $3, 'one', now() FROM watch
        """,
        tenant_id,
        *made,
    )
    page = (await owner.open("./today")).text
    assert "1 new alert" in page
    assert "<b>«Нордика» вышла из порта без лоцмана.</b>" in page, "without its opening"
    for path in ("./feed", "./channels"):
        page = (await owner.open(path)).text
        assert page.count('<span class="count" aria-hidden="true">1</span>') == 2, "on the rail and the bar"
        assert 'data-unread="1"' in page
    await owner.submit("./alerts/seen", until=datetime.now(UTC).isoformat())
    page = (await owner.open("./feed")).text
    assert 'class="count"' not in page
    assert 'data-unread="0"' in page


async def test_quiet_changes_stand_beside_the_stories_as_one_line(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_channel(system, title="Что на дороге")
    await follow_long_ago(system, admin, tenant_id, channel_id)
    made = await post(
        system, channel_id, "Мост закрыт. Чинить его будут 10 дней. Объезд по набережной.", minutes=30
    )
    await admin.execute(
        """
        INSERT INTO post_versions (channel_id, message_id, revision, text, replaced_at, content_hash,
            difference, meaning, weight)
        VALUES ($1, $2, 1, 'Мост закрыт. Чинить его будут 13 дней. Объезд по набережной.', now(), '\\x00',
            NULL, '[["number", "13", "10"]]', 6)
        """,
        *made,
    )
    await admin.execute(
        "UPDATE posts SET revision = 2 WHERE channel_id = $1 AND message_id = $2",
        *PostId(channel_id, MessageId(1)),
    )
    page = (await owner.open("./today")).text
    beside = page.partition("Changed quietly")[2].partition("</section>")[0]
    assert re.search(r"Чинить его будут <del>.*13</del><ins>.*10</ins> дней\.", beside)
    assert "Объезд" not in beside, "only the sentence that changed"
    assert "Что на дороге" in beside


async def test_numbers_on_which_channels_differ_stand_on_the_card(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    texts = (
        "В Березополе 365 домов остались без воды. Прорыв случился на Мельничной улице.",
        "В Березополе 90 домов остались без воды. Прорыв случился на Мельничной улице ночью.",
    )
    posts = [
        await land_story_post(system, admin, tenant_id, text, title=title, minutes=minutes)
        for text, title, minutes in zip(texts, ("Дайджест", "Вестник"), (20, 10), strict=True)
    ]
    await store_story(admin, posts, [(posts[1], posts[0], LinkKind.REWRITE, 3.0, False)])
    page = (await owner.open("./today")).text
    differ = page.partition("They differ</dt>")[2].partition("</dd>")[0]
    assert re.findall(r"<b>([^<]+)</b>", differ) == ["90 домов", "365 домов"]
    assert f"/post/{posts[1]}" in differ


async def test_a_card_and_its_story_say_in_one_word_what_became_of_the_event(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    first, _ = await bridge(system, admin, tenant_id)
    for path in ("./today", f"./story/{first}"):
        assert "reopened" not in (await owner.open(path)).text
    reopened = "Мост через Охту снова открыли для грузовиков: опоры укрепили раньше срока."
    later = await land_story_post(system, admin, tenant_id, reopened, title="Сводка", minutes=1)
    await admin.execute(
        "UPDATE posts SET posted_at = posted_at - interval '1 hour' WHERE channel_id = $1", first[0]
    )
    story_id = await admin.fetchval(
        "SELECT story_id FROM story_posts WHERE channel_id = $1", first.channel_id
    )
    await store_story(admin, [later], [(later, first, LinkKind.REWRITE, 3.0, False)], story_id=story_id)
    for language, word in (("en", "reopened"), ("ru", "снова открыли")):
        owner.client.headers["Accept-Language"] = language
        for path in ("./today", f"./story/{first}"):
            assert re.search(rf'<b class="state[^"]*">{word}</b>', (await owner.open(path)).text), path


async def test_the_page_greets_by_the_hour(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    await bridge(system, admin, tenant_id)
    greetings = "Good morning|Good afternoon|Good evening|Hello"
    assert re.search(rf'<p class="sub">\s*({greetings})\.', (await owner.open("./today")).text)
