"""Ways in which posts were lost, or could have been: each stays shut."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from telegram_assistant.domain.channels.coverage import IdRange
from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.errors import Flooded, LeaseLost
from telegram_assistant.reasons import quote
from telegram_assistant.settings import Settings
from telegram_assistant.stores.postgres.posts.landing import Claim, RunEnds
from telegram_assistant.stores.redis.marks import Marks
from telegram_assistant.telemetry.metrics import MARKS_UNREADABLE
from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from testkit.factories import make_page, make_post
from tests.conftest import Admin
from tests.ingest.office import Office, open_office, say, simulate_channel, truth

HISTORY = "messages.getHistory"
HOUR = timedelta(hours=1)


@pytest.fixture
async def impatient(installation: Settings, sim: Simulator, admin: Admin) -> AsyncIterator[Office]:
    """Tries nothing twice: a run that meets trouble is over."""
    async with open_office(installation, sim, admin, attempts=1) as office:
        yield office


@pytest.fixture
async def two(installation: Settings, sim: Simulator, admin: Admin) -> AsyncIterator[tuple[Office, Office]]:
    async with (
        open_office(installation, sim, admin) as first,
        open_office(installation, sim, admin, phone="79990000002") as other,
    ):
        yield first, other


async def poll_until_page(office: Office, control: Control, channel_id: ChannelId, pages: int) -> None:
    """Polls the channel; the run ends with an error after `pages` pages."""
    control.fail(HISTORY, times=1, code=400, message="LIMIT_INVALID", after=pages)
    await office.poll(channel_id)


async def test_a_page_that_reaches_below_the_last_one_lands_what_nobody_has_read(
    impatient: Office, control: Control
) -> None:
    """A run dies after its newest page; then posts of that page are deleted,
    so the next newest page reaches into the hole.
    """
    channel = simulate_channel(control, posts=20, every=1, newest_age=3000)
    channel_id = await impatient.follow(channel)
    await impatient.poll(channel_id)
    for number in range(305):
        say(channel, f"потом {number}")
    await poll_until_page(impatient, control, channel_id, 1)
    assert await impatient.gaps(channel_id) == ["21-225"]
    control.delete(channel_id, [300, 301, 302, 303, 304])
    await impatient.poll(channel_id)
    assert await impatient.gaps(channel_id) == []
    assert truth(channel).items() <= (await impatient.load_texts(channel_id)).items()


async def test_a_hole_before_the_first_stored_id_is_reported(impatient: Office, control: Control) -> None:
    channel = simulate_channel(control, posts=300, every=600)
    channel_id = await impatient.follow(channel)
    control.fail(
        HISTORY, times=1, code=400, message="LIMIT_INVALID", after=2
    )  # the newest page, and where the day begins
    await impatient.poll(channel_id)
    coverage = await impatient.app.system.coverage.load_coverage(channel_id)
    assert coverage is not None
    assert 1 < coverage.floor_id < min(await impatient.load_texts(channel_id)) == 201
    assert coverage.gaps == (IdRange(coverage.floor_id, MessageId(200)),)
    assert channel_id in await impatient.app.system.planning.want_gaps(settled_seconds=0)
    await impatient.read_the_past()
    assert await impatient.gaps(channel_id) == []
    assert (
        truth(channel, above=coverage.floor_id - 1).items()
        <= (await impatient.load_texts(channel_id)).items()
    )


@pytest.mark.parametrize("older", [30, 300])
async def test_a_post_that_becomes_visible_after_a_newer_one_is_read(
    office: Office, control: Control, older: int
) -> None:
    channel = simulate_channel(control, posts=older, every=60, newest_age=700)
    channel_id = await office.follow(channel)
    late, newer = say(channel, "поздно видимый"), say(channel, "новее")
    control.delete(channel_id, [late], deliver=False)
    await office.poll(channel_id)
    assert newer in await office.load_texts(channel_id)
    channel.restore(late)
    await office.poll(channel_id)
    assert late in await office.load_texts(channel_id)


async def test_the_cursor_never_moves_backwards(office: Office, control: Control) -> None:
    channel_id = await office.follow(simulate_channel(control, posts=30))
    await office.poll(channel_id)
    before, marks, now = (
        await office.load_schedule(channel_id),
        Marks(office.app.redis),
        datetime.now(UTC).replace(microsecond=0),
    )
    claim, late = Claim(channel_id, office.mine.lease_epoch), Claim(channel_id, office.mine.lease_epoch - 1)
    old = make_page(make_post(channel_id=channel_id, message_id=3, text="другое"), floor_id=MessageId(20))
    ends = RunEnds(started_at=now - HOUR, next_poll_at=now - HOUR, stored_before=True)
    await office.app.system.landing.land(old, claim, ends=ends)
    with pytest.raises(LeaseLost):
        await office.app.system.landing.land(old, late, ends=ends)
    await office.app.system.schedule.fail(
        channel_id, late.lease_epoch, failures_before=0, reason=quote("late"), now=now
    )
    after, coverage = (
        await office.load_schedule(channel_id),
        await office.app.system.coverage.load_coverage(channel_id),
    )
    for mark in ("newest_message_id", "newest_posted_at", "last_parsed_at", "fail_count"):
        assert after[mark] == before[mark]
    assert coverage is not None
    assert (coverage.floor_id, coverage.newest_id, coverage.gaps) == (1, 30, ())
    for moment in (now, now - HOUR):
        await marks.raise_high_water(channel_id, moment, now=now)
    assert await marks.high_water([channel_id]) == {channel_id: now}
    await marks.drop_high_water(channel_id)


async def test_an_emptied_redis_between_two_polls_loses_nothing(impatient: Office, control: Control) -> None:
    channel = simulate_channel(control, posts=20, every=1, newest_age=3000)
    channel_id = await impatient.follow(channel)
    await impatient.poll(channel_id)
    for number in range(450):
        say(channel, f"потом {number}")
    await poll_until_page(impatient, control, channel_id, 3)
    assert channel_id in await Marks(impatient.app.redis).high_water([channel_id])
    await impatient.app.redis.flushdb()
    await impatient.poll(channel_id)
    assert await impatient.gaps(channel_id) == []
    assert await impatient.load_texts(channel_id) == truth(channel)


async def test_an_unreadable_mark_is_ignored_and_counted(office: Office, control: Control) -> None:
    channel = simulate_channel(control, posts=20)
    channel_id = await office.follow(channel)
    await office.poll(channel_id)
    await office.app.redis.set(f"parse_hwm:{channel_id}", "gestern")
    say(channel, "новость")
    unreadable = MARKS_UNREADABLE._value.get()  # noqa: SLF001 -- the client has no public way to read one
    await office.poll(channel_id)
    assert MARKS_UNREADABLE._value.get() - unreadable == 1  # noqa: SLF001 -- as above
    assert await office.load_texts(channel_id) == truth(channel)
    assert await office.app.redis.get(f"parse_hwm:{channel_id}") is None


async def test_a_renamed_channel_is_read_on_without_being_looked_up(office: Office, control: Control) -> None:
    channel = simulate_channel(control, posts=3)
    channel_id = await office.follow(channel)
    await office.poll(channel_id)
    control.change_channel(channel_id, title="Neuer Titel", username=f"{channel.username}_neu")
    new = say(channel, "новость")
    await office.poll(channel_id)
    assert new in await office.load_texts(channel_id)
    assert office.calls("contacts.resolveUsername") == 0


async def find_reader(
    admin: Admin, channel_id: ChannelId, offices: tuple[Office, Office]
) -> tuple[Office, Office]:
    """The office that reads the channel first, then the other one."""
    reader = await admin.fetchval("SELECT account_id FROM poll_schedule WHERE channel_id = $1", channel_id)
    return offices if offices[0].mine.account_id == reader else (offices[1], offices[0])


@pytest.mark.parametrize("code", [400, 406])
async def test_a_channel_that_went_private_is_taken_over_by_another_account(
    two: tuple[Office, Office], control: Control, admin: Admin, code: int
) -> None:
    """Telegram answers with 406, but the message decides, not the code."""
    channel = simulate_channel(control, posts=3)
    for office in two:
        channel_id = await office.follow(channel)
    reader, other = await find_reader(admin, channel_id, two)
    control.fail(HISTORY, times=1, code=code, message="CHANNEL_PRIVATE", phone=reader.phone)
    await reader.poll(channel_id)
    lost = await admin.fetch(
        "SELECT account_id, lost_reason FROM account_channels WHERE channel_id = $1 AND lost_at IS NOT NULL",
        channel_id,
    )
    assert [(row["account_id"], "ChannelPrivate" in row["lost_reason"]) for row in lost] == [
        (reader.mine.account_id, True)
    ]
    await reader.app.system.planning.give_accounts()
    assert await find_reader(admin, channel_id, two) == (other, reader)
    await other.poll(channel_id)
    assert await other.load_texts(channel_id) == truth(channel)


async def test_accounts_that_see_the_same_channel_keep_their_hashes_floods_and_budgets_apart(
    two: tuple[Office, Office], control: Control, admin: Admin
) -> None:
    channel = simulate_channel(control, posts=3)
    for office in two:
        channel_id = await office.follow(channel)
    hashes = await admin.fetch("SELECT access_hash FROM account_channels WHERE channel_id = $1", channel_id)
    assert len({row["access_hash"] for row in hashes}) == 2
    reader, other = await find_reader(admin, channel_id, two)
    control.fail(HISTORY, times=1, code=420, message="FLOOD_WAIT_3600", phone=reader.phone)
    with pytest.raises(Flooded):
        await reader.poll(channel_id)
    await reader.app.system.planning.give_accounts()
    assert await find_reader(admin, channel_id, two) == (reader, other)
    await admin.execute(
        "UPDATE poll_schedule SET account_id = $2 WHERE channel_id = $1", channel_id, other.mine.account_id
    )
    await other.poll(channel_id)
    assert await other.load_texts(channel_id) == truth(channel)
    blocked = await admin.fetch("SELECT account_id FROM account_limits WHERE blocked_until > now()")
    assert reader.mine.account_id in {row["account_id"] for row in blocked}
    assert other.mine.account_id not in {row["account_id"] for row in blocked}


async def stop_at_call(office: Office, number: int) -> None:
    """Stops the office like SIGTERM while the call of that number is under way."""
    wanted = office.calls() + number
    while office.calls() < wanted:
        await asyncio.sleep(0)
    office.stopping.set()


async def test_sigterm_finishes_the_page_in_hand_and_puts_the_rest_back(
    office: Office, control: Control, admin: Admin
) -> None:
    channels = [simulate_channel(control, posts=30) for _ in range(3)]
    for channel in channels:
        await office.follow(channel)
    stop = asyncio.create_task(stop_at_call(office, 1))
    await office.reading.turn()
    await stop
    stored = [len(await office.load_texts(channel.channel_id)) for channel in channels]
    assert sorted(stored) == [0, 0, 30]
    rows = await admin.fetch(
        "SELECT next_poll_at <= now() AS due, fail_count FROM poll_schedule WHERE channel_id = ANY($1)",
        [channel.channel_id for channel in channels],
    )
    assert sorted((row["due"], row["fail_count"]) for row in rows) == [(False, 0), (True, 0), (True, 0)]


async def test_sigterm_in_a_hole_is_no_failure_and_the_next_run_goes_on(
    office: Office, control: Control
) -> None:
    channel = simulate_channel(control, posts=20, every=1, newest_age=3000)
    channel_id = await office.follow(channel)
    await office.poll(channel_id)
    for number in range(450):
        say(channel, f"потом {number}")
    stop = asyncio.create_task(stop_at_call(office, 2))
    await office.poll(channel_id)
    await stop
    assert await office.gaps(channel_id) == ["121-370"]
    assert await office.admin.fetchval(
        "SELECT next_poll_at <= now() AND fail_count = 0 FROM poll_schedule WHERE channel_id = $1", channel_id
    )
    office.stopping.clear()
    await office.poll(channel_id)
    assert await office.load_texts(channel_id) == truth(channel)
