"""Changes of posts after they were stored: edits, deletions, the moments of seeing them, and counts."""

from typing import Any

import pytest

from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.errors import LeaseLost
from telegram_assistant.stores.postgres.posts.landing import PushClaim
from telegram_simulator.control.operations import Control
from telegram_simulator.world.channel import Channel as SimulatedChannel
from tests.conftest import Admin
from tests.ingest.office import Office, say, simulate_channel


async def look_again(office: Office, channel_id: int, *, level: str = "2 hours") -> None:
    """The next poll reads young posts again. Jobs for deeper posts become due at once."""
    await office.admin.execute(
        "UPDATE poll_schedule SET rechecked_at = now() - $2::text::interval WHERE channel_id = $1",
        channel_id,
        level,
    )
    await office.poll(channel_id)
    await office.admin.execute(
        "UPDATE backfills SET next_try_at = now() + interval '1 day' "
        "WHERE next_try_at > now() + interval '5 minutes'"
    )


async def read_deeper(office: Office) -> None:
    await office.admin.execute("UPDATE backfills SET next_try_at = now() WHERE state = 'open'")
    while await office.reading.turn():
        pass


async def tombstones(admin: Admin, channel_id: int) -> set[int]:
    return {
        row["message_id"]
        for row in await admin.fetch(
            "SELECT message_id FROM posts WHERE channel_id = $1 AND deleted_at IS NOT NULL", channel_id
        )
    }


async def follow_channel(
    office: Office, control: Control, *, posts: int = 30, every: float = 60
) -> tuple[SimulatedChannel, int]:
    channel = simulate_channel(control, posts=posts, every=every)
    channel_id = await office.follow(channel)
    await office.poll(channel_id)
    await office.admin.execute(
        "UPDATE posts SET stored_at = stored_at - interval '1 hour' WHERE channel_id = $1", channel_id
    )
    return channel, channel_id


async def test_a_deleted_post_becomes_a_tombstone_that_keeps_its_text(
    office: Office, control: Control, admin: Admin
) -> None:
    _, channel_id = await follow_channel(office, control)
    control.delete(channel_id, [12], deliver=False)
    await admin.execute("DELETE FROM outbox WHERE channel_id = $1", channel_id)
    await look_again(office, channel_id)
    post = await admin.fetchrow(
        "SELECT text, deleted_at, revision, state_version FROM posts WHERE channel_id = $1 "
        "AND message_id = 12",
        channel_id,
    )
    assert post is not None
    assert (post["text"], post["revision"], post["state_version"]) == ("пост 12", 1, 2)
    assert await tombstones(admin, channel_id) == {12}
    assert [
        row["message_id"]
        for row in await admin.fetch("SELECT message_id FROM outbox WHERE channel_id = $1", channel_id)
    ] == [12]


async def test_a_fresh_post_that_is_deleted_is_noticed_by_the_next_poll(
    office: Office, control: Control, admin: Admin
) -> None:
    _, channel_id = await follow_channel(office, control)
    control.delete(channel_id, [12, 30], deliver=False)
    await office.poll(channel_id)
    assert await tombstones(admin, channel_id) == {12, 30}


async def test_a_poll_that_somebody_asks_for_notices_what_is_gone_from_the_newest_page(
    office: Office, control: Control, admin: Admin
) -> None:
    channel_id = await office.follow(simulate_channel(control, posts=30, newest_age=80_000))
    await office.poll(channel_id)
    await admin.execute(
        "UPDATE posts SET stored_at = stored_at - interval '1 hour' WHERE channel_id = $1", channel_id
    )
    control.delete(channel_id, [12], deliver=False)
    await office.poll(channel_id)
    assert await tombstones(admin, channel_id) == set()  # no longer fresh: the hour's look finds it
    await office.app.system.schedule.ask(channel_id, mode=None, first=True)
    await office.reading.turn()
    assert await tombstones(admin, channel_id) == {12}


async def test_the_newest_posts_can_be_gone_too(office: Office, control: Control, admin: Admin) -> None:
    _, channel_id = await follow_channel(office, control)
    control.delete(channel_id, [29, 30], deliver=False)
    await look_again(office, channel_id)
    assert await tombstones(admin, channel_id) == {29, 30}


