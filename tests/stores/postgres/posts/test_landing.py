from datetime import UTC, datetime, timedelta

import pytest

from telegram_assistant.domain.channels.coverage import IdRange
from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.domain.posts.post import Post, fingerprint
from telegram_assistant.errors import LeaseLost
from telegram_assistant.stores.postgres.posts.landing import Claim, Landed, RunEnds
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import make_channel, make_page, make_post
from tests.conftest import Admin


async def load_outbox(admin: Admin, channel_id: ChannelId) -> list[tuple[int, int, str]]:
    rows = await admin.fetch(
        "SELECT message_id, revision, lane FROM outbox WHERE channel_id = $1 ORDER BY 1, 2", channel_id
    )
    return [tuple(row) for row in rows]


async def test_a_page_lands_with_its_ledger_head_and_announcements(
    system: SystemStores, admin: Admin
) -> None:
    channel_id = await make_channel(system)
    posts = [
        make_post(channel_id=channel_id, message_id=n, posted_at=datetime(2026, 11, n, tzinfo=UTC))
        for n in (3, 5, 9)
    ]
    assert await system.landing.land(make_page(*posts), Claim(channel_id, 0)) == Landed(inserted=3, changed=0)
    channel = await admin.fetchrow(
        "SELECT newest_message_id, newest_posted_at, last_parsed_at FROM channels WHERE channel_id = $1",
        channel_id,
    )
    assert channel is not None
    assert tuple(channel) == (9, datetime(2026, 11, 9, tzinfo=UTC), None)
    coverage = await system.coverage.load_coverage(channel_id)
    assert coverage is not None
    assert (coverage.floor_id, coverage.newest_id, coverage.gaps) == (3, 9, ())
    assert await load_outbox(admin, channel_id) == [(3, 1, "live"), (5, 1, "live"), (9, 1, "live")]


async def test_the_same_page_twice_changes_nothing(system: SystemStores, admin: Admin) -> None:
    channel_id = await make_channel(system)
    page = make_page(make_post(channel_id=channel_id))
    await system.landing.land(page, Claim(channel_id, 0))
    before = await admin.fetchrow("SELECT p.*, p.xmin FROM posts p WHERE channel_id = $1", channel_id)
    assert await system.landing.land(page, Claim(channel_id, 0)) == Landed(inserted=0, changed=0)
    assert await admin.fetchrow("SELECT p.*, p.xmin FROM posts p WHERE channel_id = $1", channel_id) == before
    assert len(await load_outbox(admin, channel_id)) == 1


async def test_an_edit_keeps_the_old_text_and_is_announced_as_a_new_revision(
    system: SystemStores, admin: Admin
) -> None:
    channel_id = await make_channel(system)
    await system.landing.land(make_page(make_post(channel_id=channel_id, text="Было")), Claim(channel_id, 0))
    edited = make_post(channel_id=channel_id, text="Стало", edited_at=datetime(2026, 11, 2, tzinfo=UTC))
    assert await system.landing.land(make_page(edited), Claim(channel_id, 0)) == Landed(inserted=0, changed=1)
    post = await admin.fetchrow(
        "SELECT text, revision, state_version FROM posts WHERE channel_id = $1", channel_id
    )
    version = await admin.fetchrow(
        "SELECT text, revision FROM post_versions WHERE channel_id = $1", channel_id
    )
    assert post is not None
    assert version is not None
    assert (tuple(post), tuple(version)) == (("Стало", 2, 2), ("Было", 1))
    assert await load_outbox(admin, channel_id) == [(1, 1, "live"), (1, 2, "live")]


async def test_an_older_reading_never_overwrites_a_newer_one(system: SystemStores, admin: Admin) -> None:
    channel_id = await make_channel(system)
    newer = make_post(channel_id=channel_id, text="Новое", edited_at=datetime(2026, 11, 2, tzinfo=UTC))
    await system.landing.land(make_page(newer), Claim(channel_id, 0))
    assert await system.landing.land(
        make_page(make_post(channel_id=channel_id, text="Старое")), Claim(channel_id, 0)
    ) == Landed(0, 0)
    assert await admin.fetchval("SELECT text FROM posts WHERE channel_id = $1", channel_id) == "Новое"
    assert await admin.fetchval("SELECT count(*) FROM post_versions WHERE channel_id = $1", channel_id) == 0


