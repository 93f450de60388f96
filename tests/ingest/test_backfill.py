"""Reading the past: to the depth that is wanted, into holes, and once more to be sure."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from telegram_assistant.errors import LeaseLost
from telegram_assistant.stores.postgres.channels.backfills import Backfill, BackfillKind
from telegram_assistant.stores.postgres.channels.channels import EVERYTHING_DAYS
from telegram_assistant.stores.postgres.posts.landing import BackfillClaim
from telegram_simulator.control.operations import Control
from testkit.factories import make_page, make_post
from tests.conftest import Admin
from tests.ingest.office import Office, say, simulate_channel, truth


async def test_history_is_read_down_to_the_wanted_day_in_the_bulk_lane(
    office: Office, control: Control, admin: Admin
) -> None:
    channel = simulate_channel(control, posts=1500, every=600)  # ten days
    channel_id = await office.follow(channel, history_days=7)
    await office.poll(channel_id)
    assert await office.app.system.planning.want_history() == [channel_id]
    await office.read_the_past()
    week_ago = time.time() - 7 * 86_400
    stored = await office.load_texts(channel_id)
    assert {
        message_id for message_id in truth(channel) if channel.date_of(message_id) > week_ago + 60
    } <= stored.keys()
    assert len(stored) < 1300  # a window begins at midnight: up to eight days, and the rest of a page
    assert await office.gaps(channel_id) == []
    lanes = await admin.fetch(
        "SELECT lane, count(*) AS posts FROM outbox WHERE channel_id = $1 GROUP BY lane", channel_id
    )
    assert {row["lane"] for row in lanes} == {"live", "bulk"}
    assert await office.app.system.planning.want_history() == []


async def test_everything_means_down_to_the_first_message(office: Office, control: Control) -> None:
    channel = simulate_channel(control, posts=700, every=3600)
    channel_id = await office.follow(channel, history_days=EVERYTHING_DAYS)
    await office.poll(channel_id)
    await office.app.system.planning.want_history()
    await office.read_the_past()
    assert await office.load_texts(channel_id) == truth(channel)


async def test_of_ten_requests_three_are_for_the_past_while_polls_keep_coming(
    office: Office, control: Control, admin: Admin
) -> None:
    channels = [simulate_channel(control, posts=700, every=600) for _ in range(16)]
    for channel in channels:
        await office.follow(channel, history_days=7)
        await office.poll(channel.channel_id)
    assert len(await office.app.system.planning.want_history()) == 16
    await admin.execute("UPDATE backfills SET next_try_at = now() WHERE state = 'open'")
    before = office.calls()
    for _ in range(5):
        await admin.execute("UPDATE poll_schedule SET next_poll_at = now() WHERE next_poll_at < 'infinity'")
        await office.reading.turn()
    requests = office.calls() - before
    assert 0.26 < (requests - 5 * 16) / requests < 0.31


async def test_a_hole_in_the_ledger_is_found_by_the_plan_and_repaired(
    office: Office, control: Control, admin: Admin
) -> None:
    channel = simulate_channel(control, posts=400, every=60)
    channel_id = await office.follow(channel)
    await office.poll(channel_id)
    await admin.execute(
        "DELETE FROM posts WHERE channel_id = $1 AND message_id BETWEEN 150 AND 320", channel_id
    )
    await admin.execute(
        "UPDATE coverage SET verified = verified - int8multirange(int8range(150, 321)) WHERE channel_id = $1",
        channel_id,
    )
    assert await office.gaps(channel_id) == ["150-320"]
    assert await office.app.system.planning.want_gaps(settled_seconds=0) == [channel_id]
    await office.read_the_past()
    assert await office.load_texts(channel_id) == truth(channel)
    assert await office.gaps(channel_id) == []
    assert await office.app.system.planning.want_gaps(settled_seconds=0) == []


async def test_a_job_that_died_goes_on_where_it_was(office: Office, control: Control, admin: Admin) -> None:
    channel = simulate_channel(control, posts=900, every=600)
    channel_id = await office.follow(channel)
    await office.poll(channel_id)
    await office.app.system.planning.want_history()
    await admin.execute("UPDATE backfills SET next_try_at = now() WHERE state = 'open'")
    for _ in range(2):
        await office.reading.turn()
    halfway = len(await office.load_texts(channel_id))
    await admin.execute(
        "UPDATE backfills SET lease_owner = 'dead#0000', next_try_at = now() WHERE channel_id = $1",
        channel_id,
    )
    await office.app.redis.set(f"lock:backfill:{channel_id}", "dead#0000")
    before = office.calls()
    await office.read_the_past()
    assert halfway < len(await office.load_texts(channel_id)) == 900
    assert office.calls() - before <= (900 - halfway) / 100 + 1
    assert await office.app.redis.get(f"lock:backfill:{channel_id}") is None


async def test_a_lock_that_a_dead_process_left_behind_stops_nobody_who_has_the_job(
    office: Office, control: Control
) -> None:
    """Redis may forget that a lock was freed, and a process may die between its claim and its lock."""
    channel = simulate_channel(control, posts=900, every=600)
    channel_id = await office.follow(channel)
    await office.poll(channel_id)
    await office.app.system.planning.want_history()
    await office.app.redis.set(f"lock:backfill:{channel_id}", "other#1111")
    await office.read_the_past()
    assert await office.load_texts(channel_id) == truth(channel)
    assert await office.app.redis.get(f"lock:backfill:{channel_id}") is None


async def test_what_a_former_owner_read_is_not_written(
    office: Office, control: Control, admin: Admin
) -> None:
    channel = simulate_channel(control, posts=900, every=600)
    channel_id = await office.follow(channel)
    await office.poll(channel_id)
    await office.app.system.planning.want_history()
    backfills = office.app.system.backfills
    job = await backfills.claim(office.mine.account_id, "old#0000", office.mine.lease_epoch)
    assert job is not None
    await admin.execute("UPDATE backfills SET next_try_at = now() WHERE backfill_id = $1", job.backfill_id)
    assert await backfills.claim(office.mine.account_id, "new#1111", office.mine.lease_epoch + 1) is not None
    post = await office.admin.fetchval("SELECT max(message_id) FROM posts WHERE channel_id = $1", channel_id)
    with pytest.raises(LeaseLost):
        await office.app.system.landing.land(
            make_page(make_post(channel_id=channel_id, message_id=post + 1)),
            BackfillClaim(channel_id, job.backfill_id, job.lease_epoch),
        )


async def test_verifying_corrects_what_was_changed_without_a_trace(
    office: Office, control: Control, admin: Admin
) -> None:
    channel = simulate_channel(control, posts=350, every=60)
    channel_id = await office.follow(channel)
    await office.poll(channel_id)
    await admin.execute(
        "UPDATE posts SET text = 'falsch', content_hash = 'x' WHERE channel_id = $1 AND message_id = 200",
        channel_id,
    )
    assert await office.app.system.backfills.open(channel_id, BackfillKind.VERIFY)
    await office.read_the_past()
    assert await office.load_texts(channel_id) == truth(channel)


async def test_a_verification_that_joins_a_wish_for_history_fulfils_both(
    office: Office, control: Control, admin: Admin
) -> None:
    channel = simulate_channel(control, posts=450, every=600)
    channel_id = await office.follow(channel, history_days=EVERYTHING_DAYS)
    await office.poll(channel_id)
    assert await office.app.system.planning.want_history() == [channel_id]
    await admin.execute(
        "UPDATE posts SET text = 'falsch', content_hash = 'x' WHERE channel_id = $1 AND message_id = 440",
        channel_id,
    )
    assert await office.app.system.backfills.open(channel_id, BackfillKind.VERIFY)
    await office.read_the_past()
    assert await office.load_texts(channel_id) == truth(channel)


async def test_one_job_is_open_per_channel_and_a_deeper_wish_deepens_it(
    office: Office, control: Control, admin: Admin
) -> None:
    channel_id = await office.follow(simulate_channel(control, posts=3))
    now, backfills = datetime.now(UTC), office.app.system.backfills
    assert await backfills.open(channel_id, BackfillKind.HISTORY, since=now - timedelta(days=7))
    assert not await backfills.open(channel_id, BackfillKind.HISTORY, since=now - timedelta(days=3))
    assert await backfills.open(channel_id, BackfillKind.HISTORY, since=now - timedelta(days=30))
    assert await admin.fetchval("SELECT count(*) FROM backfills WHERE channel_id = $1", channel_id) == 1


async def claim_backfill(office: Office) -> Backfill:
    job = await office.app.system.backfills.claim(
        office.mine.account_id, "here#0000", office.mine.lease_epoch
    )
    assert job is not None
    return job


@pytest.mark.parametrize(
    ("begun", "wish"),
    [
        ((BackfillKind.RECHECK, 1), (BackfillKind.VERIFY, None)),
        ((BackfillKind.GAP, None), (BackfillKind.VERIFY, None)),
        ((BackfillKind.HISTORY, 7), (BackfillKind.HISTORY, 30)),
    ],
)
async def test_what_is_asked_of_a_job_while_it_is_being_done_is_done_afterwards(
    office: Office,
    control: Control,
    begun: tuple[BackfillKind, int | None],
    wish: tuple[BackfillKind, int | None],
) -> None:
    channel_id = await office.follow(simulate_channel(control, posts=3))
    backfills, now = office.app.system.backfills, datetime.now(UTC)

    async def open_job(kind: BackfillKind, days: int | None) -> bool:
        return await backfills.open(channel_id, kind, since=now - timedelta(days=days) if days else None)

    assert await open_job(*begun)
    job = await claim_backfill(office)
    assert await open_job(*wish)
    await backfills.finish(job, post_count=0)
    again = await claim_backfill(office)
    assert (again.backfill_id, again.kind, again.below) == (job.backfill_id, wish[0], None)
    await backfills.finish(again, post_count=0)
    assert not await office.admin.fetchval(
        "SELECT EXISTS (SELECT 1 FROM backfills WHERE channel_id = $1 AND state = 'open')", channel_id
    )


async def test_news_come_before_the_past(office: Office, control: Control) -> None:
    old, lively = simulate_channel(control, posts=3000, every=600), simulate_channel(control, posts=3)
    old_id, lively_id = await office.follow(old, history_days=EVERYTHING_DAYS), await office.follow(lively)
    await office.poll(old_id)
    await office.poll(lively_id)
    await office.app.system.planning.want_history()
    await office.admin.execute("UPDATE backfills SET next_try_at = now()")
    new = say(lively, "новость")
    await office.admin.execute(
        "UPDATE poll_schedule SET next_poll_at = now() WHERE channel_id = $1", lively_id
    )
    await office.reading.turn()
    assert new in await office.load_texts(lively_id)