async def test_a_newest_post_that_is_not_shown_yet_is_not_gone(
    office: Office, control: Control, admin: Admin
) -> None:
    _, channel_id = await follow_channel(office, control)
    control.delete(channel_id, [30], deliver=False)
    await admin.execute(
        "UPDATE posts SET stored_at = now() - interval '20 seconds' WHERE channel_id = $1 "
        "AND message_id = 30",
        channel_id,
    )
    await look_again(office, channel_id)
    assert await tombstones(admin, channel_id) == set()


async def test_of_a_joined_channel_a_poll_between_two_looks_asks_nothing_of_what_is_stored(
    office: Office, control: Control, admin: Admin
) -> None:
    """Telegram tells its account of deletions by itself."""
    _, channel_id = await follow_channel(office, control)
    await admin.execute("UPDATE account_channels SET joined = true WHERE channel_id = $1", channel_id)
    control.delete(channel_id, [12], deliver=False)
    await office.poll(channel_id)
    assert await tombstones(admin, channel_id) == set()


async def test_a_mass_deletion_waits_for_its_second_look(
    office: Office, control: Control, admin: Admin
) -> None:
    _, channel_id = await follow_channel(office, control, posts=600)
    gone = list(range(51, 551))
    control.delete(channel_id, gone, deliver=False)
    await look_again(office, channel_id, level="11 days")
    await read_deeper(office)
    assert await tombstones(admin, channel_id) == set()
    assert (
        await admin.fetchval(
            "SELECT count(*) FROM posts WHERE channel_id = $1 AND missed_at IS NOT NULL", channel_id
        )
        == 500
    )
    assert (
        await admin.fetchval(
            "SELECT kind FROM backfills WHERE channel_id = $1 AND state = 'open'", channel_id
        )
        == "recheck"
    )
    await read_deeper(office)  # too soon: it is only looked at
    assert await tombstones(admin, channel_id) == set()
    await admin.execute(
        "UPDATE posts SET missed_at = missed_at - interval '11 minutes' WHERE channel_id = $1", channel_id
    )
    await read_deeper(office)
    assert await tombstones(admin, channel_id) == set(gone)
    assert (
        await admin.fetchval(
            "SELECT count(*) FROM backfills WHERE channel_id = $1 AND state = 'open'", channel_id
        )
        == 0
    )


async def test_posts_that_were_only_hidden_for_a_while_are_not_gone(
    office: Office, control: Control, admin: Admin
) -> None:
    channel, channel_id = await follow_channel(office, control)
    control.delete(channel_id, list(range(2, 32)), deliver=False)
    say(channel, "новость")
    await look_again(office, channel_id)
    for message_id in range(2, 32):
        channel.restore(message_id)
    await admin.execute(
        "UPDATE posts SET missed_at = missed_at - interval '11 minutes' WHERE channel_id = $1", channel_id
    )
    await look_again(office, channel_id)
    assert await tombstones(admin, channel_id) == set()
    assert (
        await admin.fetchval(
            "SELECT count(*) FROM posts WHERE channel_id = $1 AND missed_at IS NOT NULL", channel_id
        )
        == 0
    )


async def test_a_post_that_is_seen_again_is_alive_again(
    office: Office, control: Control, admin: Admin
) -> None:
    channel, channel_id = await follow_channel(office, control)
    control.delete(channel_id, [12], deliver=False)
    await look_again(office, channel_id)
    channel.restore(12)
    await look_again(office, channel_id)
    assert await tombstones(admin, channel_id) == set()
    assert (
        await admin.fetchval(
            "SELECT state_version FROM posts WHERE channel_id = $1 AND message_id = 12", channel_id
        )
        == 3
    )


async def test_a_channel_that_becomes_private_does_not_tombstone_its_posts(
    office: Office, control: Control, admin: Admin
) -> None:
    _, channel_id = await follow_channel(office, control)
    control.change_channel(channel_id, private=True)
    await look_again(office, channel_id)
    await read_deeper(office)
    assert await tombstones(admin, channel_id) == set()
    assert (
        await admin.fetchval(
            "SELECT count(*) FROM posts WHERE channel_id = $1 AND missed_at IS NOT NULL", channel_id
        )
        == 0
    )


