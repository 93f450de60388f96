"""The feed of a person: what is read, saved and muted, albums, copies, both orders."""

import re
from datetime import UTC, datetime, timedelta

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import follow_long_ago, make_channel, make_page, make_post
from testkit.web_clients import Browser, member_browser
from tests.conftest import Admin


async def make_followed(
    system: SystemStores, admin: Admin, tenant_id: TenantId, *texts: str, **subscription: str
) -> ChannelId:
    """A channel with a post for each text, one minute apart, the last one a minute ago."""
    channel_id = await make_channel(system)
    await follow_long_ago(system, admin, tenant_id, channel_id, **subscription)
    now = datetime.now(UTC).replace(microsecond=0)
    posts = [
        make_post(
            channel_id=channel_id,
            message_id=number,
            text=text,
            posted_at=now - timedelta(minutes=len(texts) - number + 1),
        )
        for number, text in enumerate(texts, start=1)
    ]
    await system.landing.land(make_page(*posts), Claim(channel_id, 0))
    return channel_id


def post_ids_in(page: str) -> list[str]:
    return re.findall(r'<article class="card post[^"]*" id="p-(\d+-\d+)"', page)


async def test_the_feed_shows_the_newest_posts_first(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_followed(system, admin, tenant_id, "the first", "the second")
    answer = await owner.open("./feed")
    assert answer.status_code == 200
    assert post_ids_in(owner.page) == [f"{channel_id}-2", f"{channel_id}-1"]


async def test_what_is_marked_stays_in_its_place_greyed_and_can_be_undone(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_followed(system, admin, tenant_id, "the first", "the second")
    await owner.open("./feed")
    card = await owner.submit("./read", headers={"HX-Request": "true"}, post=f"{channel_id}/1", do="read")
    assert "is-read" in card.text
    await owner.open("./feed")
    assert post_ids_in(owner.page) == [f"{channel_id}-2", f"{channel_id}-1"]
    assert read_post_ids_in(owner.page) == [f"{channel_id}-1"]
    await owner.submit("./read/undo")
    await owner.open("./feed")
    assert read_post_ids_in(owner.page) == []


async def test_marking_all_leaves_what_arrived_after_the_page_unread(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_followed(system, admin, tenant_id, "the first", "the second")
    await owner.open("./feed")
    snapshot = snapshot_in(owner.page)
    late = make_post(
        channel_id=channel_id,
        message_id=3,
        text="came later",
        posted_at=datetime.now(UTC).replace(microsecond=0),
    )
    await system.landing.land(make_page(late), Claim(channel_id, 0))
    await owner.submit("./read/all", snapshot=snapshot, folder="")
    await owner.open("./feed")
    assert read_post_ids_in(owner.page) == [f"{channel_id}-2", f"{channel_id}-1"]
    await owner.submit("./read/undo")
    await owner.open("./feed")
    assert read_post_ids_in(owner.page) == []


async def test_several_steps_can_be_undone_one_by_one(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_followed(system, admin, tenant_id, "the first", "the second", "the third")
    await owner.open("./feed")
    await owner.submit("./read", post=f"{channel_id}/1")
    await owner.open("./feed")
    await owner.submit("./read", post=[f"{channel_id}/1", f"{channel_id}/2"])
    await owner.open("./feed")
    await owner.submit("./read", post=f"{channel_id}/1", do="unread")
    steps = []
    for _ in range(4):
        await owner.open("./feed")
        steps.append(read_post_ids_in(owner.page))
        await owner.submit("./read/undo")
    assert steps == [[f"{channel_id}-2"], [f"{channel_id}-2", f"{channel_id}-1"], [f"{channel_id}-1"], []]


async def test_the_oldest_first_goes_on_where_one_stopped(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_followed(system, admin, tenant_id, "the first", "the second", "the third")
    await owner.open("./feed?order=oldest")
    assert post_ids_in(owner.page) == [f"{channel_id}-1", f"{channel_id}-2", f"{channel_id}-3"]
    await owner.submit("./read", post=f"{channel_id}/1")
    await owner.open("./feed?order=oldest")
    assert post_ids_in(owner.page) == [f"{channel_id}-2", f"{channel_id}-3"]


async def test_an_album_is_one_card_and_is_never_cut_by_a_page(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_followed(system, admin, tenant_id)
    now = datetime.now(UTC).replace(microsecond=0)
    single = [
        make_post(
            channel_id=channel_id,
            message_id=number,
            text=f"post {number}",
            posted_at=now - timedelta(minutes=number),
        )
        for number in range(100, 117)
    ]
    album = [
        make_post(
            channel_id=channel_id,
            message_id=number,
            text="an album" if number == 1 else "",
            grouped_id=7,
            posted_at=now - timedelta(hours=5),
        )
        for number in range(1, 9)
    ]
    await system.landing.land(make_page(*single, *album), Claim(channel_id, 0))
    await owner.open("./feed")
    assert post_ids_in(owner.page)[-1] == f"{channel_id}-1"
    assert len(post_ids_in(owner.page)) == 18
    assert 'rel="next"' not in owner.page


async def test_the_same_words_in_several_channels_are_one_card(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    text = "The bridge over the river is closed to lorries until the first of April, the city says"
    for _ in range(3):
        await make_followed(system, admin, tenant_id, text)
    await owner.open("./feed")
    assert len(post_ids_in(owner.page)) == 1
    assert "the same in 2 more channels" in owner.page


async def test_saved_posts_have_a_page_of_their_own(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_followed(system, admin, tenant_id, "the first", "the second")
    await owner.open("./feed")
    await owner.submit("./save", post=f"{channel_id}/1")
    await owner.open("./saved")
    assert post_ids_in(owner.page) == [f"{channel_id}-1"]
    await owner.submit("./save", post=f"{channel_id}/1", do="unsaved")
    await owner.open("./saved")
    assert post_ids_in(owner.page) == []


async def test_muted_channels_are_left_out_and_muted_words_set_aside(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    loud = await make_followed(system, admin, tenant_id, "again and again")
    calm = await make_followed(system, admin, tenant_id, "Футбол сегодня", "Мост открыт")
    await owner.open("./feed")
    await owner.submit("./mutes", channel=str(loud))
    await owner.open("./mutes")
    await owner.submit("./mutes", word="футбол")
    await owner.open("./feed")
    assert set(post_ids_in(owner.page)) == {f"{calm}-1", f"{calm}-2"}
    assert "your muted word “футбол”" in owner.page
    await owner.open("./mutes")
    await owner.submit("./mutes", channel=str(loud), do="heard")
    await owner.open("./feed")
    assert f"{loud}-1" in post_ids_in(owner.page)


async def test_what_one_person_reads_is_unread_for_the_other(
    app: App, owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_followed(system, admin, tenant_id, "the first")
    await owner.open("./feed")
    await owner.submit("./read", post=f"{channel_id}/1")
    async with member_browser(app, tenant_id) as other:
        await other.open("./feed")
        assert post_ids_in(other.page) == [f"{channel_id}-1"]
        assert read_post_ids_in(other.page) == []


async def test_a_folder_shows_only_its_channels(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    news = await make_followed(system, admin, tenant_id, "news", folder="News")
    await make_followed(system, admin, tenant_id, "sport", folder="Sport")
    await owner.open("./feed?folder=News")
    assert post_ids_in(owner.page) == [f"{news}-1"]


async def test_an_empty_feed_says_what_to_do(owner: Browser) -> None:
    answer = await owner.open("./feed")
    assert "No channels yet" in answer.text


def read_post_ids_in(page: str) -> list[str]:
    return re.findall(r'<article class="card post is-read" id="p-(\d+-\d+)"', page)


def snapshot_in(page: str) -> str:
    match = re.search(r'name="snapshot" value="([^"]+)"', page)
    assert match is not None
    return match[1]


async def test_marking_all_says_how_many_and_offers_to_undo_it(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    await make_followed(system, admin, tenant_id, "the first", "the second")
    await owner.open("./feed?show=unread")
    back = owner.page.partition('name="back" value="')[2].partition('"')[0]
    answer = await owner.submit("./read/all", snapshot=snapshot_in(owner.page), back=back)
    page = (await owner.open(answer.headers["location"])).text
    assert "show=unread" in answer.headers["location"]
    assert "2 posts marked as read" in page
    assert "marked=" not in page
    answer = await owner.submit("./read/undo", back=answer.headers["location"])
    assert "Undone for 2 posts" in (await owner.open(answer.headers["location"])).text


async def test_muting_a_channel_is_confirmed_and_can_be_undone_there(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_followed(system, admin, tenant_id, "the first")
    await owner.open("./feed")
    answer = await owner.submit("./mutes", channel=str(channel_id))
    page = (await owner.open(answer.headers["location"])).text
    assert "Channel muted" in page
    assert f'name="channel" value="{channel_id}"' in page
    await owner.submit("./mutes", channel=str(channel_id), do="heard")
    await owner.open("./feed")
    assert post_ids_in(owner.page) == [f"{channel_id}-1"]
