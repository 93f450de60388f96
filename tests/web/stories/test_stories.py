"""Today and Story: what several channels tell, once."""

import re
from datetime import UTC, datetime, timedelta

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId
from telegram_assistant.domain.media.similarity import Look
from telegram_assistant.domain.stories.story import LinkKind
from telegram_assistant.domain.understanding.sentence_checks import LeftOut, SentenceChecks
from telegram_assistant.features.stories.stories import story_around
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.posts.posts import Derived
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.summaries.values import CitedSentence, WrittenSummary
from testkit.factories import follow_long_ago, make_channel, make_page, make_post
from testkit.stories import StoryLink, show_picture, store_story
from testkit.web_clients import Browser, member_browser
from tests.conftest import Admin
from tests.web.reading_world import ReadingWorld
from tests.web.story_posts import make_channels, tell

BRIDGE = "Мост через Охту закрыли для грузовиков до 1 апреля. Осмотр опор у Охты нашёл 12 трещин."
RETOLD = (
    "Грузовикам закрыли мост через Охту до 1 апреля, пишет комитет. Объезд через Каменку длиннее на 38 км."
)
ALONE = "Библиотека на Садовой открыла новый читальный зал на 40 мест."
ADVERTISING = """
INSERT INTO post_enrichment (channel_id, message_id, kind, tier, model, prompt_version, revision, data)
VALUES ($1, $2, 'tags', 'local', 'rules', '', 1, '{"tags": [], "is_ad": true}')
"""


async def land_story_post(
    system: SystemStores,
    admin: Admin,
    tenant_id: TenantId,
    text: str,
    *,
    title: str,
    minutes: int = 10,
    lang: str = "ru",
) -> PostId:
    channel_id = await make_channel(system, title=title)
    await follow_long_ago(system, admin, tenant_id, channel_id, folder="Город")
    return await post(system, channel_id, text, minutes=minutes, lang=lang)


async def post(
    system: SystemStores,
    channel_id: ChannelId,
    text: str,
    *,
    minutes: int,
    message_id: int = 1,
    lang: str = "ru",
) -> PostId:
    posted_at = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=minutes)
    made = make_post(channel_id=channel_id, message_id=message_id, text=text, posted_at=posted_at, lang=lang)
    await system.landing.land(make_page(made), Claim(channel_id, 0))
    await system.posts.save_derived([Derived(made, 1, lang, ())])
    return made.id


async def bridge(
    system: SystemStores, admin: Admin, tenant_id: TenantId, *, score: float = 3.0
) -> tuple[PostId, PostId]:
    first = await land_story_post(system, admin, tenant_id, BRIDGE, title="Городские новости", minutes=30)
    second = await land_story_post(system, admin, tenant_id, RETOLD, title="Дороги края", minutes=20)
    alone = await land_story_post(system, admin, tenant_id, ALONE, title="Библиотеки")
    link: StoryLink = (second, first, LinkKind.REWRITE, score, False)
    await store_story(admin, [first, second], [link])
    await store_story(admin, [alone], [])
    return first, second