async def test_young_posts_below_the_newest_page_are_read_again_too(
    office: Office, control: Control, admin: Admin
) -> None:
    _, channel_id = await follow_channel(office, control, posts=350)
    control.delete(channel_id, [40], deliver=False)
    control.edit(channel_id, 45, "исправлено")
    before = office.calls()
    await look_again(office, channel_id)
    assert office.calls() - before == 1
    await read_deeper(office)
    assert await tombstones(admin, channel_id) == {40}
    assert (await office.load_texts(channel_id))[45] == "исправлено"


async def test_what_an_update_says_is_gone_is_gone_unless_it_is_much_at_once(
    office: Office, control: Control, admin: Admin
) -> None:
    _, channel_id = await follow_channel(office, control, posts=60)
    account_id, epoch = office.mine.account_id, office.mine.lease_epoch
    claim, landing, now = (
        PushClaim(ChannelId(channel_id), account_id, epoch),
        office.app.system.landing,
        office.now(),
    )
    assert (await landing.mark_deleted(claim, [MessageId(5), MessageId(900)], told_at=now)).deleted == 1
    recorded = await landing.mark_deleted(claim, [MessageId(number) for number in range(10, 40)], told_at=now)
    assert (recorded.deleted, recorded.doubtful) == (0, 30)
    assert await tombstones(admin, channel_id) == {5}
    with pytest.raises(LeaseLost):
        await landing.mark_deleted(
            PushClaim(claim.channel_id, account_id, epoch - 1), [MessageId(6)], told_at=now
        )


async def test_a_reaction_is_no_edit(office: Office, control: Control, admin: Admin) -> None:
    _, channel_id = await follow_channel(office, control)
    control.react(channel_id, 12, [("👍", 7)])
    await look_again(office, channel_id)
    assert (
        await admin.fetchval(
            "SELECT revision FROM posts WHERE channel_id = $1 AND message_id = 12", channel_id
        )
        == 1
    )
    assert await admin.fetchval("SELECT count(*) FROM post_versions WHERE channel_id = $1", channel_id) == 0


async def test_an_edit_that_a_reaction_has_hidden_is_noticed_by_the_next_look(
    office: Office, control: Control, admin: Admin
) -> None:
    _, channel_id = await follow_channel(office, control)
    control.edit(channel_id, 12, "было одно")
    await office.poll(channel_id)
    control.edit(channel_id, 12, "стало другое")
    control.react(channel_id, 12, [("👍", 7)])
    await look_again(office, channel_id)
    assert (await office.load_texts(channel_id))[12] == "стало другое"
    versions = await admin.fetch(
        "SELECT text FROM post_versions WHERE channel_id = $1 ORDER BY revision", channel_id
    )
    assert [row["text"] for row in versions] == ["пост 12", "было одно"]


async def test_edits_are_paired_by_their_ids_and_keep_who_saw_them_when(
    office: Office, control: Control, admin: Admin
) -> None:
    _, channel_id = await follow_channel(office, control)
    control.delete(channel_id, [10, 11], deliver=False)  # the list is shifted against what is stored
    control.edit(channel_id, 12, "было одно")
    await office.poll(channel_id)
    control.edit(channel_id, 12, "стало другое")
    await office.poll(channel_id)
    versions = await admin.fetch(
        "SELECT * FROM post_versions WHERE channel_id = $1 ORDER BY revision", channel_id
    )
    assert [(row["message_id"], row["text"]) for row in versions] == [(12, "пост 12"), (12, "было одно")]
    assert {row["seen_by"] for row in versions} == {office.mine.account_id}
    post: Any = await admin.fetchrow(
        "SELECT * FROM posts WHERE channel_id = $1 AND message_id = 12", channel_id
    )
    assert (post["text"], post["seen_by"]) == ("стало другое", office.mine.account_id)
    assert versions[0]["seen_at"] == post["stored_at"]
    assert versions[0]["seen_at"] < versions[1]["seen_at"] < post["seen_at"]


async def test_counts_are_noted_when_they_have_moved(office: Office, control: Control, admin: Admin) -> None:
    _, channel_id = await follow_channel(office, control)
    for views in (100, 100, 250):
        control.view(channel_id, 12, views)
        await look_again(office, channel_id)
    rows = await admin.fetch(
        "SELECT views FROM post_counts WHERE channel_id = $1 AND message_id = 12 ORDER BY seen_at", channel_id
    )
    assert [row["views"] for row in rows] == [100, 250]
