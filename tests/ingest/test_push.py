"""Posts that Telegram tells of by itself: stored at once, proven by the next poll,
and never needed for completeness.
"""

from dataclasses import dataclass
from typing import Any

import pytest
from telethon.tl import types

from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.errors import Busy, LeaseLost
from telegram_assistant.reasons import quote
from telegram_assistant.stores.postgres.posts.landing import PostPage, PushClaim
from telegram_assistant.telegram.translation.raw_messages import unpack_messages
from telegram_assistant.telemetry.metrics import REGISTRY
from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.post import FileKind
from testkit.factories import make_post
from tests.ingest.listeners import all_stored, at_work, is_due, join_channels, poll_what_is_due
from tests.ingest.office import PHONE, Office, simulate_channel, truth
from tests.streams.conftest import until


def metric(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


# --- what is pushed is stored ---


async def test_a_pushed_post_is_stored_at_once_and_the_next_poll_proves_it(
    office: Office, control: Control
) -> None:
    (channel,) = await join_channels(office, control)
    counted = [
        metric("posts_parsed_total", mode="incremental"),
        metric("post_lag_seconds_count", tier="normal"),
        metric("push_posts_total"),
    ]
    history = office.calls()
    async with at_work(office):
        post = control.post(channel.channel_id, "Свежая новость")
        stored = await all_stored(office, channel)
    assert stored == truth(channel)
    assert office.calls() == history
    before = await office.load_schedule(channel.channel_id)
    assert (
        before["newest_message_id"] == post.message_id - 1
    )  # not proven: no gap, and no claim to be complete
    assert before["newest_posted_at"].timestamp() == post.date
    assert await office.gaps(channel.channel_id) == []

    await office.poll(channel.channel_id)
    after = await office.load_schedule(channel.channel_id)
    assert after["newest_message_id"] == post.message_id
    assert after["last_parsed_at"] > before["last_parsed_at"]
    coverage = await office.app.system.coverage.load_coverage(ChannelId(channel.channel_id))
    assert coverage is not None
    assert (coverage.newest_id, coverage.gaps) == (post.message_id, ())
    assert (
        await office.admin.fetchval(
            "SELECT max(revision) FROM posts WHERE channel_id = $1", channel.channel_id
        )
        == 1
    )
    assert await office.admin.fetchval(
        "SELECT count(*) FROM outbox WHERE channel_id = $1", channel.channel_id
    ) == len(stored)
    now = [
        metric("posts_parsed_total", mode="incremental"),
        metric("post_lag_seconds_count", tier="normal"),
        metric("push_posts_total"),
    ]
    assert [current - other for current, other in zip(now, counted, strict=True)] == [
        1,
        1,
        1,
    ]  # once, whoever finds it again


async def test_an_edit_of_a_pushed_post_keeps_its_earlier_text(office: Office, control: Control) -> None:
    (channel,) = await join_channels(office, control)
    async with at_work(office):
        post = control.post(channel.channel_id, "Сначала так")
        await all_stored(office, channel)
        control.edit(channel.channel_id, post.message_id, "А потом так")

        async def is_edited() -> bool:
            return (await office.load_texts(channel.channel_id))[post.message_id] == "А потом так"

        await until(is_edited)
    versions = await office.admin.fetch(
        "SELECT message_id, revision, text FROM post_versions WHERE channel_id = $1", channel.channel_id
    )
    assert [tuple(version) for version in versions] == [(post.message_id, 1, "Сначала так")]


async def test_what_was_pushed_is_kept_as_telegram_sent_it(office: Office, control: Control) -> None:
    (channel,) = await join_channels(office, control)
    async with at_work(office):
        post = control.post(channel.channel_id, "Свежая новость")
        await all_stored(office, channel)

        async def is_kept() -> bool:
            return bool(
                await office.admin.fetchval(
                    "SELECT count(*) FROM post_raw WHERE channel_id = $1 AND first_id = $2",
                    channel.channel_id,
                    post.message_id,
                )
            )

        await until(is_kept)
    body = await office.admin.fetchval(
        "SELECT body FROM post_raw WHERE channel_id = $1 AND first_id = $2",
        channel.channel_id,
        post.message_id,
    )
    assert [message.message for message in unpack_messages(body)] == ["Свежая новость"]


async def test_t8_an_album_that_is_pushed_is_stored_item_by_item(office: Office, control: Control) -> None:
    (channel,) = await join_channels(office, control)
    async with at_work(office):
        posts = control.album(channel.channel_id, [FileKind.JPEG, FileKind.JPEG, FileKind.MP4], "Три кадра")
        await all_stored(office, channel)
    rows = await office.admin.fetch(
        "SELECT DISTINCT grouped_id FROM posts WHERE channel_id = $1 AND message_id >= $2",
        channel.channel_id,
        posts[0].message_id,
    )
    assert [row["grouped_id"] for row in rows] == [posts[0].grouped_id]


async def test_t9_a_reaction_is_no_edit(office: Office, control: Control) -> None:
    (channel,) = await join_channels(office, control)
    async with at_work(office):
        control.react(channel.channel_id, 3, [("👍", 900)])
        control.post(channel.channel_id, "и ещё одна")
        await all_stored(office, channel)
    assert (
        await office.admin.fetchval(
            "SELECT max(revision) FROM posts WHERE channel_id = $1", channel.channel_id
        )
        == 1
    )


async def test_a_deletion_names_its_channel_and_one_without_touches_none(
    office: Office, control: Control
) -> None:
    (channel,) = await join_channels(office, control)
    async with at_work(office):
        office.receiver.receive(types.UpdateShort(types.UpdateDeleteMessages([2, 3], 9, 2), office.now()))
        control.delete(channel.channel_id, [3])

        async def is_deleted() -> bool:
            return bool(
                await office.admin.fetchval(
                    "SELECT deleted_at FROM posts WHERE channel_id = $1 AND message_id = 3",
                    channel.channel_id,
                )
            )

        await until(is_deleted)
    assert (
        await office.admin.fetchval(
            "SELECT count(*) FROM posts WHERE channel_id = $1 AND deleted_at IS NULL", channel.channel_id
        )
        == 2
    )


async def test_many_deletions_at_once_wait_for_a_second_look(office: Office, control: Control) -> None:
    (channel,) = await join_channels(office, control, posts=40)
    async with at_work(office):
        control.delete(channel.channel_id, list(range(2, 32)))

        async def has_possible_gap() -> bool:
            return bool(
                await office.admin.fetchval(
                    "SELECT kind = 'recheck' FROM backfills WHERE channel_id = $1", channel.channel_id
                )
            )

        await until(has_possible_gap)
    assert (
        await office.admin.fetchval(
            "SELECT count(*) FROM posts WHERE channel_id = $1 AND deleted_at IS NOT NULL", channel.channel_id
        )
        == 0
    )


# --- what is not ours ---


async def test_channels_that_the_owner_joined_for_himself_are_not_stored(
    office: Office, control: Control
) -> None:
    (channel,) = await join_channels(office, control)
    own = simulate_channel(control, posts=1)
    control.account(PHONE, joined=[channel.channel_id, own.channel_id])
    async with at_work(office):
        control.post(own.channel_id, "Личное")
        control.post(channel.channel_id, "Общее")
        await all_stored(office, channel)
    assert await office.load_texts(own.channel_id) == {}


async def test_a_frozen_former_owner_cannot_land_what_it_hears(office: Office, control: Control) -> None:
    """Another process has taken the account, and has not claimed a single channel yet."""
    (channel,) = await join_channels(office, control)
    system, mine = office.app.system, office.mine
    claim = PushClaim(ChannelId(channel.channel_id), mine.account_id, mine.lease_epoch)
    page = PostPage(
        posts=(make_post(channel_id=channel.channel_id, message_id=99),), proven=None, read_at=office.now()
    )
    await office.admin.execute(
        "UPDATE telegram_accounts SET lease_epoch = nextval('lease_epochs') WHERE account_id = $1",
        mine.account_id,
    )
    with pytest.raises(LeaseLost):
        await system.landing.land(page, claim)
    before = await office.load_schedule(channel.channel_id)
    await system.hints.make_due(mine.account_id, mine.lease_epoch, [claim.channel_id])
    assert await office.load_schedule(channel.channel_id) == before
    assert await system.hints.load_read_channels(mine.account_id, mine.lease_epoch, [claim.channel_id]) == {}


async def test_an_account_lands_only_what_it_reads_and_has_claimed_last(
    office: Office, control: Control
) -> None:
    (channel,) = await join_channels(office, control)
    system, mine = office.app.system, office.mine
    claim = PushClaim(ChannelId(channel.channel_id), mine.account_id, mine.lease_epoch)
    page = PostPage(
        posts=(make_post(channel_id=channel.channel_id, message_id=99),), proven=None, read_at=office.now()
    )
    for trouble in ("lease_epoch = lease_epoch + 1", "next_poll_at = 'infinity'", "account_id = NULL"):
        before = await office.admin.fetchrow(
            "SELECT lease_epoch, next_poll_at, account_id FROM poll_schedule WHERE channel_id = $1",
            claim.channel_id,
        )
        assert before is not None
        await office.admin.execute(
            f"UPDATE poll_schedule SET {trouble} WHERE channel_id = $1", claim.channel_id
        )
        with pytest.raises(LeaseLost):
            await system.landing.land(page, claim)
        await office.admin.execute(
            "UPDATE poll_schedule SET lease_epoch = $2, next_poll_at = $3, account_id = $4 "
            "WHERE channel_id = $1",
            claim.channel_id,
            *before.values(),
        )
    assert (await system.landing.land(page, claim)).inserted == 1


# --- trouble ---


@dataclass
class Away:
    """A landing whose database is away for a while, and one that meets a post it cannot store."""

    inner: Any
    errors: list[Exception]

    async def land(self, page: PostPage, claim: PushClaim) -> Any:
        if self.errors:
            raise self.errors.pop(0)
        return await self.inner.land(page, claim)


@pytest.mark.parametrize(
    "error", [Busy(quote("PostgreSQL does not answer")), ValueError("unlike anything")], ids=["busy", "a bug"]
)
async def test_what_could_not_be_landed_is_read_instead(
    office: Office, control: Control, error: Exception
) -> None:
    first, second = await join_channels(office, control, channels=2)
    async with at_work(office, landing=Away(office.app.system.landing, [error])):
        control.post(first.channel_id, "not landed")
        await until(lambda: is_due(office, first))
        control.post(second.channel_id, "landed")
        await all_stored(office, second)
    await poll_what_is_due(office)
    assert await office.load_texts(first.channel_id) == truth(first)


async def test_a_flood_on_differences_does_not_keep_posts_from_being_stored(
    office: Office, control: Control, sim: Simulator
) -> None:
    (channel,) = await join_channels(office, control)
    async with at_work(office):
        control.fail(
            "updates.getDifference", times=9, code=420, message="FLOOD_WAIT_60", after=1
        )  # the first one is Telethon's own
        sim.drop_connections(PHONE)
        await office.poll(channel.channel_id)  # whoever asks next makes the connection

        async def is_flooded() -> bool:
            return office.line.floods > 0

        await until(is_flooded)
        control.post(channel.channel_id, "heard in spite of it")
        await all_stored(office, channel)


async def test_an_account_that_is_refused_stops_listening(office: Office, control: Control) -> None:
    await join_channels(office, control)
    control.revoke_keys(PHONE)
    with pytest.raises(Exception, match="SessionRevoked") as refused:
        await office.catching_up.run(office.stopping)
    assert getattr(refused.value, "state", None) is AccountState.LOGGED_OUT