async def test_today_tells_an_event_once_and_leaves_single_posts_to_the_feed(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    first, second = await bridge(system, admin, tenant_id)
    page = (await owner.open("./today")).text
    assert page.count('<article class="card post story') == 1
    assert "Мост через Охту закрыли для грузовиков до 1 апреля" in page
    assert "2 in their own words" in page
    assert "Библиотек" not in page
    assert re.search(r'<a class="src" href="[^"]+">Городские новости and 1 more</a>', page)
    assert f"/story/{first}" in page
    assert (await owner.open(f"./story/{second}")).status_code == 200, "any post of the story finds it"


async def test_what_changes_in_a_story_shows_at_once_though_it_was_read_before(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    first, second = await bridge(system, admin, tenant_id)
    assert "Мост через Охту закрыли" in (await owner.open("./today")).text
    await admin.execute(
        "UPDATE posts SET text = replace(text, 'закрыли', 'открыли'), revision = 2 WHERE channel_id = $1 "
        "AND message_id = $2",
        *first,
    )
    page = (await owner.open("./today")).text
    assert "Мост через Охту открыли" in page
    assert "1 edit<" in page
    await admin.execute(
        "UPDATE posts SET deleted_at = now() WHERE channel_id = $1 AND message_id = $2", *second
    )
    assert "1 deleted" in (await owner.open("./today")).text
    for channel_id, message_id in (first, second):
        await admin.execute(ADVERTISING, channel_id, message_id)
    assert '<article class="card post story' not in (await owner.open("./today")).text


async def test_a_search_shows_a_story_once_and_every_post_on_demand(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    first, second = await bridge(system, admin, tenant_id)
    page = (await owner.open("./search?q=мост")).text
    assert page.count('<article class="card post') == 1
    assert "and 1 more post of this story" in page
    assert f"/story/{first}" in page
    assert f"/post/{second}" in page
    every = (await owner.open("./search?q=мост&show=posts")).text
    assert every.count('<article class="card post') == 2


async def feed_address(owner: Browser, feed: str) -> str:
    page = (await owner.submit("./feeds", feed=feed)).text
    return "/feeds/" + page.partition('class="copy">')[2].partition(".atom")[0].partition("/feeds/")[2]


async def test_feeds_list_the_posts_of_a_story_and_all_stories_as_the_tenant_sees_them(
    owner: Browser, browser: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId, app: App
) -> None:
    first, second = await bridge(system, admin, tenant_id)
    await owner.open(f"./story/{first}")
    address = await feed_address(owner, f"story:{second}")
    everything = await feed_address(owner, "story:all")
    atom = (await browser.client.get(f"{address}.atom")).text
    assert [atom.count(f"urn:telegram-assistant:post:{post_id}<") for post_id in (first, second)] == [1, 1]
    assert "<title>Мост через Охту закрыли для грузовиков до 1 апреля</title>" in atom
    rss = (await browser.client.get(f"{everything}.rss")).text
    assert rss.count("<item>") == rss.count(f"story:{first}") == 1
    for unknown in ("story:1/1", "story:x", f"story:{2**70}/1"):
        await owner.open("./receivers")
        assert (await owner.submit("./feeds", feed=unknown)).status_code == 404
    await app.tenant(tenant_id).followed.leave(second.channel_id)
    assert (await browser.client.get(f"{address}.atom")).status_code == 404, (
        "the post that the feed was made of is not seen any more"
    )
    assert "<item>" not in (await browser.client.get(f"{everything}.rss")).text, (
        "what one channel tells is no story"
    )


async def test_what_came_since_the_last_visit_is_marked_in_its_story(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    first, _ = await bridge(system, admin, tenant_id)
    await owner.open("./today")
    await admin.execute(
        "UPDATE visits SET seen_at = now() - interval '1 hour' WHERE tenant_id = $1", tenant_id
    )
    await admin.execute(
        "UPDATE posts SET stored_at = now() - interval '2 hours' WHERE channel_id = $1", first.channel_id
    )
    page = (await owner.open("./today")).text
    assert "<h1>1 story, 1 minute</h1>" in page
    assert "New since your last visit" in page
    assert '<b class="state new">1 new post</b>' in page
    assert re.search(
        r'<ul class="facts">\s*<li>.*<b>Дороги края</b> Грузовикам закрыли мост', page, re.DOTALL
    )


async def test_the_first_page_is_today_once_there_are_stories(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    assert 'aria-current="page" data-key="f"' in (await owner.open("/")).text
    await bridge(system, admin, tenant_id)
    assert 'aria-current="page" data-key="t"' in (await owner.open("/")).text


async def test_a_tenant_chooses_how_strictly_posts_are_grouped(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    first, _ = await bridge(system, admin, tenant_id, score=1.0)
    assert f"/story/{first}" in (await owner.open("./today")).text
    assert (await owner.submit("./today/grouping", grouping="strict")).status_code == 303
    page = (await owner.open("./today")).text
    assert "No stories in this period" in page
    assert 'value="strict" checked' in page


async def test_a_post_that_is_not_this_story_is_shown_alone_until_it_is_put_back(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    first, second = await bridge(system, admin, tenant_id)
    assert f'/story/{second}/apart"' in (await owner.open(f"./story/{first}")).text
    assert (await owner.submit(f"./story/{second}/apart")).status_code == 303
    page = (await owner.open(f"./story/{second}")).text
    assert "taken out of its story" in page
    assert "Городские новости" not in page
    assert "Дороги края" not in (await owner.open(f"./story/{first}")).text
    assert "No stories in this period" in (await owner.open("./today")).text
    assert (await owner.open("./search?q=мост")).text.count('<article class="card post') == 2
    assert (await owner.submit(f"./story/{first}/apart")).status_code == 409, "nothing else is in its story"
    await owner.open(f"./story/{second}")
    assert (await owner.submit(f"./story/{second}/back")).status_code == 303
    assert "Городские новости" in (await owner.open(f"./story/{second}")).text
    assert (await owner.submit(f"./story/{second}/back")).status_code == 404


async def test_a_muted_channel_tells_no_story(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    _, second = await bridge(system, admin, tenant_id)
    await owner.open("./today")
    await owner.submit("./mutes", channel=str(second.channel_id))
    assert '<article class="card post story' not in (await owner.open("./today")).text


async def test_a_story_shows_who_was_first_what_changed_and_each_picture_once(
    app_with_files: App, admin: Admin, reader_tenant: TenantId, reading_world: ReadingWorld
) -> None:
    equal = "(SELECT sha256 FROM post_media WHERE channel_id = $1 AND message_id = 3)"
    await admin.execute(
        f"UPDATE post_media SET sha256 = {equal} WHERE channel_id = $1 AND message_id IN (4, 5)",
        reading_world.ferries,
    )
    async with member_browser(app_with_files, reader_tenant) as reader:
        page = (await reader.open(f"./story/{reading_world.copier}/1")).text
    assert 'id="s1"' in page
    assert "First among your channels" in page
    assert re.search(r"<del>.*марте</del>", page)
    assert "Пост, который исчезнет" in page
    assert page.count("<figure>") == 2, "of four pictures three are equal"
    assert "3 channels" in page
    assert f"/post/{PostId(reading_world.city, MessageId(2))}" in page


async def test_a_row_of_the_timeline_holds_the_full_text_and_copies_are_folded_under_it(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    first, _second = await bridge(system, admin, tenant_id)
    copy = await land_story_post(system, admin, tenant_id, BRIDGE, title="Эхо", minutes=15)
    story_id = await admin.fetchval(
        "SELECT story_id FROM story_posts WHERE channel_id = $1", first.channel_id
    )
    links: list[StoryLink] = [(copy, first, LinkKind.COPY, 9.0, False)]
    await store_story(admin, [copy], links, story_id=story_id)
    page = " ".join((await owner.open(f"./story/{first}")).text.split())
    timeline = page.partition('<ol class="timeline">')[2].partition("</ol>")[0]
    row, _, rest = timeline.partition('<li class="repeats">')
    assert BRIDGE.rpartition(". ")[2] in row.partition("</summary>")[2], "the last sentence, too"
    assert "+ 1 copy within" in rest
    assert "copies Городские новости" in rest
    assert timeline.count(BRIDGE.rpartition(". ")[2]) <= 2, "a copy does not repeat the text"


async def test_copies_of_a_picture_that_look_alike_and_say_the_same_are_shown_once(
    owner: Browser, app: App, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    first, second = await bridge(system, admin, tenant_id)
    third = await land_story_post(system, admin, tenant_id, RETOLD, title="Объезды", minutes=15)
    unseen = await post(system, await make_channel(system, title="Чужой канал"), BRIDGE, minutes=40)
    story_id = await admin.fetchval(
        "SELECT story_id FROM story_posts WHERE channel_id = $1", first.channel_id
    )
    links: list[StoryLink] = [
        (third, second, LinkKind.REWRITE, 3.0, False),
        (first, unseen, LinkKind.COPY, 9.0, False),
    ]
    await store_story(admin, [third, unseen], links, story_id=story_id)
    notice, look = (
        "Мост через Охту закрыт до 1 апреля, объезд по Каменке",
        Look(0x0F0F_3C3C_55AA_1234, 2**200 - 2**90),
    )
    await show_picture(admin, first, look, notice)
    largest = await show_picture(
        admin, second, Look(look.coarse ^ 0b11, look.fine ^ 0b1011), notice, width=1280, height=800
    )
    other = await show_picture(admin, third, look, notice.replace("1 апреля", "9 мая"))
    await show_picture(admin, unseen, look, notice, width=2000, height=1600)
    page = (await owner.open(f"./story/{first}")).text
    assert page.count("<figure>") == 2, "the notice of another day looks like the others"
    assert re.search(rf'<figure>\s*<a href="[^"]*/post/{first}"><img [^>]*/media/{second}/0/m"', page)
    assert "<b>Городские новости</b>, in 2 posts</figcaption>" in page
    assert "<b>Объезды</b></figcaption>" in page
    assert [
        picture.picture.sha256
        for picture in (await story_around(first, stores=app.tenant(tenant_id))).pictures
    ] == [largest, other]
    await admin.execute(
        "UPDATE subscriptions SET ai_policy = 'off' WHERE tenant_id = $1 AND channel_id = $2",
        tenant_id,
        first.channel_id,
    )
    assert (await owner.open(f"./story/{first}")).text.count("<figure>") == 3, (
        "pictures of this channel are not to be read for this tenant"
    )


async def test_a_story_shows_what_a_provider_wrote_and_what_was_left_out(
    app: App, owner: Browser, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    first, second = await bridge(system, admin, tenant_id)
    await system.ai_policies.consent(tenant_id, given_by="owner")
    await admin.execute("UPDATE subscriptions SET ai_policy = 'provider' WHERE tenant_id = $1", tenant_id)
    assert "In short" not in (await owner.open(f"./story/{first}")).text
    stores = app.tenant(tenant_id)
    material = (await story_around(first, stores=stores)).material
    assert material is not None
    sentence = CitedSentence("Мост через Охту закрыли для грузовиков.", (first, second))
    checks = SentenceChecks((LeftOut.NUMBER, LeftOut.NUMBER), 1)
    written = WrittenSummary(
        sentences=(sentence,),
        provider="gigachat",
        model="GigaChat-2",
        unit="RUB",
        cost_micro=84_100,
        checks=checks,
    )
    await stores.written_summaries.keep(material.key, written)
    page = " ".join((await owner.open(f"./story/{first}")).text.split())
    assert "In short" in page
    assert sentence.text in page
    assert "GigaChat-2 wrote this" in page
    assert "2 sentences were left out: A number missing from the cited posts." in page
    assert "1 doubtful sentence was replaced" in page


async def test_a_story_with_a_compared_edit_opens_on_a_fresh_connection(
    app: App, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channel_id, other = await make_channels(tenant_id, 2, system=system, admin=admin)
    story = await tell({channel_id: BRIDGE, other: BRIDGE}, 1, system=system, admin=admin, minutes_ago=20)
    await admin.execute(
        """
        INSERT INTO post_versions (channel_id, message_id, revision, text, content_hash, replaced_at,
            difference)
        VALUES ($1, 1, 1, 'earlier', '', now(), '{0,7,9}')
        """,
        channel_id,
    )
    async with assemble(app.settings) as fresh, member_browser(fresh, tenant_id) as reader:
        assert (await reader.open(f"./story/{story}")).status_code == 200