async def test_an_owner_of_the_past_writes_nothing(system: SystemStores, admin: Admin) -> None:
    channel_id = await make_channel(system)
    await admin.execute("UPDATE poll_schedule SET lease_epoch = 8 WHERE channel_id = $1", channel_id)
    with pytest.raises(LeaseLost, match="epoch 7"):
        await system.landing.land(make_page(make_post(channel_id=channel_id)), Claim(channel_id, 7))
    assert await admin.fetchval("SELECT count(*) FROM posts WHERE channel_id = $1", channel_id) == 0
    assert await system.coverage.load_coverage(channel_id) is None
    assert await system.landing.land(
        make_page(make_post(channel_id=channel_id)), Claim(channel_id, 8)
    ) == Landed(1, 0)


async def test_the_last_page_of_a_run_completes_the_poll(
    system: SystemStores, admin: Admin, now: datetime
) -> None:
    channel_id = await make_channel(system)
    await admin.execute(
        "UPDATE poll_schedule SET fail_count = 3, next_poll_at = now() WHERE channel_id = $1", channel_id
    )
    ends = RunEnds(started_at=now - timedelta(seconds=5), next_poll_at=now + timedelta(minutes=9))
    await system.landing.land(
        make_page(make_post(channel_id=channel_id), read_at=now), Claim(channel_id, 0), ends=ends
    )
    schedule = await admin.fetchrow(
        "SELECT last_polled_at, next_poll_at, fail_count FROM poll_schedule WHERE channel_id = $1", channel_id
    )
    assert schedule is not None
    assert tuple(schedule) == (now, now + timedelta(minutes=9), 0)
    assert await admin.fetchval(
        "SELECT last_parsed_at FROM channels WHERE channel_id = $1", channel_id
    ) == now - timedelta(seconds=5)


async def test_a_run_that_stored_nothing_does_not_move_last_parsed_at(
    system: SystemStores, admin: Admin, now: datetime
) -> None:
    channel_id = await make_channel(system)
    first = RunEnds(started_at=now, next_poll_at=now)
    page = make_page(make_post(channel_id=channel_id))
    await system.landing.land(page, Claim(channel_id, 0), ends=first)
    again = RunEnds(started_at=now + timedelta(hours=1), next_poll_at=now)
    await system.landing.land(page, Claim(channel_id, 0), ends=again)
    assert (
        await admin.fetchval("SELECT last_parsed_at FROM channels WHERE channel_id = $1", channel_id) == now
    )
    stored_before = RunEnds(started_at=now + timedelta(hours=2), next_poll_at=now, stored_before=True)
    await system.landing.land(page, Claim(channel_id, 0), ends=stored_before)
    assert await admin.fetchval(
        "SELECT last_parsed_at FROM channels WHERE channel_id = $1", channel_id
    ) == now + timedelta(hours=2)


async def test_erased_posts_do_not_come_back_and_stay_covered(system: SystemStores, admin: Admin) -> None:
    channel_id = await make_channel(system)
    await admin.execute("INSERT INTO erasures (channel_id, ids) VALUES ($1, '{[2,4)}')", channel_id)
    posts = [make_post(channel_id=channel_id, message_id=n) for n in (1, 2, 3, 4)]
    assert await system.landing.land(make_page(*posts), Claim(channel_id, 0)) == Landed(inserted=2, changed=0)
    assert [row[0] for row in await load_outbox(admin, channel_id)] == [1, 4]
    coverage = await system.coverage.load_coverage(channel_id)
    assert coverage is not None
    assert coverage.complete


async def test_a_page_that_holds_one_id_twice_lands_its_last(system: SystemStores, admin: Admin) -> None:
    channel_id = await make_channel(system)
    page = make_page(
        make_post(channel_id=channel_id, text="раз"), make_post(channel_id=channel_id, text="два")
    )
    assert await system.landing.land(page, Claim(channel_id, 0)) == Landed(inserted=1, changed=0)
    assert await admin.fetchval("SELECT text FROM posts WHERE channel_id = $1", channel_id) == "два"


async def test_an_empty_page_can_still_prove_and_complete(system: SystemStores, now: datetime) -> None:
    channel_id = await make_channel(system)
    page = make_page(proven=IdRange(MessageId(1), MessageId(40)))
    await system.landing.land(page, Claim(channel_id, 0), ends=RunEnds(started_at=now, next_poll_at=now))
    coverage = await system.coverage.load_coverage(channel_id)
    assert coverage is not None
    assert (coverage.floor_id, coverage.newest_id, coverage.gaps) == (1, 40, ())


