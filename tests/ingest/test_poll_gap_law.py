"""The gap law: whatever was missed is a reported gap, a repair leaves nothing missing,
and what a page proved is no gap.
"""

import random
import time
from collections import Counter
from datetime import timedelta
from itertools import product

import pytest

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.settings import Settings
from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.channel import Channel as SimulatedChannel
from tests.conftest import Admin
from tests.ingest.lives import BEGAN, FOREVER, Channel, Nature, Reader, live
from tests.ingest.office import Office, open_office, say, simulate_channel, truth

ROUNDS, REAL_ROUNDS = 60, 12
NATURES = [
    Nature(deleted, service, lost_polls, deaths)
    for deleted, service, (lost_polls, deaths) in product(
        (0.0, 0.05, 0.12), (0.0, 0.02), ((0.0, 0.4), (0.3, 0.0), (0.3, 0.4))
    )
]


@pytest.fixture
def polls_wanted(request: pytest.FixtureRequest) -> int:
    return 500_000 if request.config.getoption("full") else 30_000


def test_every_loss_is_a_reported_gap_and_no_gap_was_ever_proven(polls_wanted: int) -> None:
    counts: Counter[str] = Counter()
    seed = 0
    while counts["polls"] < polls_wanted:
        counts += life_of(NATURES[seed % len(NATURES)], random.Random(seed))
        seed += 1
    print(f"\n{seed} channels: {dict(counts)}")
    assert counts["polls with a hole"] > counts["polls"] / 10
    assert counts["needless repairs"] <= counts["polls"] * 0.002


def life_of(nature: Nature, rng: random.Random) -> Counter[str]:
    channel = Channel()
    reader = Reader(channel)
    for number in range(ROUNDS):
        now = BEGAN + timedelta(minutes=20) * number
        live(channel, reader, nature, rng, now)
        check(reader)
        if rng.random() < nature.repairs:
            reader.pages_to_live = FOREVER
            reader.repair(rng.choice((1, 2, 1000)))
            check(reader)
    return at_the_end(reader)


def check(reader: Reader) -> None:
    reported = {message_id for gap in reader.gaps for message_id in range(gap.low, gap.high + 1)}
    assert reader.missing() <= reported
    assert reported.isdisjoint(reader.seen)


def at_the_end(reader: Reader) -> Counter[str]:
    reader.pages_to_live = FOREVER
    reader.poll(BEGAN + timedelta(minutes=20) * ROUNDS)
    reader.counts["lives that end with a gap"] += bool(reader.gaps)
    check(reader)
    reader.repair(100_000)
    assert reader.gaps == ()
    assert not [
        message_id
        for message_id in reader.channel.alive
        if message_id >= reader.floor and message_id not in reader.stored
    ]
    reader.counts["posts"] += len(reader.channel.dates)
    reader.counts["deleted"] += len(reader.channel.dates) - len(reader.channel.alive)
    return reader.counts


async def test_the_law_holds_in_real_runs_against_a_real_server(
    installation: Settings, sim: Simulator, control: Control, admin: Admin, request: pytest.FixtureRequest
) -> None:
    """Fewer polls, in pages of a hundred, through the client, PostgreSQL and Redis."""
    lives, polls = (60, 0) if request.config.getoption("full") else (3, 0)
    async with open_office(installation, sim, admin, attempts=1) as office:
        for seed in range(lives):
            polls += await live_for_real(office, control, random.Random(seed))
    print(f"\n{lives} channels: {polls} polls")


async def live_for_real(office: Office, control: Control, rng: random.Random) -> int:
    channel, polls, began = (
        simulate_channel(control, posts=3, newest_age=REAL_ROUNDS * 1200),
        0,
        time.time() - REAL_ROUNDS * 1200,
    )
    channel_id = await office.follow(channel)
    for number in range(REAL_ROUNDS):
        now = began + number * 1200
        for second in range(rng.choice((0, 0, 1, 40, 150, 305, 400))):
            say(channel, f"пост {channel.newest_id}", at=now + second)
        latest = range(max(channel.newest_id - 150, 1), channel.newest_id)
        control.delete(
            channel_id, [message_id for message_id in latest if rng.random() < rng.choice((0, 0.04, 0.12))]
        )
        if rng.random() < 0.4:
            control.fail(
                "messages.getHistory",
                times=1,
                code=400,
                message="LIMIT_INVALID",
                after=rng.choice((0, 1, 1, 2, 3)),
            )
        await office.poll(channel_id)
        polls += 1
        office.sim.faults.failures.clear()
        await office.admin.execute(
            "UPDATE channels SET last_parsed_at = least(last_parsed_at, to_timestamp($2)) "
            "WHERE channel_id = $1",
            channel_id,
            now + 600.0,
        )
        if rng.random() < 0.3:
            await office.app.redis.flushdb()
        assert await load_lost(office, channel) <= await reported(office, channel_id)
    await office.poll(channel_id)
    await office.app.system.planning.want_gaps(settled_seconds=0)
    await office.read_the_past()
    assert await office.gaps(channel_id) == []
    assert truth(channel).items() <= (await office.load_texts(channel_id)).items()
    return polls + 1


async def load_lost(office: Office, channel: SimulatedChannel) -> set[int]:
    """Posts that exist between the floor and the newest known id, but are not stored."""
    coverage = await office.app.system.coverage.load_coverage(ChannelId(channel.channel_id))
    stored = await office.load_texts(channel.channel_id)
    return (
        set()
        if coverage is None
        else {
            message_id
            for message_id in truth(channel)
            if coverage.floor_id <= message_id <= coverage.newest_id
        }
        - stored.keys()
    )


async def reported(office: Office, channel_id: ChannelId) -> set[int]:
    coverage = await office.app.system.coverage.load_coverage(channel_id)
    return (
        set()
        if coverage is None
        else {message_id for gap in coverage.gaps for message_id in range(gap.low, gap.high + 1)}
    )
