"""The unruly world plants what real channels do, and its truth knows every planting."""

import hashlib
import re
from collections import Counter

import pytest

from telegram_simulator.world.demo.demo import Demo
from telegram_simulator.world.demo.plan import HOUR, Kind, Planned, Role
from telegram_simulator.world.demo.texts import text_of
from telegram_simulator.world.unruly.numbers import COUNTED
from telegram_simulator.world.unruly.pack import unruly_pack, unruly_sha256
from telegram_simulator.world.unruly.unruly import make_unruly_world

NOW = 1_794_700_000
DAYS = 7
PACK_SHA256 = "11a2a6789d5f51aa2f8b83afc46fa06b182e1a5a21b4c7a4a9cdb068a29292e6"
"""Detectors are measured against these texts: new ones belong into a new world."""
WORLD_SHA256 = "bfb6fcc0dd897a2fb71eda70b6e519e4a732c282744fd7a7c4e2cd4308603e9d"
"""Every post of a week with its truth."""


@pytest.fixture(scope="module")
def world() -> Demo:
    return make_unruly_world(seed=1, present=NOW, clock=lambda: NOW, days=DAYS)


@pytest.fixture(scope="module")
def posts(world: Demo) -> list[Planned]:
    return [post for past in world.pasts for post in past.posts[1:]]


def text(post: Planned) -> str:
    return text_of(post, 0, site="https://news.example").text


def planted(posts: list[Planned], kind: str) -> list[Planned]:
    return [post for post in posts if post.planted is not None and kind in post.planted.kinds]


def test_the_texts_and_the_world_are_those_that_were_frozen(world: Demo) -> None:
    digest = hashlib.sha256()
    for channel in world.channels:
        for number in range(1, channel.newest_id + 1):
            digest.update(repr((channel.versions(number), channel.about(number))).encode())
    assert unruly_sha256() == PACK_SHA256
    assert digest.hexdigest() == WORLD_SHA256


def test_everything_is_planted_often_enough_to_be_measured(posts: list[Planned]) -> None:
    kinds = Counter(kind for post in posts if post.planted is not None for kind in post.planted.kinds)
    rare = {"statements", "about advertising", "foreign uk", "foreign kk", "foreign short"}
    assert {kind for kind, times in kinds.items() if times < 20} <= rare
    assert len(kinds) >= 24


def test_channels_of_a_network_repeat_each_other_in_both_directions(posts: list[Planned]) -> None:
    directions = Counter(
        (post.source.channel.name, post.channel.name) for post in planted(posts, "sister") if post.source
    )
    for channels in unruly_pack().networks.values():
        names = [channel.name for channel in channels]
        assert all(directions[first, second] for first in names for second in names if first != second)


def test_a_sister_says_word_for_word_what_the_other_said_within_minutes(posts: list[Planned]) -> None:
    for post in planted(posts, "sister"):
        assert post.source is not None
        assert text(post) == text(post.source)
        assert 0 < post.date - post.source.date < HOUR


def test_copyists_of_an_agency_are_never_copied_by_it(posts: list[Planned]) -> None:
    for agency, copyists in unruly_pack().copyists.items():
        names = {channel.name for channel in copyists}
        copies = [post for post in posts if post.channel.name in names and post.role is Role.COPY]
        assert {post.source.channel.name for post in copies if post.source} == {agency}
        assert not any(
            post.channel.name == agency and post.source and post.source.channel.name in names
            for post in posts
        )


def test_a_number_that_contradicts_nothing_is_not_the_one_that_the_story_turns_on(
    posts: list[Planned],
) -> None:
    counted = [post for kind in COUNTED if kind != "rounded" for post in planted(posts, kind)]
    assert len(counted) > 100
    for post in counted:
        assert post.story is not None
        assert post.planted is not None
        numbers = set(map(int, re.findall(r"\d+", post.planted.beside[0])))
        assert post.story.values[post.story.event.key] not in numbers


def test_a_turn_names_the_new_state_and_half_of_them_answer_to_nothing(posts: list[Planned]) -> None:
    turns = planted(posts, "turn")
    own = [post for post in turns if post.source is not None and post.source.channel is post.channel]
    without_reply = [post for post in own if post.planted is not None and not post.planted.is_reply]
    assert all(post.planted is not None and post.planted.state for post in turns)
    assert 0.35 < len(without_reply) / len(own) < 0.75


def test_advertising_hides_its_mark_in_the_address(posts: list[Planned]) -> None:
    advertised = [post for kind in ("erid", "utm") for post in planted(posts, f"advertising {kind}")]
    assert all(post.kind is Kind.ADVERTISING for post in advertised)
    assert not any("erid" in text(post) or "utm" in text(post) for post in advertised)


def test_a_round_up_belongs_to_no_story(posts: list[Planned]) -> None:
    round_ups = planted(posts, "round-up")
    assert all(post.story is None for post in round_ups)
    assert all(text(post).count("▪️") == 10 for post in round_ups)