async def test_a_floor_sinks_and_never_rises(system: SystemStores) -> None:
    channel_id = await make_channel(system)
    for floor, expected in ((50, 50), (20, 20), (90, 20)):
        page = make_page(make_post(channel_id=channel_id, message_id=100), floor_id=MessageId(floor))
        await system.landing.land(page, Claim(channel_id, 0))
        coverage = await system.coverage.load_coverage(channel_id)
        assert coverage is not None
        assert coverage.floor_id == expected
    assert coverage is not None
    assert [str(gap) for gap in coverage.gaps] == ["20-99"]


def make_preview_post(channel_id: ChannelId, text: str, **facts: bool) -> Post:
    """A post as a public preview shows it."""
    return make_post(
        channel_id=channel_id,
        text=text,
        content_hash=fingerprint(text, (), (-1,)),
        facts={"source": "preview", **facts},
    )


async def land_one_by_one(system: SystemStores, admin: Admin, *posts: Post) -> tuple[str, int, list[str]]:
    """The text, its revision and the texts before it, when these were read one after the other."""
    channel_id = posts[0].channel_id
    for post in posts:
        await system.landing.land(make_page(post), Claim(channel_id, 0, by_preview="source" in post.facts))
    now = await admin.fetchrow("SELECT text, revision FROM posts WHERE channel_id = $1", channel_id)
    versions = await admin.fetch(
        "SELECT text FROM post_versions WHERE channel_id = $1 ORDER BY revision", channel_id
    )
    assert now is not None
    return now["text"], now["revision"], [row["text"] for row in versions]


async def test_an_account_replaces_what_a_preview_has_shown_and_that_is_no_edit(
    system: SystemStores, admin: Admin
) -> None:
    channel_id = await make_channel(system)
    read = make_post(channel_id=channel_id, text="Снег", author="Анна", reply_to=MessageId(3), grouped_id=777)
    assert await land_one_by_one(system, admin, make_preview_post(channel_id, "Снег"), read) == (
        "Снег",
        2,
        [],
    )
    row = await admin.fetchrow(
        "SELECT author, reply_to, grouped_id, facts FROM posts WHERE channel_id = $1", channel_id
    )
    assert row is not None
    assert tuple(row) == ("Анна", 3, 777, None)
    assert await load_outbox(admin, channel_id) == [(1, 1, "live"), (1, 2, "live")]


async def test_other_words_than_a_preview_has_shown_are_an_edit(system: SystemStores, admin: Admin) -> None:
    channel_id = await make_channel(system)
    assert await land_one_by_one(
        system, admin, make_preview_post(channel_id, "Снег"), make_post(channel_id=channel_id, text="Дождь")
    ) == ("Дождь", 2, ["Снег"])


async def test_a_preview_changes_nothing_that_an_account_has_read(system: SystemStores, admin: Admin) -> None:
    channel_id = await make_channel(system)
    read = make_post(channel_id=channel_id, text="Снег")
    assert await land_one_by_one(
        system,
        admin,
        read,
        make_preview_post(channel_id, "Снег"),
        make_preview_post(channel_id, "Дождь", edited=True),
    ) == ("Снег", 1, [])


async def test_a_preview_changes_what_another_has_shown_only_where_it_was_edited(
    system: SystemStores, admin: Admin
) -> None:
    channel_id = await make_channel(system)
    assert await land_one_by_one(
        system, admin, make_preview_post(channel_id, "Снег"), make_preview_post(channel_id, "Снег ")
    ) == (
        "Снег",
        1,
        [],
    )
    assert await land_one_by_one(system, admin, make_preview_post(channel_id, "Дождь", edited=True)) == (
        "Дождь",
        2,
        ["Снег"],
    )


async def test_what_previews_prove_is_in_a_ledger_of_its_own(system: SystemStores, admin: Admin) -> None:
    channel_id = await make_channel(system)
    await land_one_by_one(system, admin, make_preview_post(channel_id, "Снег"))
    assert await system.coverage.load_coverage(channel_id) is None
    assert await admin.fetchval("SELECT verified FROM preview_coverage WHERE channel_id = $1", channel_id)
