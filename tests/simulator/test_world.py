"""Worlds: the same seed gives the same bytes; rates have a heavy tail; days and weeks have a rhythm."""

import hashlib
import statistics
import subprocess
import sys
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from telegram_simulator.control.operations import Control
from telegram_simulator.control.seeing import truth
from telegram_simulator.mtproto.crypto import RsaKey
from telegram_simulator.simulator import Options, Simulator
from telegram_simulator.world.load import FIRST_CHANNEL
from telegram_simulator.world.rhythm import busy_at, moments_at, rhythm_of
from telegram_simulator.world.tiny import CITY, tiny_channels
from telegram_simulator.world.world import Many, World

NOW = 1_794_700_000

HASH_OF_PAGES = """
import hashlib, sys
from pathlib import Path
from telethon.tl import functions, types
from telegram_simulator.methods.history import get_history
from telegram_simulator.methods.registry import Caller
from telegram_simulator.mtproto.crypto import RsaKey
from telegram_simulator.simulator import Options, Simulator
from telegram_simulator.world.world import FIRST_CHANNEL, Many, World

now, pages = int(sys.argv[1]), int(sys.argv[2])
world = World(seed=7, clock=lambda: now, many=Many(7, 100_000, 500, now))
simulator = Simulator(world, RsaKey(None, 0), Options(limits={}))
simulator.new_login("1")
caller = Caller(simulator, next(simulator.keys.records_of("1")), 2)
digest = hashlib.sha256()
for number in range(pages):
    channel = FIRST_CHANNEL + number * 7919 % 100_000
    peer = types.InputPeerChannel(channel, world.access_hash(caller.account, channel))
    digest.update(
        get_history(functions.messages.GetHistoryRequest(peer, number % 500, None, 0, 100, 0, 0, 0), caller)
    )
print(digest.hexdigest())
"""


def hash_of_pages(now: int, pages: int) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", HASH_OF_PAGES, str(now), str(pages)],
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.strip()


def test_the_same_seed_and_now_give_the_same_bytes_in_every_process(pages_to_hash: int) -> None:
    assert hash_of_pages(NOW, pages_to_hash) == hash_of_pages(NOW, pages_to_hash)


def test_another_now_gives_other_bytes() -> None:
    assert hash_of_pages(NOW, 5) != hash_of_pages(NOW - 86_400, 5)


@pytest.fixture
def pages_to_hash(request: pytest.FixtureRequest) -> int:
    return 10_000 if request.config.getoption("full") else 500


def many(channels: int = 2000, posts: int = 100) -> Many:
    return Many(3, channels, posts, NOW)


def test_rates_have_a_heavy_tail() -> None:
    rates = sorted(rhythm_of(3, index).per_day for index in range(20_000))
    assert 2.7 < statistics.median(rates) < 3.3
    assert 8.5 < statistics.mean(rates) < 11
    assert 0.55 < sum(rates[-2000:]) / sum(rates) < 0.67  # the busiest tenth posts three fifths
    assert rates[0] >= 0.05
    assert rates[-1] <= 300


def test_days_and_weeks_have_a_rhythm() -> None:
    by_hour, by_day = [0] * 24, [0] * 7
    for index in range(600):
        past = many(posts=200).past(index)
        for number in range(200):
            moment = datetime.fromtimestamp(past.date(number), UTC)
            by_hour[moment.hour] += 1
            by_day[moment.weekday()] += 1
    assert max(by_hour) / min(by_hour) > 4
    weekday, weekend = sum(by_day[:5]) / 5, sum(by_day[5:]) / 2
    assert 0.5 < weekend / weekday < 0.95


def test_busy_hours_are_inverted_exactly() -> None:
    rhythm = rhythm_of(3, 12)
    for moment in range(NOW, NOW + 14 * 86_400, 7777):
        assert abs(moments_at(rhythm, [busy_at(rhythm, moment)])[0] - moment) <= 1


def test_dates_never_fall_and_never_pass_now_before_it_and_go_on_after_it() -> None:
    for index in range(50):
        past = many().past(index)
        dates = [past.date(number) for number in range(200)]
        assert all(earlier <= later for earlier, later in pairwise(dates))
        assert dates[99] <= NOW < dates[100]


def test_albums_are_consecutive_with_one_date_and_one_caption() -> None:
    seen = 0
    for index in range(60):
        past = many().past(index)
        groups: dict[int, list[int]] = {}
        for number in range(1, 100):
            post = past.post(number, number + 1)
            if post.grouped_id is not None:
                groups.setdefault(post.grouped_id, []).append(number)
        for numbers in groups.values():
            seen += 1
            assert 2 <= len(numbers) <= 8
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
            assert len({past.date(number) for number in numbers}) == 1
            assert [bool(past.post(number, 1).text) for number in numbers] == [True] + [False] * (
                len(numbers) - 1
            )
    assert seen > 20


def test_a_channel_with_very_many_posts_is_not_older_than_ten_years() -> None:
    for index in range(50):
        past = many(posts=5000).past(index)
        assert NOW - past.date(0) < 11 * 366 * 86_400


def test_the_tiny_world_is_always_the_same() -> None:
    def digest() -> str:
        texts = [
            repr(channel.get(number))
            for channel in tiny_channels(NOW)
            for number in range(1, channel.newest_id + 1)
        ]
        return hashlib.sha256("".join(texts).encode()).hexdigest()

    assert digest() == digest()
    assert [channel.newest_id for channel in tiny_channels(NOW)] == [40, 30, 10]
    assert max(channel.date_of(channel.newest_id) for channel in tiny_channels(NOW)) <= NOW


async def test_truth_tells_every_post_edit_and_deletion(sim: Simulator, control: Control) -> None:
    post = control.post(CITY, "раз")
    control.edit(CITY, post.message_id, "два")
    control.edit(CITY, post.message_id, "три")
    control.delete(CITY, [post.message_id])
    posts = {record["message_id"]: record for record in truth(sim.world, CITY)}
    assert len(posts) == 41
    assert [version["text"] for version in posts[41]["versions"]] == ["раз", "два", "три"]
    assert posts[41]["deleted_at"] is not None
    assert posts[40]["deleted_at"] is None


def test_changes_spread_over_the_world_cost_little_and_are_told(rsa_key: RsaKey) -> None:
    world = World(seed=3, clock=lambda: NOW, many=many(channels=50))
    simulator = Simulator(world, rsa_key, Options(limits={}))
    assert Control(simulator).churn(edits=300, deletions=200) > 400
    posts = list(truth(world))
    assert len(posts) == 5000
    edited = [post for post in posts if len(post["versions"]) > 1]
    assert len(edited) > 200
    assert all(
        post["versions"][0]["text"] != post["versions"][1]["text"]
        for post in edited
        if post["service"] is None
    )
    assert sum(post["deleted_at"] is not None for post in posts) > 150


def test_channels_live_on_by_their_rhythm() -> None:
    past = many().past(5)
    later = [past.date(number) for number in range(100, 130)]
    assert later == sorted(later)
    assert later[0] > NOW
    per_day = 30 / ((later[-1] - NOW) / 86_400)
    assert past.rhythm.per_day / 4 < per_day < past.rhythm.per_day * 4


def test_a_post_that_was_foretold_appears_with_the_next_id() -> None:
    world = World(seed=3, clock=lambda: NOW, many=many())
    channel = world.channel(FIRST_CHANNEL + 1)
    assert channel is not None
    post = channel.foretold(100)
    assert (post.message_id, channel.newest_id) == (101, 101)
    assert channel.get(101) == post
