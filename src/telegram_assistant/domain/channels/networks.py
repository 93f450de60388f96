"""Which channels speak with one voice: networks of one owner repeat each other word for word, in both
directions, or sign their posts with the same invitation.

An agency and those who copy it are no network: there the words go in one direction.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.posts.near_copies import content_of

MIN_REPEATED = 8
MIN_SHARE = 0.07
"""Of the smaller channel's posts, what both have word for word."""
MIN_BACK = 0.2
"""Of what two channels have word for word, the share that goes in the rarer direction."""
MIN_NEIGHBOURS = 0.5
"""Of everything that one of them has word for word with anybody, the share that is with the other."""
MIN_SIGNED = 0.2
"""The share of a channel's posts that have its invitation."""
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class CopiedPost:
    """A text that two channels may have."""

    channel_id: ChannelId
    posted_at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class SignedChannel:
    """How many of a channel's posts have this invitation link."""

    channel_id: ChannelId
    invitation: str
    signed: int
    posts: int


@dataclass(frozen=True, slots=True)
class SisterChannel:
    """Another channel of the same network."""

    channel_id: ChannelId
    title: str


@dataclass(frozen=True, slots=True)
class RepeatedPosts:
    """How many posts of `later` say within a day, word for word, what `earlier` had said."""

    earlier: ChannelId
    later: ChannelId
    count: int


def find_networks(
    repeated_posts: Iterable[RepeatedPosts],
    posts: Mapping[ChannelId, int],
    signed_pairs: Iterable[tuple[ChannelId, ChannelId]] = (),
) -> dict[ChannelId, ChannelId]:
    """The owner of every channel that is in a network, named by its oldest channel id.

    `posts` counts each channel's posts of the same days; `signed` are channels that sign alike.
    """
    directions: dict[tuple[ChannelId, ChannelId], int] = {}
    neighbours: Counter[ChannelId] = Counter()
    for pair in repeated_posts:
        directions[pair.earlier, pair.later] = pair.count
        neighbours[pair.earlier] += pair.count
        neighbours[pair.later] += pair.count
    sisters_by_channel = defaultdict[ChannelId, set[ChannelId]](set)
    for first_id, second_id in {(min(pair), max(pair)) for pair in directions}:
        forward_count, reverse_count = (
            directions.get((first_id, second_id), 0),
            directions.get((second_id, first_id), 0),
        )
        if _are_sisters(
            forward_count,
            reverse_count,
            min(posts.get(first_id, 0), posts.get(second_id, 0)),
            neighbours[first_id],
            neighbours[second_id],
        ):
            sisters_by_channel[first_id].add(second_id)
            sisters_by_channel[second_id].add(first_id)
    for first_id, second_id in signed_pairs:
        sisters_by_channel[first_id].add(second_id)
        sisters_by_channel[second_id].add(first_id)
    return _name_components(sisters_by_channel)


def count_repeated(posts: Iterable[CopiedPost]) -> tuple[RepeatedPosts, ...]:
    """Of posts, oldest first: how often a channel says within a day what another one had said; of several
    channels with the same words, each has them from all that were earlier.
    """
    by_content = defaultdict[bytes, dict[ChannelId, datetime]](dict)
    pair_counts: Counter[tuple[ChannelId, ChannelId]] = Counter()
    for post in posts:
        earlier = by_content[content_of(post.text)]
        before = earlier.get(post.channel_id)
        if before is not None and post.posted_at - before <= DAY:
            continue
        pair_counts.update(
            (channel_id, post.channel_id)
            for channel_id, posted_at in earlier.items()
            if channel_id != post.channel_id and post.posted_at - posted_at <= DAY
        )
        earlier[post.channel_id] = post.posted_at
    return tuple(
        RepeatedPosts(earlier, later_id, count) for (earlier, later_id), count in pair_counts.items()
    )


def pair_signed(signed_channels: Iterable[SignedChannel]) -> tuple[tuple[ChannelId, ChannelId], ...]:
    """Channels that sign with the same invitation, each with the next one."""
    by_invitation = defaultdict[str, set[ChannelId]](set)
    for channel in signed_channels:
        if channel.signed >= MIN_SIGNED * channel.posts:
            by_invitation[channel.invitation].add(channel.channel_id)
    return tuple(pair for channel_ids in by_invitation.values() for pair in pairwise(sorted(channel_ids)))


def _are_sisters(
    forward_count: int, reverse_count: int, post_count: int, neighbour_count: int, others_neighbour_count: int
) -> bool:
    total_count = forward_count + reverse_count
    return (
        total_count >= MIN_REPEATED
        and total_count >= MIN_SHARE * post_count
        and min(forward_count, reverse_count) >= MIN_BACK * total_count
        and total_count >= MIN_NEIGHBOURS * min(neighbour_count, others_neighbour_count)
    )


def _name_components(sisters_by_channel: Mapping[ChannelId, set[ChannelId]]) -> dict[ChannelId, ChannelId]:
    owners: dict[ChannelId, ChannelId] = {}
    for channel_id in sorted(sisters_by_channel):
        waiting_channel_ids = [channel_id]
        while waiting_channel_ids:
            member_id = waiting_channel_ids.pop()
            if member_id not in owners:
                owners[member_id] = channel_id
                waiting_channel_ids.extend(sisters_by_channel[member_id])
    return owners
