"""Networks of channels are told from an agency and those who copy it."""

from datetime import UTC, datetime, timedelta

from telegram_assistant.domain.channels.networks import (
    CopiedPost,
    RepeatedPosts,
    SignedChannel,
    count_repeated,
    find_networks,
    pair_signed,
)
from telegram_assistant.domain.ids import ChannelId

A, B, C, D = map(ChannelId, (1, 2, 3, 4))
POSTS = dict.fromkeys((A, B, C, D), 100)


def test_channels_that_repeat_each_other_in_both_directions_have_one_owner() -> None:
    assert find_networks([RepeatedPosts(A, B, 20), RepeatedPosts(B, A, 10)], POSTS) == {A: A, B: A}


def test_those_who_copy_an_agency_are_no_network_with_it() -> None:
    copied = [RepeatedPosts(A, other, 60) for other in (B, C, D)]
    assert find_networks([*copied, RepeatedPosts(B, A, 2)], POSTS) == {}


def test_few_equal_posts_prove_nothing() -> None:
    assert find_networks([RepeatedPosts(A, B, 4), RepeatedPosts(B, A, 3)], POSTS) == {}
    assert find_networks([RepeatedPosts(A, B, 6), RepeatedPosts(B, A, 6)], dict.fromkeys(POSTS, 1000)) == {}


def test_two_who_copy_everybody_are_no_network() -> None:
    everybody = [RepeatedPosts(other, copyist, 40) for copyist in (A, B) for other in (C, D)]
    assert find_networks([*everybody, RepeatedPosts(A, B, 6), RepeatedPosts(B, A, 6)], POSTS) == {}


def test_a_network_is_as_large_as_its_links_reach() -> None:
    repeated = [
        RepeatedPosts(A, B, 10),
        RepeatedPosts(B, A, 10),
        RepeatedPosts(B, C, 10),
        RepeatedPosts(C, B, 10),
    ]
    assert find_networks(repeated, POSTS) == {A: A, B: A, C: A}


def test_channels_that_sign_with_the_same_invitation_have_one_owner() -> None:
    assert find_networks([], POSTS, signed_pairs=[(C, D)]) == {C: C, D: C}


def test_equal_texts_within_a_day_are_counted_by_direction() -> None:
    at = datetime(2026, 11, 1, tzinfo=UTC)
    text = "Старый мост в Туманске закрыли на девять дней из-за трещины в опоре."

    def copied(channel: int, hours: int, words: str = text) -> CopiedPost:
        return CopiedPost(ChannelId(channel), at + timedelta(hours=hours), words)

    posts = [copied(1, 0), copied(2, 1, f"{text}\n\n@other"), copied(3, 2, "Другое."), copied(2, 3)]
    assert count_repeated(posts) == (RepeatedPosts(ChannelId(1), ChannelId(2), 1),)
    assert count_repeated([copied(1, 0), copied(2, 25)]) == ()


def test_channels_that_sign_with_one_invitation_are_paired_unless_they_seldom_do() -> None:
    signed = [
        SignedChannel(ChannelId(1), "+invitation", 20, 100),
        SignedChannel(ChannelId(2), "+invitation", 60, 100),
        SignedChannel(ChannelId(3), "+invitation", 19, 100),
        SignedChannel(ChannelId(4), "+another", 60, 100),
    ]
    assert pair_signed(signed) == ((ChannelId(1), ChannelId(2)),)
