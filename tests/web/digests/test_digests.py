"""Digests, interests and trends as their reader meets them."""

import re
from datetime import UTC, datetime, timedelta

from telegram_assistant.assembly import App
from telegram_assistant.documents.writing import write_plain
from telegram_assistant.domain.digests.interests import MAX_WEIGHT, Interest, InterestSource
from telegram_assistant.domain.digests.plan import DigestLength
from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.features.digests.composing import compose
from telegram_assistant.features.digests.document import digest_document
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.due_work import run_periodic
from testkit.factories import make_page, make_post
from testkit.web_clients import Browser
from tests.conftest import Admin
from tests.web.story_posts import BRIDGE, BRIDGE_TOO, FIRE, MORE, make_channels, tell


def headlines(page: str) -> list[str]:
    return re.findall(r'data-act="open">([^<]+)</a>', page)


async def make_now(owner: Browser) -> None:
    await owner.open("./digest")
    answer = await owner.submit("./digest/make")
    assert answer.status_code == 303
    await owner.open(answer.headers["location"])


async def test_a_small_story_of_interest_is_told_although_there_are_many_large_ones(
    app: App, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channels = await make_channels(tenant_id, 3, system=system, admin=admin)
    for number in range(1, 42):
        await tell(
            dict.fromkeys(channels, f"На складе {number} сгорели {number} машин."),
            number,
            system=system,
            admin=admin,
            minutes_ago=30,
        )
    await tell({channels[0]: BRIDGE, channels[1]: BRIDGE_TOO}, 50, system=system, admin=admin, minutes_ago=30)

    now = datetime.now(UTC)
    interests = [Interest("мост", MAX_WEIGHT, InterestSource.OWN, "", now)]
    digest = await compose(
        now - timedelta(hours=1),
        stores=app.tenant(tenant_id),
        now=now,
        length=DigestLength.SHORT,
        interests=interests,
    )
    assert "мост" in digest.stories[0].headline


async def test_a_known_story_whose_state_one_channel_reports_as_changed_is_told_again(
    owner: Browser, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channel_id, other, third = await make_channels(tenant_id, 3, system=system, admin=admin)
    first = await tell({channel_id: BRIDGE, other: BRIDGE_TOO}, 1, system=system, admin=admin, minutes_ago=50)
    await make_now(owner)
    reopened = "Литейный мост в Северограде снова открыт: машины пошли утром."
    await tell({third: reopened}, 2, system=system, admin=admin, minutes_ago=5, like=first)
    await make_now(owner)
    assert "new facts" in owner.page
    assert "снова открыт" in headlines(owner.page)[0]


async def test_a_digest_tells_a_story_once_and_again_only_with_new_facts(
    owner: Browser, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channel_id, other, third = await make_channels(tenant_id, 3, system=system, admin=admin)
    assert "No digest yet" in (await owner.open("./digest")).text
    first = await tell({channel_id: BRIDGE, other: BRIDGE_TOO}, 1, system=system, admin=admin, minutes_ago=30)

    await make_now(owner)
    assert len(headlines(owner.page)) == 1
    assert "мост" in headlines(owner.page)[0]
    assert f"/post/{channel_id}/1" in owner.page

    await make_now(owner)
    assert "Nothing new" in owner.page

    await tell({third: BRIDGE}, 1, system=system, admin=admin, minutes_ago=20, like=first)
    await make_now(owner)
    assert "Nothing new" in owner.page

    ends = "Литейный мост в Северограде открыли раньше срока: рабочие трудились ночью."
    ends_too = "Раньше срока открыли Литейный мост в Северограде: ночью там трудились рабочие."
    await tell({channel_id: ends, third: ends_too}, 3, system=system, admin=admin, minutes_ago=15, like=first)
    await make_now(owner)
    assert "new facts" in owner.page
    assert "раньше срока" in headlines(owner.page)[0]
    assert "<dt>Before</dt>" in owner.page
    await make_now(owner)
    assert "Nothing new" in owner.page

    await tell({third: MORE}, 2, system=system, admin=admin, minutes_ago=10, like=first)
    await make_now(owner)
    assert "new facts" in owner.page
    assert "12 недель" in owner.page
    assert "трещины" not in owner.page


A_WEEK_AND_A_MOMENT_EARLIER = """
UPDATE digests
SET until = until - interval '7 days 10 s',
    content = jsonb_set(content, '{until}', to_jsonb(until - interval '7 days 10 s'))
WHERE tenant_id = $1
"""


async def test_a_digest_of_one_day_a_week_tells_the_whole_week(
    owner: Browser, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channel_id, other = await make_channels(tenant_id, 2, system=system, admin=admin)
    await make_now(owner)
    await admin.execute(A_WEEK_AND_A_MOMENT_EARLIER, tenant_id)
    days = 24 * 60
    await tell({channel_id: BRIDGE, other: BRIDGE_TOO}, 1, system=system, admin=admin, minutes_ago=6.5 * days)
    await make_now(owner)
    assert len(headlines(owner.page)) == 1
    assert "мост" in headlines(owner.page)[0]


async def put_into_folders(admin: Admin, tenant_id: TenantId, folders: dict[ChannelId, str]) -> None:
    for channel_id, folder in folders.items():
        await admin.execute(
            "UPDATE subscriptions SET folder = $3 WHERE tenant_id = $1 AND channel_id = $2",
            tenant_id,
            channel_id,
            folder,
        )


async def test_entries_stand_under_the_folder_of_most_of_their_channels_the_others_last(
    app: App, owner: Browser, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channels = await make_channels(tenant_id, 5, system=system, admin=admin)
    await tell(dict.fromkeys(channels[:2], FIRE), 1, system=system, admin=admin, minutes_ago=9)
    await tell({channels[2]: BRIDGE, channels[3]: BRIDGE_TOO}, 2, system=system, admin=admin, minutes_ago=30)
    await make_now(owner)
    assert '<h2 class="sr"' in owner.page, "without folders no headings"
    await admin.execute("DELETE FROM digests WHERE user_id = $1", owner.user_id)
    await put_into_folders(admin, tenant_id, {channels[2]: "Город", channels[3]: "Город"})
    await make_now(owner)
    page = " ".join(owner.page.split())
    assert re.findall(r'<h2 dir="auto">([^<]+)</h2>', page) == ["Город", "Other channels"]
    assert ["мост" in line for line in headlines(page)] == [True, False]
    assert "1 minute to read." in page
    assert "That is all." in page
    digests = app.person(tenant_id, owner.user_id).digests
    stored = (await digests.newest(limit=1))[0].digest
    assert sorted(story.folder for story in stored.stories) == ["", "Город"]
    document = digest_document(stored, language="ru", zone=UTC, story_link=str, post_link=str)
    text = write_plain(document)
    assert text.index("ГОРОД") < text.index("мост") < text.index("ОСТАЛЬНЫЕ КАНАЛЫ") < text.index("складе")


async def test_an_entry_is_saved_done_with_and_hidden_as_on_today(
    owner: Browser, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channels = await make_channels(tenant_id, 2, system=system, admin=admin)
    story = await tell(
        {channels[0]: BRIDGE, channels[1]: BRIDGE_TOO}, 1, system=system, admin=admin, minutes_ago=9
    )
    await make_now(owner)
    for mark, name in (("saved", "saved"), ("done", "done")):
        await owner.submit(f"./story/{story}/mark", mark=mark, do="mark", back="")
        page = " ".join((await owner.open("./digest")).text.split())
        assert re.search(rf'aria-pressed="true">{name}</button>', page)
    await owner.submit("./interests/say", story=str(story), feedback="more", do="say")
    page = " ".join((await owner.open("./digest")).text.split())
    assert re.search(r'data-act="more" aria-pressed="true"', page)
    await owner.submit("./interests/say", story=str(story), feedback="muted", do="say")
    page = (await owner.open("./digest")).text
    assert "Story hidden: “" in page
    assert headlines(page) == []
    await owner.submit("./interests/say", story=str(story), feedback="muted", do="undo")
    assert len(headlines((await owner.open("./digest")).text)) == 1


async def test_an_entry_whose_posts_are_no_longer_visible_offers_no_actions(
    owner: Browser, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channels = await make_channels(tenant_id, 2, system=system, admin=admin)
    await tell(dict.fromkeys(channels, BRIDGE), 1, system=system, admin=admin, minutes_ago=9)
    await make_now(owner)
    assert 'data-act="save"' in owner.page
    await admin.execute("DELETE FROM subscriptions WHERE tenant_id = $1", tenant_id)
    page = (await owner.open("./digest")).text
    assert len(headlines(page)) == 1
    assert 'data-act="save"' not in page


async def test_entries_of_less_weight_are_told_in_brief(
    owner: Browser, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channels = await make_channels(tenant_id, 3, system=system, admin=admin)
    for number in range(1, 9):
        text = f"На складе {number} сгорели {number} машин."
        await tell(dict.fromkeys(channels, text), number, system=system, admin=admin, minutes_ago=30)
    await make_now(owner)
    kinds = re.findall(r'<article class="([^"]+)"', owner.page)
    assert kinds == [
        "card post story digest lead",
        *["card post story digest"] * 5,
        *["post story brief digest"] * 2,
    ]


async def test_a_digest_comes_at_the_chosen_time_once_and_a_wrong_time_is_refused(
    app: App, owner: Browser, admin: Admin
) -> None:
    now = datetime.now(UTC)
    await owner.open("./digest/plan")
    assert (await owner.submit("./digest/plan", time="soon", length="short")).status_code == 422
    await owner.open("./digest/plan")
    assert (
        await owner.submit(
            "./digest/plan",
            time=now.strftime("%H:%M"),
            weekday=[str(day) for day in range(1, 8)],
            length="short",
        )
    ).status_code == 303
    assert now.strftime("%H:%M") in (await owner.open("./digest")).text
    await admin.execute(
        "UPDATE digest_plans SET changed_at = now() - interval '1 day', zone = 'UTC' WHERE user_id = $1",
        owner.user_id,
    )
    for _ in range(2):
        await run_periodic(app, "digests", now)
    assert await admin.fetchval("SELECT count(*) FROM digests WHERE user_id = $1", owner.user_id) == 1
    assert "Nothing new" in (await owner.open("./digest")).text


async def test_the_plan_says_in_which_time_zone_its_times_were_chosen(owner: Browser, admin: Admin) -> None:
    await owner.open("./digest/plan")
    await owner.submit("./digest/plan", time="08:00", weekday=["1"], length="short")
    assert "You chose these times in" not in (await owner.open("./digest/plan")).text
    await admin.execute("UPDATE digest_plans SET zone = 'Asia/Vladivostok' WHERE user_id = $1", owner.user_id)
    assert "You chose these times in Asia/Vladivostok." in (await owner.open("./digest/plan")).text


async def test_what_interests_comes_first_with_its_reason_and_muted_words_are_left_out(
    owner: Browser, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channel_id, other, third = await make_channels(tenant_id, 3, system=system, admin=admin)
    await tell(
        dict.fromkeys((channel_id, other, third), "В Красноярске открыли новый музей. В нём 30 залов."),
        1,
        system=system,
        admin=admin,
        minutes_ago=9,
    )
    await tell({channel_id: BRIDGE, other: BRIDGE_TOO}, 2, system=system, admin=admin, minutes_ago=30)
    await owner.open("./interests")
    assert (await owner.submit("./interests", topic="!!", weight="1.0")).status_code == 422
    await owner.open("./interests")
    await owner.submit("./interests", topic="опоры мостов", weight="3.0")
    await make_now(owner)
    assert ["мост" in line for line in headlines(owner.page)] == [True, False]
    assert "matches: опоры мостов" in owner.page

    await owner.open("./mutes")
    await owner.submit("./mutes", word="музей")
    await admin.execute("DELETE FROM digests WHERE user_id = $1", owner.user_id)
    await make_now(owner)
    assert len(headlines(owner.page)) == 1
    assert "1 story with a muted word" in owner.page


async def test_interests_are_learnt_from_feedback_and_saved_posts_and_can_be_forgotten(
    app: App, owner: Browser, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channel_id, other = await make_channels(tenant_id, 2, system=system, admin=admin)
    fire = await tell(
        {channel_id: "Пожар в Самаре потушен.", other: "В Самаре потушили пожар."},
        2,
        system=system,
        admin=admin,
        minutes_ago=30,
    )
    text = "Мэр Москвы приехал в Казань"
    await system.landing.land(
        make_page(make_post(channel_id=channel_id, message_id=1, text=text)), Claim(channel_id, 0)
    )
    await owner.open("./interests")
    await owner.submit("./interests/say", feedback="less", story=str(fire))
    await owner.open("./interests")
    await owner.submit("./save", post=f"{channel_id}/1")
    for _ in range(2):
        await run_periodic(app, "interests")
    page = (await owner.open("./interests")).text
    assert "you asked for less like" in page
    assert "you saved" in page
    assert re.findall(r'<b dir="auto">(\w+)</b>.*?chip \w+">([^<]+)<', page, re.DOTALL) == [
        ("Казань", "+0.2"),
        ("Москва", "+0.2"),
        ("Самара", "-0.5"),
    ]
    await owner.submit("./interests/remove", topic="Самара")
    assert "Самара" not in (await owner.open("./interests")).text
    await owner.submit("./interests/reset")
    assert "Nothing yet" in (await owner.open("./interests")).text
