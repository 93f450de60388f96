"""Coverage of followed channels, and a sentence that describes it."""

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta

from telegram_assistant.domain.accounts.budget import HISTORY
from telegram_assistant.domain.channels.coverage import CoverageState
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.errors import Missing
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.channels.coverage import ChannelCoverage, Coverage
from telegram_assistant.stores.postgres.stores import TenantStores

IDS_PER_REQUEST = 100
"""Telegram returns at most so many messages of a channel's history."""


@dataclass(frozen=True, slots=True, order=True)
class CoveragePlace:
    """The position of the last channel of a page; the next page starts after it."""

    title: str
    channel_id: ChannelId


def place_of(coverage: ChannelCoverage) -> CoveragePlace:
    """Returns a channel's position in the list."""
    return CoveragePlace(coverage.title.casefold(), coverage.channel_id)


@dataclass(frozen=True, slots=True)
class CoveragePage:
    """A page of channels, and totals over all channels."""

    channels: tuple[ChannelCoverage, ...]
    states: Mapping[CoverageState, int]
    missing_ids: int
    next: CoveragePlace | None
    """None: this is the last page."""

    @property
    def complete(self) -> bool:
        """Whether every followed channel is complete."""
        return not any(count for state, count in self.states.items() if state is not CoverageState.COMPLETE)


@dataclass(frozen=True, slots=True)
class Completeness:
    """How many channels the tenant follows, and how many of them are complete."""

    followed: int
    complete: int


@dataclass(frozen=True, slots=True)
class FullCoverage:
    """A channel with its ledger; `ledger` is None until an account has read the channel."""

    channel: ChannelCoverage
    ledger: Coverage | None

    @property
    def complete(self) -> bool:
        return self.channel.status.state is CoverageState.COMPLETE


async def coverage_of_all(
    *,
    stores: TenantStores,
    states: Collection[CoverageState] = (),
    limit: int | None = None,
    after: CoveragePlace | None = None,
) -> CoveragePage:
    """Returns channels by title, only those in `states` if any are given. The totals cover all channels."""
    channels = await stores.coverage_overview.channels()
    matching_channels = sorted(
        (channel for channel in channels if not states or channel.status.state in states), key=place_of
    )
    remaining_channels = [
        channel for channel in matching_channels if after is None or place_of(channel) > after
    ]
    counts = Counter(channel.status.state for channel in channels)
    sums = {state: counts[state] for state in CoverageState}
    page = tuple(remaining_channels[:limit])
    return CoveragePage(
        page,
        sums,
        sum(channel.missing_ids for channel in channels),
        place_of(page[-1]) if len(page) < len(remaining_channels) else None,
    )


async def count_complete(*, stores: TenantStores) -> Completeness:
    channels = await stores.coverage_overview.channels()
    complete_count = sum(channel.status.state is CoverageState.COMPLETE for channel in channels)
    return Completeness(len(channels), complete_count)


async def load_coverage(channel_id: ChannelId, *, stores: TenantStores) -> FullCoverage:
    """Raises Missing if the tenant does not follow the channel."""
    channel, ledger = await stores.coverage_overview.load_coverage(channel_id)
    if channel is None:
        raise Missing(Reason("channel_not_followed", "you do not follow this channel"))
    return FullCoverage(channel, ledger)


def least_fill_time(missing_ids: int) -> timedelta:
    """How long one account needs at least to read these ids, if it reads nothing else."""
    return timedelta(
        seconds=math.ceil(missing_ids / IDS_PER_REQUEST) / min(limit.per_second for limit in HISTORY.limits)
    )


def describe_coverage(coverage: ChannelCoverage) -> Reason:
    """Describes the coverage in a sentence."""
    description = _describe_state(coverage)
    if coverage.status.why is not None:
        description = Reason("coverage_because", "{what}: {why}", what=description, why=coverage.status.why)
    if coverage.status.until is not None and coverage.status.state is CoverageState.UNREADABLE:
        description = Reason(
            "coverage_since",
            "{what} (since {since:%Y-%m-%d %H:%M})",
            what=description,
            since=coverage.status.until,
        )
    elif coverage.status.until is not None:
        description = Reason(
            "coverage_until",
            "{what} (until {until:%Y-%m-%d %H:%M})",
            what=description,
            until=coverage.status.until,
        )
    if coverage.last_polled_at is None:
        return Reason("coverage_never_checked", "{what}; never checked.", what=description)
    return Reason(
        "coverage_checked",
        "{what}; last checked {checked_at:%Y-%m-%d %H:%M}.",
        what=description,
        checked_at=coverage.last_polled_at,
    )


def _describe_state(coverage: ChannelCoverage) -> Reason:
    if coverage.status.state is CoverageState.COMPLETE and coverage.floor_at is not None:
        return Reason(
            "coverage_complete_since",
            "Complete: everything posted since {since:%Y-%m-%d} is stored",
            since=coverage.floor_at,
        )
    return {
        CoverageState.COMPLETE: Reason("coverage_complete", "Complete: everything ever posted is stored"),
        CoverageState.FILLING: Reason("coverage_filling", "Filling gaps"),
        CoverageState.MISSING: Reason(
            "coverage_missing",
            "{count} message id is missing",
            "{count} message ids are missing",
            count=coverage.missing_ids,
        ),
        CoverageState.WAITING: Reason("coverage_waiting", "Nothing has been read yet"),
        CoverageState.UNREADABLE: Reason("coverage_unreadable", "Cannot be read"),
        CoverageState.PREVIEW: Reason("coverage_preview", "The newest posts are stored"),
    }[coverage.status.state]
