"""The list of followed channels with their health: sorted, filtered, page by page."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from telegram_assistant.domain.channels.health import (
    WORST_FIRST,
    ChannelHealth,
    ReadingHealth,
    assess_health,
    suspended_health,
)
from telegram_assistant.domain.channels.record import ChannelRecord
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.stores.postgres.channels.channels import FollowedChannel
from telegram_assistant.stores.postgres.channels.coverage import ChannelCoverage
from telegram_assistant.stores.postgres.stores import TenantStores

RECENT = timedelta(days=7)
NEVER = datetime.min.replace(tzinfo=UTC)


class ChannelOrder(StrEnum):
    """The order of the list of channels."""

    NAME = "name"
    HEALTH = "health"
    """The worst first."""
    NEWEST = "newest"
    """The channel with the newest post first."""
    POSTS = "posts"
    """The channel with the most posts of the last seven days first."""
    FIRST = "first"
    """The channel that was first in the most stories first."""
    OWN = "own"
    """The channel that takes the smallest share of its posts from others first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelQuery:
    """Which channels, and in which order."""

    words: str = ""
    """Match the title or the username."""
    folder: str | None = None
    """Empty: those in no folder."""
    health: ChannelHealth | None = None
    order: ChannelOrder = ChannelOrder.NAME


@dataclass(frozen=True, slots=True)
class ChannelLine:
    """A line of the list."""

    channel: FollowedChannel
    report: ReadingHealth
    coverage: ChannelCoverage | None
    """None for a suspended channel."""
    recent_posts: int = 0
    record: ChannelRecord | None = None
    """None: not counted yet."""


@dataclass(frozen=True, slots=True)
class ChannelOverview:
    """A page of the list.

    `health` counts all channels that the words and the folder match, whatever their health.
    """

    lines: tuple[ChannelLine, ...]
    matching_ids: tuple[ChannelId, ...]
    """All channels that match, on every page."""
    followed: int
    health: Mapping[ChannelHealth, int]
    folders: tuple[str, ...]
    page: int
    pages: int


async def overview_of_channels(
    query: ChannelQuery, *, stores: TenantStores, now: datetime, limit: int, page: int = 1
) -> ChannelOverview:
    """Returns a page of the list; a page that does not exist is the last one."""
    followed_channels, channel_coverages, records = await asyncio.gather(
        stores.followed.channels(), stores.coverage_overview.channels(), stores.records.some()
    )
    coverage_by_channel = {channel.channel_id: channel for channel in channel_coverages}
    matching = [
        _line(channel, coverage_by_channel.get(channel.channel_id), records.get(channel.channel_id), now)
        for channel in followed_channels
        if _matches(channel, query)
    ]
    filtered_lines = [line for line in matching if query.health is None or line.report.health is query.health]
    if query.order is ChannelOrder.POSTS:
        filtered_lines = await _with_posts(filtered_lines, stores=stores, now=now)
    filtered_lines.sort(key=_name)
    filtered_lines.sort(key=ORDERS[query.order])
    page_count = max(1, -(-len(filtered_lines) // limit))
    page = min(max(1, page), page_count)
    lines: Sequence[ChannelLine] = filtered_lines[(page - 1) * limit : page * limit]
    counts = Counter(line.report.health for line in matching)
    return ChannelOverview(
        tuple(
            lines if query.order is ChannelOrder.POSTS else await _with_posts(lines, stores=stores, now=now)
        ),
        tuple(line.channel.channel_id for line in filtered_lines),
        len(followed_channels),
        {health: counts[health] for health in ChannelHealth if counts[health]},
        _folders(followed_channels),
        page,
        page_count,
    )


def _folders(channels: Iterable[FollowedChannel]) -> tuple[str, ...]:
    return tuple(sorted({channel.folder for channel in channels if channel.folder}))


def health_of(channel: FollowedChannel, coverage: ChannelCoverage | None, now: datetime) -> ReadingHealth:
    """The health of a channel; `coverage` is None for a suspended one."""
    if coverage is None:
        return suspended_health(channel.suspended_reason)
    return assess_health(
        coverage.status,
        may_be_read=coverage.may_be_read,
        parked_until=coverage.parked_until,
        last_polled_at=coverage.last_polled_at,
        priority=channel.priority,
        now=now,
    )


def _line(
    channel: FollowedChannel, coverage: ChannelCoverage | None, record: ChannelRecord | None, now: datetime
) -> ChannelLine:
    return ChannelLine(channel, health_of(channel, coverage, now), coverage, record=record)


async def _with_posts(
    lines: Sequence[ChannelLine], *, stores: TenantStores, now: datetime
) -> list[ChannelLine]:
    posts = await stores.activity.recent([line.channel.channel_id for line in lines], since=now - RECENT)
    return [replace(line, recent_posts=posts.get(line.channel.channel_id, 0)) for line in lines]


def _matches(channel: FollowedChannel, query: ChannelQuery) -> bool:
    words = query.words.casefold().removeprefix("@")
    return (query.folder is None or (channel.folder or "") == query.folder) and (
        words in channel.title.casefold() or words in (channel.username or "").casefold()
    )


def _name(line: ChannelLine) -> tuple[str, ChannelId]:
    return line.channel.title.casefold(), line.channel.channel_id


ORDERS: Mapping[ChannelOrder, Callable[[ChannelLine], float]] = {
    ChannelOrder.NAME: lambda _: 0,
    ChannelOrder.HEALTH: lambda line: WORST_FIRST.index(line.report.health),
    ChannelOrder.NEWEST: lambda line: -(line.channel.newest_posted_at or NEVER).timestamp(),
    ChannelOrder.POSTS: lambda line: -line.recent_posts,
    ChannelOrder.FIRST: lambda line: -line.record.first if line.record else 1,
    ChannelOrder.OWN: lambda line: line.record.taken_share or 0 if line.record and line.record.posts else 2,
}
