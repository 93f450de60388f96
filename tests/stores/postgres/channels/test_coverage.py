"""The ledger against a model: whatever is read, lost, deleted or asked for,
it never claims an unread id and never misses a gap.
"""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telegram_assistant.domain.channels.coverage import IdRange, proven_by
from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.errors import LeaseLost
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import make_channel, make_page, make_post

PAGE_SIZE = 5
HIGHEST = 60


@dataclass
class Telegram:
    """A channel that lives: posts come, posts go. `getHistory` is its only door."""

    alive: set[int] = field(default_factory=set)
    newest: int = 0

    def publish(self, count: int) -> None:
        self.alive |= set(range(self.newest + 1, self.newest + count + 1))
        self.newest += count

    def history(self, below: int | None) -> list[MessageId]:
        return [MessageId(n) for n in sorted(self.alive, reverse=True) if below is None or n < below][
            :PAGE_SIZE
        ]


@dataclass
class Model:
    """A model of coverage: the ids that were really read, one by one."""

    read: set[int] = field(default_factory=set)
    floor: int | None = None
    landed: set[int] = field(default_factory=set)

    def gaps(self) -> set[int]:
        if self.floor is None or not self.read:
            return set()
        newest = max(self.read | self.landed)
        return set(range(self.floor, newest + 1)) - self.read


steps = st.one_of(
    st.tuples(st.just("publish"), st.integers(1, 12)),
    st.tuples(st.just("delete"), st.integers(1, HIGHEST)),
    st.tuples(st.just("read newest"), st.just(0)),
    st.tuples(st.just("read below"), st.integers(1, HIGHEST)),
    st.tuples(st.just("crash"), st.integers(1, HIGHEST)),
    st.tuples(st.just("lower floor"), st.integers(1, HIGHEST)),
)


@given(history=st.lists(steps, min_size=1, max_size=25))
async def test_the_ledger_never_claims_an_unread_id_and_never_misses_a_gap(
    system: SystemStores, history: list[tuple[str, int]]
) -> None:
    channel_id = await make_channel(system)
    telegram, model, wanted_floor = Telegram(), Model(), None
    telegram.publish(3)
    for step, number in history:
        match step:
            case "publish":
                telegram.publish(number)
            case "delete":
                telegram.alive.discard(number)
            case "lower floor":
                wanted_floor = number
            case "crash":
                await land(system, channel_id, telegram.history(None), below=None, epoch=99)
            case _:
                below = None if step == "read newest" else number
                ids = telegram.history(below)
                await land(system, channel_id, ids, below=below, floor=wanted_floor)
                remember(model, ids, below=below, floor=wanted_floor)
        await agree(system, channel_id, model)


async def land(
    system: SystemStores,
    channel_id: ChannelId,
    ids: list[MessageId],
    *,
    below: int | None,
    floor: int | None = None,
    epoch: int = 0,
) -> None:
    proven = proven_by(ids, below_id=None if below is None else MessageId(below))
    posts = [make_post(channel_id=channel_id, message_id=n) for n in ids]
    page = make_page(*posts, proven=proven, floor_id=floor)
    if epoch:  # the lease was lost on the way: nothing of the page may remain
        with pytest.raises(LeaseLost):
            await system.landing.land(page, Claim(channel_id, epoch))
    else:
        await system.landing.land(page, Claim(channel_id, 0))


def remember(model: Model, ids: list[MessageId], *, below: int | None, floor: int | None) -> None:
    """Written from what a page of history means, not from proven_by:
    everything from its lowest message up to where it was asked from.
    """
    if below == 1 or (not ids and below is None):
        return
    low = min(ids, default=1)
    high = max(ids) if below is None else below - 1
    model.read |= set(range(low, high + 1))
    model.landed |= set(ids)
    floors = [known for known in (model.floor, floor) if known is not None]
    model.floor = min(floors) if floors else low


async def agree(system: SystemStores, channel_id: ChannelId, model: Model) -> None:
    coverage = await system.coverage.load_coverage(channel_id)
    if coverage is None:
        assert not model.read
        return
    missing = {number for gap in coverage.gaps for number in range(gap.low, gap.high + 1)}
    assert missing == model.gaps()


def test_an_empty_page_of_the_newest_proves_nothing() -> None:
    assert proven_by([]) is None


def test_an_empty_page_below_an_id_proves_that_nothing_is_beneath() -> None:
    assert proven_by([], below_id=MessageId(40)) == IdRange(MessageId(1), MessageId(39))


def test_nothing_can_be_below_the_first_id() -> None:
    assert proven_by([], below_id=MessageId(1)) is None


def test_a_range_runs_upward_from_one() -> None:
    for low, high in ((0, 5), (6, 5)):
        with pytest.raises(ValueError, match="runs upward"):
            IdRange(MessageId(low), MessageId(high))


async def test_the_newest_gaps_come_first_and_are_limited(system: SystemStores) -> None:
    channel_id = await make_channel(system)
    for number in range(10, 101, 10):
        await system.landing.land(
            make_page(make_post(channel_id=channel_id, message_id=number)), Claim(channel_id, 0)
        )
    coverage = await system.coverage.load_coverage(channel_id, max_ranges=2)
    assert coverage is not None
    assert [str(gap) for gap in coverage.gaps] == ["91-99", "81-89"]
    assert not coverage.complete
